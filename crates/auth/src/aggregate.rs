use std::collections::BTreeSet;

/// The text of several errors, without duplicates. In Kubernetes: `utilerrors.Aggregate`.
pub(crate) fn aggregate(messages: &[String]) -> String {
    match joined(messages) {
        text if messages.iter().all(|message| *message == text) => text,
        several => format!("[{several}]"),
    }
}

/// The same text without brackets, to be combined with others.
pub(crate) fn joined(messages: &[String]) -> String {
    let mut seen = BTreeSet::new();
    let distinct: Vec<&str> = messages.iter().map(String::as_str).filter(|message| seen.insert(*message)).collect();
    distinct.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_deduplicated_and_several_are_bracketed() {
        let told =
            |messages: &[&str]| aggregate(&messages.iter().map(|&message| message.to_owned()).collect::<Vec<_>>());
        assert_eq!(told(&["a"]), "a");
        assert_eq!(told(&["a", "a"]), "a");
        assert_eq!(told(&["a", "b", "a"]), "[a, b]");
    }
}
