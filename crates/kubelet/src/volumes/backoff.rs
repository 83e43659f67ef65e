use std::time::Duration;

use tokio::time::Instant;

/// How long a failed operation is not tried again, first and at most.
/// In Kubernetes: `pkg/util/goroutinemap/exponentialbackoff`.
const FIRST: Duration = Duration::from_millis(500);
const LAST: Duration = Duration::from_secs(122);

/// How long to leave something alone that has failed, twice as long each time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    pause: Duration,
    failed: Instant,
}

impl Backoff {
    /// After one more failure.
    pub(super) fn after(before: Option<Self>, now: Instant) -> Self {
        let pause = before.map_or(FIRST, |before| (before.pause * 2).min(LAST));
        Self { pause, failed: now }
    }

    /// When it may be tried again.
    pub(super) fn until(self) -> Instant {
        self.failed + self.pause
    }
}
