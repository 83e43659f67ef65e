//! The containers of a pod, and the one that a command means.

use coracle_meta::go_quote;
use serde_json::Value;

use crate::session::{CommandSession, complain};
use crate::values::{list, text};

fn names(pod: &Value, field: &str) -> Vec<String> {
    list(pod, &format!("/spec/{field}")).iter().map(|container| text(container, "/name").to_owned()).collect()
}

/// The names of all containers, in the order in which they start.
pub(crate) fn all(pod: &Value) -> Vec<String> {
    ["initContainers", "containers", "ephemeralContainers"].iter().flat_map(|field| names(pod, field)).collect()
}

/// The wanted container; without one, that of the annotation or the first, which a message names.
/// In Kubernetes: `podcmd.FindOrDefaultContainerByName`.
pub(crate) fn chosen(session: &mut CommandSession<'_>, pod: &Value, wanted: &str, is_quiet: bool) -> String {
    if !wanted.is_empty() {
        return wanted.to_owned();
    }
    let annotated = pod["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"].as_str();
    if let Some(annotated) = annotated.filter(|annotated| all(pod).iter().any(|name| name == annotated)) {
        return annotated.to_owned();
    }
    let main = names(pod, "containers");
    let first = main.first().cloned().unwrap_or_default();
    let marked = |field: &str, mark: &str| {
        names(pod, field).into_iter().map(move |name| format!("{name} ({mark})")).collect::<Vec<_>>()
    };
    let listed = [main, marked("ephemeralContainers", "ephem"), marked("initContainers", "init")].concat();
    if listed.len() > 1 && !is_quiet {
        complain!(session, "Defaulted container {} out of: {}", go_quote(&first), listed.join(", "));
    }
    first
}
