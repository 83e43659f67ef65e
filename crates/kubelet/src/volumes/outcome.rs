use std::time::Duration;

/// How an operation went, or will have gone when its time is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Well.
    Done,
    /// It waits for what somebody else does, who will be heard of.
    Waits,
    /// It could not be done; in the words of the kubelet, for people if `is_told`.
    Failed { why: String, is_told: bool },
}

/// What an operation does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Performed {
    pub(super) takes: Duration,
    pub(super) ends: Outcome,
}

impl Performed {
    pub(super) fn at_once(ends: Outcome) -> Self {
        Self { takes: Duration::ZERO, ends }
    }

    pub(super) fn failed(why: String) -> Self {
        Self::at_once(Outcome::Failed { why, is_told: true })
    }
}
