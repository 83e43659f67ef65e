use std::borrow::Cow;
use std::collections::BTreeMap;

/// The maximum length of an event's note, in bytes. In Kubernetes: `util.NoteLengthLimit` of events.k8s.io.
const NOTE_LIMIT: usize = 1024;

/// Why no node fits: the message of the event `FailedScheduling` and of the condition `PodScheduled`.
///
/// In Kubernetes: `framework.FitError`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FitError {
    /// How many nodes there are.
    pub nodes: usize,
    /// For each reason, how many nodes gave it.
    pub reasons: BTreeMap<Cow<'static, str>, usize>,
    /// The message of a `PreFilter` plug-in; the reasons are then not printed.
    pub pre_filter: Option<String>,
    /// The message of preemption.
    pub post_filter: Option<String>,
}

impl FitError {
    /// Counts the reasons of one node.
    pub fn count(&mut self, reasons: impl IntoIterator<Item: Into<Cow<'static, str>>>) {
        for reason in reasons {
            self.count_nodes(1, reason);
        }
    }

    /// Counts nodes with a common reason.
    pub fn count_nodes(&mut self, nodes: usize, reason: impl Into<Cow<'static, str>>) {
        if nodes > 0 {
            *self.reasons.entry(reason.into()).or_default() += nodes;
        }
    }
}

impl std::fmt::Display for FitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "0/{} nodes are available:", self.nodes)?;
        match &self.pre_filter {
            Some(message) => write!(f, " {message}.")?,
            None if self.reasons.is_empty() => {}
            None => {
                // The count is part of the sort key: "10 Insufficient cpu" comes before "2 Too many pods".
                let mut parts: Vec<String> =
                    self.reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
                parts.sort();
                write!(f, " {}.", parts.join(", "))?;
            }
        }
        match &self.post_filter {
            Some(message) => write!(f, " {message}"),
            None => Ok(()),
        }
    }
}

/// Truncates a text for an event's note: at most 1024 bytes, ending in ` ...`.
pub(crate) fn note(text: &str) -> String {
    const CUT: &str = " ...";
    if text.len() <= NOTE_LIMIT {
        return text.to_owned();
    }
    let mut end = NOTE_LIMIT - CUT.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{CUT}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_sorted_as_text_with_their_counts() {
        let mut error = FitError { nodes: 14, ..FitError::default() };
        for _ in 0..10 {
            error.count(["Insufficient memory".to_owned()]);
        }
        for _ in 0..2 {
            error.count(["Insufficient cpu".to_owned(), "Too many pods".to_owned()]);
        }
        error.post_filter = Some("preemption: not eligible due to preemptionPolicy=Never.".to_owned());
        assert_eq!(
            error.to_string(),
            "0/14 nodes are available: 10 Insufficient memory, 2 Insufficient cpu, 2 Too many pods. \
             preemption: not eligible due to preemptionPolicy=Never."
        );
    }

    #[test]
    fn a_refusal_before_the_filters_is_the_only_reason() {
        let error = FitError { nodes: 2, pre_filter: Some("no".to_owned()), ..FitError::default() };
        assert_eq!(error.to_string(), "0/2 nodes are available: no.");
    }

    #[test]
    fn a_long_note_is_cut() {
        let text = "ä".repeat(600);
        let cut = note(&text);
        assert!(cut.len() <= 1024 && cut.ends_with(" ..."));
        assert_eq!(note("short"), "short");
    }
}
