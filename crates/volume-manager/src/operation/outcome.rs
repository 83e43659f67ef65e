use std::time::Duration;

/// The outcome of an operation, known when it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OperationOutcome {
    /// It succeeded.
    Done,
    /// It waits for another component, whose change enqueues the pod.
    Waits,
    /// It failed, with the message of the kubelet. The pod gets an event if `has_event`.
    Failed { why: String, has_event: bool },
}

/// How long an operation takes, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Performed {
    pub(crate) takes: Duration,
    pub(crate) ends: OperationOutcome,
}

impl Performed {
    pub(crate) fn at_once(ends: OperationOutcome) -> Self {
        Self { takes: Duration::ZERO, ends }
    }

    pub(crate) fn failed(why: String) -> Self {
        Self::at_once(OperationOutcome::Failed { why, has_event: true })
    }
}
