use coracle_sim::checks::{LoggedWrite, Run};
use serde_json::Value;

/// The writes of the controller in a run, a line each. They have no times, no revisions and no generated names, so that two
/// runs can be compared.
pub(crate) fn trace(run: &Run) -> Vec<String> {
    let writes = run.log.writes_of(&run.user).filter(|write| !write.is_record());
    writes.map(|write| format!("{} {}", write.act(), subject(write))).collect()
}

/// The object of a write; the generated part of its name is a `*`.
fn subject(write: &LoggedWrite) -> String {
    let field = |pointer: &str| write.object().and_then(|object| object.pointer(pointer)).and_then(Value::as_str);
    match (field("/metadata/generateName"), field("/metadata/name")) {
        (Some(stem), Some(name)) if name.starts_with(stem) => {
            format!("{}{stem}*", write.subject.strip_suffix(name).unwrap_or_default())
        }
        _ => write.subject.clone(),
    }
}

/// The first line in which a run differs from the one before, as a sentence; `None` if none does.
pub(crate) fn first_difference(was: &[String], is: &[String]) -> Option<String> {
    let line = (0..was.len().max(is.len())).find(|line| was.get(*line) != is.get(*line))?;
    let text = |lines: &[String]| lines.get(line).map_or("the end".to_owned(), |text| format!("`{text}`"));
    Some(format!("write {} is {} instead of {}", line + 1, text(is), text(was)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_shown_and_an_end_is_a_line() {
        let lines = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(first_difference(&lines("a b"), &lines("a b")), None);
        let differs = first_difference(&lines("a b c"), &lines("a x c"));
        assert_eq!(differs.as_deref(), Some("write 2 is `x` instead of `b`"));
        let ends = first_difference(&lines("a b"), &lines("a"));
        assert_eq!(ends.as_deref(), Some("write 2 is the end instead of `b`"));
    }
}
