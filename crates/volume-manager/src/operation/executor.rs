use std::collections::BTreeMap;

use coracle_ambient::TimeShift;
use tokio::time::Instant;

use crate::operation::backoff::Backoff;
use crate::operation::outcome::{OperationOutcome, Performed};
use crate::reconciler::Work;
use crate::world::spec::{PodUid, UniqueName};

/// What is serialized: a volume, or a volume of one pod if each pod has its own.
type Key = (UniqueName, Option<PodUid>);

/// Runs one operation at a time per volume, and delays the retry of a failed one.
///
/// In Kubernetes: `OperationExecutor` with `nestedpendingoperations`.
#[derive(Debug, Default)]
pub(crate) struct OperationExecutor {
    running: BTreeMap<Key, Running>,
    failed: BTreeMap<Key, Backoff>,
}

/// The state of an operation.
#[derive(Clone, Debug)]
enum Running {
    /// Its result is being determined.
    Begun,
    /// It takes until then.
    Until(Instant, Box<Work>, OperationOutcome),
}

/// What to do about a piece of work now.
#[derive(Debug)]
pub(crate) enum Turn {
    /// Start it.
    Begin,
    /// It has ended with this outcome. It may be other work on the same volume.
    Ended(Work, OperationOutcome),
    /// Wait until then.
    NotBefore(Instant),
    /// Another worker starts an operation on the volume at this moment.
    Busy,
}

impl OperationExecutor {
    /// What to do about a piece of work now.
    pub(crate) fn turn(&mut self, work: &Work, now: Instant) -> Turn {
        let key = key(work);
        match self.running.get(&key) {
            Some(Running::Begun) => return Turn::Busy,
            Some(Running::Until(at, ..)) if *at > now => return Turn::NotBefore(*at),
            Some(Running::Until(_, work, outcome)) => {
                let ended = Turn::Ended(Work::clone(work), outcome.clone());
                self.running.remove(&key);
                return ended;
            }
            None => {}
        }
        match self.failed.get(&key).map(|backoff| backoff.until()) {
            Some(until) if until > now => Turn::NotBefore(until),
            _ => {
                self.running.insert(key, Running::Begun);
                Turn::Begin
            }
        }
    }

    /// Records what started work does; returns the outcome if it takes no time.
    pub(crate) fn performs(&mut self, work: &Work, performed: Performed, now: Instant) -> Option<OperationOutcome> {
        let key = key(work);
        self.running.remove(&key);
        if performed.takes.is_zero() {
            return Some(performed.ends);
        }
        self.running.insert(key, Running::Until(now.later(performed.takes), Box::new(work.clone()), performed.ends));
        None
    }

    /// Forgets started work whose worker is gone.
    pub(crate) fn gives_up(&mut self, work: &Work) {
        let key = key(work);
        if let Some(Running::Begun) = self.running.get(&key) {
            self.running.remove(&key);
        }
    }

    /// Records that work has ended; a failure starts the back-off of the volume.
    pub(crate) fn ends(&mut self, work: &Work, failed: bool, now: Instant) {
        let key = key(work);
        if failed {
            let backoff = Backoff::after(self.failed.get(&key).copied(), now);
            self.failed.insert(key, backoff);
        } else {
            self.failed.remove(&key);
        }
    }
}

fn key(work: &Work) -> Key {
    let pod = work.pod.clone().filter(|_| !work.spec.is_device_mountable());
    (work.spec.unique_name.clone(), pod)
}
