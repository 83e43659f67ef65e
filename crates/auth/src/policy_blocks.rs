/// The head of a role or a binding, and its details.
type Block = (&'static str, Vec<&'static str>);

/// The roles and bindings of a base and of the changes of later releases. The head of the base describes its form.
///
/// # Panics
/// If a change names a line that is not there; a test reads the files of all releases.
pub(crate) fn policy_blocks(files: &[&'static str]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for file in files {
        let mut place = Place::default();
        for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.strip_prefix("  ") {
                Some(detail) => place.change(&mut blocks, detail),
                None => place = Place::of(&mut blocks, line),
            }
        }
    }
    blocks
}

/// The block and the detail behind which the next line of a file belongs.
#[derive(Default)]
struct Place {
    block: usize,
    detail: usize,
    is_change: bool,
}

impl Place {
    fn of(blocks: &mut Vec<Block>, head: &'static str) -> Self {
        let find = |blocks: &[Block], head: &str| {
            blocks.iter().position(|block| block.0 == head).unwrap_or_else(|| panic!("there is no {head}"))
        };
        if let Some(head) = head.strip_prefix("change ") {
            let block = find(blocks, head);
            return Self { block, detail: blocks[block].1.len(), is_change: true };
        }
        if let Some(head) = head.strip_prefix("remove ") {
            blocks.remove(find(blocks, head));
            return Self::default();
        }
        blocks.push((head, Vec::new()));
        Self { block: blocks.len() - 1, ..Self::default() }
    }

    fn change(&mut self, blocks: &mut [Block], line: &'static str) {
        let (head, details) = &mut blocks[self.block];
        if !self.is_change {
            return details.push(line);
        }
        let find = |details: &[&str], line: &str| {
            details.iter().position(|detail| *detail == line).unwrap_or_else(|| panic!("{head} has no {line:?}"))
        };
        if let Some(line) = line.strip_prefix("after ") {
            self.detail = find(details, line) + 1;
        } else if let Some(line) = line.strip_prefix("- ") {
            self.detail = find(details, line);
            details.remove(self.detail);
        } else if let Some(line) = line.strip_prefix("+ ") {
            details.insert(self.detail, line);
            self.detail += 1;
        } else {
            panic!("{head} has a line of no known form: {line:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "# a comment\n\nrole a\n  1\n  2\n  3\n\nbind a\n  User u\n";

    #[test]
    fn a_later_file_changes_adds_and_removes_blocks() {
        let changes = "change role a\n  - 2\n  + two\n  + more\n  after 1\n  + half\n\nrole b\n  4\n\nremove bind a\n";
        assert_eq!(
            policy_blocks(&[BASE, changes]),
            [("role a", vec!["1", "half", "two", "more", "3"]), ("role b", vec!["4"])]
        );
    }

    #[test]
    #[should_panic(expected = "role a has no \"9\"")]
    fn a_change_of_a_missing_line_is_an_error() {
        policy_blocks(&[BASE, "change role a\n  - 9\n"]);
    }
}
