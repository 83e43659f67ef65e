use std::time::Duration;

use tokio::time::Instant;

/// The first and the longest pause before a failed operation is retried. In Kubernetes:
/// `pkg/util/goroutinemap/exponentialbackoff`.
const FIRST: Duration = Duration::from_millis(500);
const LAST: Duration = Duration::from_secs(122);

/// The pause before a failed operation is retried; it doubles with each failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    pause: Duration,
    failed: Instant,
}

impl Backoff {
    /// The back-off after one more failure.
    pub(crate) fn after(before: Option<Self>, now: Instant) -> Self {
        let pause = before.map_or(FIRST, |before| (before.pause * 2).min(LAST));
        Self { pause, failed: now }
    }

    /// When the operation may be retried.
    pub(crate) fn until(self) -> Instant {
        self.failed + self.pause
    }
}
