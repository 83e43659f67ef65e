use std::time::Duration;

use crate::{Action, ReconcileError};

/// How a sync ended. It decides when the key is processed again.
#[derive(Debug)]
pub(crate) enum SyncOutcome {
    /// The key waits for the next event.
    Done,
    /// The namespace of the object is terminating, so nothing can be created in it: the key waits for the next event.
    NamespaceTerminating(ReconcileError),
    /// The reconciler asked for another sync, with the delay of the rate limit.
    Requeue,
    /// The reconciler asked for another sync after this time.
    RequeueAfter(Duration),
    /// The sync failed. The next one follows with the delay of the rate limit.
    Retry(ReconcileError),
    /// The sync failed, as often as the worker retries: the key waits for the next event.
    GaveUp(ReconcileError),
}

impl SyncOutcome {
    /// The outcome of a reconcile. `gives_up` says whether a failed key has no retries left.
    pub(crate) fn of(result: Result<Action, ReconcileError>, gives_up: impl FnOnce() -> bool) -> Self {
        match result {
            Ok(Action::Done) => Self::Done,
            Ok(Action::Requeue) => Self::Requeue,
            Ok(Action::RequeueAfter(delay)) => Self::RequeueAfter(delay),
            Err(error) if error.is_namespace_terminating() => Self::NamespaceTerminating(error),
            Err(error) if gives_up() => Self::GaveUp(error),
            Err(error) => Self::Retry(error),
        }
    }

    /// The outcome in the event log and in the metrics.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Done | Self::NamespaceTerminating(_) => "done",
            Self::Requeue | Self::RequeueAfter(_) => "requeue",
            Self::Retry(_) => "retry",
            Self::GaveUp(_) => "error",
        }
    }

    pub(crate) fn error(&self) -> Option<&ReconcileError> {
        match self {
            Self::NamespaceTerminating(error) | Self::Retry(error) | Self::GaveUp(error) => Some(error),
            Self::Done | Self::Requeue | Self::RequeueAfter(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_sync_is_retried_until_the_worker_gives_up() {
        let failure = || Err(ReconcileError::Object("broken".to_owned()));
        assert!(matches!(SyncOutcome::of(failure(), || false), SyncOutcome::Retry(_)));
        let outcome = SyncOutcome::of(failure(), || true);
        assert_eq!((outcome.word(), outcome.error().is_some()), ("error", true));
        let outcome = SyncOutcome::of(Ok(Action::Requeue), || true);
        assert_eq!((outcome.word(), outcome.error().is_some()), ("requeue", false));
    }
}
