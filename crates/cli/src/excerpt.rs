use coracle_scenario::parse::Problem;

/// A problem with the line of the file where it stands, and a caret below its column. Only the problem if the file has
/// no such line.
pub(crate) fn with_excerpt(problem: &Problem, text: &str) -> String {
    let at = problem.line.checked_sub(1).and_then(|line| usize::try_from(line).ok());
    let Some(line) = at.and_then(|at| text.lines().nth(at)) else { return problem.to_string() };
    let number = problem.line.to_string();
    let before = usize::try_from(problem.column.saturating_sub(1)).unwrap_or_default();
    // A column counts characters, so a tab has the width of one.
    let line = line.replace('\t', " ");
    let indent = " ".repeat(before.min(line.chars().count()));
    let margin = " ".repeat(number.len());
    format!("{problem}\n  {number} | {line}\n  {margin} | {indent}^")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::*;

    fn shown(line: u64, column: u64, text: &str) -> String {
        with_excerpt(&Problem { file: PathBuf::from("a.yaml"), line, column, message: "bad".to_owned() }, text)
    }

    #[test]
    fn the_caret_stands_below_the_column() {
        assert_eq!(shown(2, 3, "a:\n  é: 1\n"), "a.yaml:2:3: bad\n  2 |   é: 1\n    |   ^");
        assert_eq!(shown(1, 2, "\ta"), "a.yaml:1:2: bad\n  1 |  a\n    |  ^");
    }

    #[test]
    fn a_problem_without_a_line_has_no_excerpt() {
        assert_eq!(shown(0, 0, "a"), "a.yaml: bad");
        assert_eq!(shown(9, 1, "a"), "a.yaml:9:1: bad");
    }

    proptest! {
        #[test]
        fn no_place_makes_it_panic(line in any::<u64>(), column in any::<u64>(), text in ".{0,20}") {
            let _ = shown(line, column, &text);
        }
    }
}
