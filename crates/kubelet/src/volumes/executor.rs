use std::collections::BTreeMap;

use coracle_ambient::TimeShift;
use tokio::time::Instant;

use super::backoff::Backoff;
use super::outcome::{Outcome, Performed};
use super::reconciler::Work;
use super::spec::{PodUid, UniqueName};

/// What is worked on by itself: a volume, or a volume of one pod if no other pod can have it.
type Key = (UniqueName, Option<PodUid>);

/// Sees to it that one thing at a time is done with a volume, and that what failed is left alone for a while.
///
/// In Kubernetes: `OperationExecutor` with `nestedpendingoperations`.
#[derive(Debug, Default)]
pub(super) struct OperationExecutor {
    running: BTreeMap<Key, Running>,
    failed: BTreeMap<Key, Backoff>,
}

/// An operation that has begun.
#[derive(Clone, Debug)]
enum Running {
    /// It is being found out what comes of it.
    Begun,
    /// Its time is not over.
    Until(Instant, Box<Work>, Outcome),
}

/// What is to be done about a piece of work.
#[derive(Debug)]
pub(super) enum Turn {
    /// Do it.
    Begin,
    /// Its time is over; this is what came of it. It may be another work on the same volume.
    Ended(Work, Outcome),
    /// Not before this.
    NotBefore(Instant),
    /// Somebody does something with the volume at this moment.
    Busy,
}

impl OperationExecutor {
    /// Whose turn it is.
    pub(super) fn turn(&mut self, work: &Work, now: Instant) -> Turn {
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

    /// What a work that has begun does; if that takes no time, what came of it.
    pub(super) fn performs(&mut self, work: &Work, performed: Performed, now: Instant) -> Option<Outcome> {
        let key = key(work);
        self.running.remove(&key);
        if performed.takes.is_zero() {
            return Some(performed.ends);
        }
        self.running.insert(key, Running::Until(now.later(performed.takes), Box::new(work.clone()), performed.ends));
        None
    }

    /// Nothing comes of a work that has begun: whoever did it is gone.
    pub(super) fn gives_up(&mut self, work: &Work) {
        let key = key(work);
        if let Some(Running::Begun) = self.running.get(&key) {
            self.running.remove(&key);
        }
    }

    /// A work has ended; after a failure the volume is left alone for a while.
    pub(super) fn ends(&mut self, work: &Work, failed: bool, now: Instant) {
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
