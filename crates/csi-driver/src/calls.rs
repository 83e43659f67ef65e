use std::collections::BTreeMap;
use std::time::Duration;

use coracle_controller_runtime::{Action, Pass};
use coracle_meta::ObjectKey;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::behaviour::CsiOutcome;

/// The running calls of one role, by the object that they are about. A call takes time on the clock of the simulation.
#[derive(Debug, Default)]
pub(super) struct Calls {
    begun: Mutex<BTreeMap<ObjectKey, Instant>>,
}

/// The progress of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    /// Whether this sync started it.
    pub(super) is_new: bool,
    /// The rest of its duration; zero if it is over.
    pub(super) left: Duration,
}

impl Calls {
    /// The progress of a call with this duration; starts the call if it is not running.
    pub(super) fn progress(&self, key: &ObjectKey, takes: Duration) -> Progress {
        let now = Instant::now();
        let mut begun = self.begun.lock();
        let is_new = !begun.contains_key(key);
        let since = *begun.entry(key.clone()).or_insert(now);
        Progress { is_new, left: takes.saturating_sub(now - since) }
    }

    /// What a sync does and records while the call has not returned; `None` once it has returned, which ends the call.
    pub(super) fn wait(&self, pass: &Pass, key: &ObjectKey, outcome: CsiOutcome, call: Progress) -> Option<Action> {
        if outcome == CsiOutcome::Hangs {
            pass.decided(|| "the driver does not come back");
            return Some(Action::Done);
        }
        if !call.left.is_zero() {
            pass.decided(|| format!("the driver takes {:?} more", call.left));
            return Some(Action::RequeueAfter(call.left));
        }
        self.end(key);
        None
    }

    /// Ends a call that has returned, or that is not needed any more.
    pub(super) fn end(&self, key: &ObjectKey) {
        self.begun.lock().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_takes_its_duration_once_and_restarts_after_its_end() {
        let (calls, key) = (Calls::default(), ObjectKey::cluster("v"));
        let second = Duration::from_secs(1);
        assert_eq!(calls.progress(&key, second), Progress { is_new: true, left: second });
        tokio::time::sleep(second / 2).await;
        assert_eq!(calls.progress(&key, second), Progress { is_new: false, left: second / 2 });
        tokio::time::sleep(second).await;
        assert_eq!(calls.progress(&key, second).left, Duration::ZERO);
        calls.end(&key);
        assert!(calls.progress(&key, second).is_new);
    }
}
