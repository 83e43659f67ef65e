//! Graceful node shutdown: how a node learns of it, and what it records.
//!
//! In Kubernetes: `pkg/kubelet/nodeshutdown`, which systemd notifies.

use coracle_api::core_v1::Node;

use crate::pod::pod_context::Leaving;

/// The annotation of the Node that starts its shutdown.
pub(crate) const SHUTDOWN: &str = "coracle.dev/shutdown";

/// Whether the node has to shut down.
///
/// # Errors
/// What is wrong with the annotation; then the node does not shut down.
pub(crate) fn is_asked(node: &Node) -> Result<bool, String> {
    match node.metadata.annotations.get(SHUTDOWN).map(String::as_str) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(word) => Err(format!("annotation {SHUTDOWN}: want \"true\" or \"false\", not {word:?}; nothing changes")),
    }
}

/// Why pods are terminated then.
pub(crate) fn leaving() -> Leaving {
    let message = "Pod was terminated in response to imminent node shutdown.".to_owned();
    Leaving { reason: "Terminated", message, is_disruption: true, is_graceful: true }
}

/// The message of the event about the shutdown.
pub(crate) fn event_message(begins: bool) -> &'static str {
    if begins { "Shutdown manager detected shutdown event" } else { "Shutdown manager detected shutdown cancellation" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shutdown_is_requested_by_one_of_two_values() {
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
