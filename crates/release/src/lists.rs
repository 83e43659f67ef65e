use std::collections::BTreeMap;

/// Lists by name, each in its order.
pub(crate) type Lists = BTreeMap<&'static str, Vec<&'static str>>;

/// Applies the lines of one release.
///
/// ```text
/// [admission-plugins]          the list that the following lines are about
/// NamespaceLifecycle           added at the end
/// JobValidation < ResourceQuota   added, or moved, before another item
/// -JobValidation               removed
/// ```
pub(crate) fn apply(lists: &mut Lists, text: &'static str) -> Result<(), &'static str> {
    let mut name = "";
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(heading) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name = heading;
            continue;
        }
        let list = lists.entry(name).or_default();
        if let Some(item) = line.strip_prefix('-') {
            remove(list, item).ok_or(line)?;
        } else if let Some((item, before)) = line.split_once(" < ") {
            let _ = remove(list, item);
            let at = list.iter().position(|other| *other == before).ok_or(line)?;
            list.insert(at, item);
        } else {
            list.push(line);
        }
    }
    Ok(())
}

fn remove(list: &mut Vec<&'static str>, item: &str) -> Option<()> {
    let at = list.iter().position(|other| *other == item)?;
    list.remove(at);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_adds_moves_and_removes_items_of_a_list() {
        let mut lists = Lists::new();
        apply(&mut lists, "[plugins]\nA\nB\nC\n").unwrap();
        apply(&mut lists, "[plugins]\nD < B\nC < A\n-B\nE\n").unwrap();
        assert_eq!(lists["plugins"], ["C", "A", "D", "E"]);
    }

    #[test]
    fn a_line_about_an_item_that_is_not_in_the_list_is_an_error() {
        assert_eq!(apply(&mut Lists::new(), "[plugins]\n-A\n"), Err("-A"));
        assert_eq!(apply(&mut Lists::new(), "[plugins]\nA < B\n"), Err("A < B"));
    }
}
