//! What a node is told of being shut down, and what it says of it.
//!
//! In Kubernetes: `pkg/kubelet/nodeshutdown`; there systemd tells it.

use coracle_api::core_v1::Node;

use crate::surroundings::Leaving;

/// The annotation of the Node that tells it.
pub(crate) const SHUTDOWN: &str = "coracle.dev/shutdown";

/// Whether the node is to be shut down.
///
/// # Errors
/// What is wrong with the annotation; then it is not.
pub(crate) fn is_asked(node: &Node) -> Result<bool, String> {
    match node.metadata.annotations.get(SHUTDOWN).map(String::as_str) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(word) => Err(format!("annotation {SHUTDOWN}: want \"true\" or \"false\", not {word:?}; nothing changes")),
    }
}

/// Why pods go then.
pub(crate) fn leaving() -> Leaving {
    let message = "Pod was terminated in response to imminent node shutdown.".to_owned();
    Leaving { reason: "Terminated", message, is_disruption: true, is_graceful: true }
}

/// The event by which the node tells of it.
pub(crate) fn told(begins: bool) -> &'static str {
    if begins { "Shutdown manager detected shutdown event" } else { "Shutdown manager detected shutdown cancellation" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_shut_down_by_one_of_two_words() {
        let asked = |word: &str| {
            let mut node = Node::default();
            node.metadata.annotations.insert(SHUTDOWN.to_owned(), word.to_owned());
            is_asked(&node)
        };
        assert_eq!((asked("true"), asked("false"), is_asked(&Node::default())), (Ok(true), Ok(false), Ok(false)));
        assert_eq!(
            asked("now").unwrap_err(),
            r#"annotation coracle.dev/shutdown: want "true" or "false", not "now"; nothing changes"#
        );
    }
}
