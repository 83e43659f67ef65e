use std::fmt::Write;

use crate::transcript::Transcript;

/// Where the answers of two transcripts with the same requests differ: each under the title of its request.
pub(crate) fn between(before: &Transcript, after: &Transcript) -> Option<String> {
    let mut text = String::new();
    for (before, after) in before.exchanges.iter().zip(&after.exchanges).filter(|(before, after)| before != after) {
        let _ = writeln!(text, "### {}\n{}", before.title, lines(&before.answer, &after.answer));
    }
    // The writing may differ where no answer does, such as by an empty line too many.
    (before != after).then_some(text)
}

/// The lines that came (`+`) and went (`-`), with the last line before that stayed.
fn lines(before: &str, after: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let common = common_lines(&before, &after);
    let mut text = String::new();
    let (mut left, mut right) = (0, 0);
    while left < before.len() || right < after.len() {
        let is_same = left < before.len() && right < after.len() && before[left] == after[right];
        if is_same {
            (left, right) = (left + 1, right + 1);
            let differs_next = before.get(left) != after.get(right);
            if differs_next {
                let _ = writeln!(text, "  {}", before[left - 1]);
            }
        } else if right == after.len() || left < before.len() && common[left + 1][right] >= common[left][right + 1] {
            let _ = writeln!(text, "- {}", before[left]);
            left += 1;
        } else {
            let _ = writeln!(text, "+ {}", after[right]);
            right += 1;
        }
    }
    text
}

/// At `[i][j]`, how many lines `before[i..]` and `after[j..]` have in common, in their order.
fn common_lines(before: &[&str], after: &[&str]) -> Vec<Vec<usize>> {
    let mut common = vec![vec![0; after.len() + 1]; before.len() + 1];
    for left in (0..before.len()).rev() {
        for right in (0..after.len()).rev() {
            common[left][right] = if before[left] == after[right] {
                common[left + 1][right + 1] + 1
            } else {
                common[left + 1][right].max(common[left][right + 1])
            };
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_listed_under_their_title() {
        let read = |text: &str| Transcript::read(text).unwrap();
        let before = read("### one\nGET /a\n\nHTTP/1.1 200 OK\n\na: 1\nb: 2\nc: 3\n\n### two\nGET /b");
        let after = read("### one\nGET /a\n\nHTTP/1.1 200 OK\n\na: 1\nc: 3\nd: 4\n\n### two\nGET /b");
        assert_eq!(between(&before, &before), None);
        assert_eq!(between(&before, &after).unwrap(), "### one\n  a: 1\n- b: 2\n  c: 3\n+ d: 4\n\n");
    }
}
