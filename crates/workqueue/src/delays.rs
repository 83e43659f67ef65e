use std::collections::{BTreeMap, BTreeSet};

use coracle_ambient::Horizon;
use coracle_journal::EntryId;
use tokio::time::Instant;

/// Delayed keys, by the time at which they are due.
///
/// A key waits once, for the earliest of the requested times. In Kubernetes: the waiting loop of `delaying_queue.go`,
/// which is a heap and a goroutine; here `WorkQueue::get` checks the earliest time itself.
#[derive(Debug)]
pub(crate) struct Delays<K> {
    by_time: BTreeSet<(Instant, u64)>,
    waiting: BTreeMap<K, Waiting>,
    keys: BTreeMap<u64, K>,
    next: u64,
}

#[derive(Debug)]
struct Waiting {
    /// When the key was first delayed.
    since: Instant,
    due: Instant,
    number: u64,
    causes: Vec<EntryId>,
}

impl<K> Default for Delays<K> {
    fn default() -> Self {
        Self { by_time: BTreeSet::new(), waiting: BTreeMap::new(), keys: BTreeMap::new(), next: 0 }
    }
}

impl<K: Ord + Clone> Delays<K> {
    pub(crate) fn add(&mut self, key: K, now: Instant, due: Instant, cause: Option<EntryId>) {
        if let Some(waiting) = self.waiting.get_mut(&key) {
            waiting.causes.extend(cause);
            if due < waiting.due {
                self.by_time.remove(&(waiting.due, waiting.number));
                waiting.due = due;
                self.by_time.insert((due, waiting.number));
            }
            return;
        }
        let number = self.next;
        self.next += 1;
        self.by_time.insert((due, number));
        self.keys.insert(number, key.clone());
        self.waiting.insert(key, Waiting { since: now, due, number, causes: cause.into_iter().collect() });
    }

    /// When the first key is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.by_time.first().map(|(due, _)| *due)
    }

    /// Removes the first key that is due at `now`, with the causes of its delay.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<(K, Vec<EntryId>)> {
        let (due, number) = *self.by_time.first()?;
        if due > now {
            return None;
        }
        self.by_time.pop_first();
        let key = self.keys.remove(&number).expect("a waiting number has its key");
        let waiting = self.waiting.remove(&key).expect("a waiting key has its time");
        Some((key, waiting.causes))
    }

    /// The first key that counts as work left: one within the horizon, or one that `always` counts.
    pub(crate) fn pending(&self, horizon: &Horizon, always: impl Fn(&K) -> bool) -> Option<(&K, Instant)> {
        let counts = |key: &K, waiting: &Waiting| {
            (waiting.since <= horizon.set_by && waiting.due <= horizon.due_by) || always(key)
        };
        self.by_time.iter().find_map(|(due, number)| {
            let key = self.keys.get(number)?;
            self.waiting.get(key).filter(|waiting| counts(key, waiting)).map(|_| (key, *due))
        })
    }

    pub(crate) fn clear(&mut self) {
        self.by_time.clear();
        self.waiting.clear();
        self.keys.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn a_key_waits_once_for_the_earliest_time() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut delays = Delays::default();
        delays.add("late", start, at(9), None);
        delays.add("key", start, at(5), Some(EntryId(1)));
        delays.add("key", start, at(7), Some(EntryId(2)));
        delays.add("key", start, at(3), Some(EntryId(3)));
        assert_eq!(delays.next_due(), Some(at(3)));
        assert_eq!(delays.pop_due(at(2)), None);
        assert_eq!(delays.pop_due(at(3)), Some(("key", vec![EntryId(1), EntryId(2), EntryId(3)])));
        assert_eq!(delays.pop_due(at(8)), None);
        assert_eq!(delays.pop_due(at(9)).map(|(key, _)| key), Some("late"));
        assert_eq!(delays.next_due(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_counts_as_work_left_if_its_delay_was_set_early_enough_and_ends_soon_enough() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let horizon = |set_by, due_by| Horizon { revision: 0, set_by: at(set_by), due_by: at(due_by) };
        let mut delays = Delays::default();
        delays.add("early", at(1), at(90), None);
        delays.add("late", at(20), at(30), None);
        delays.add("late", at(25), at(28), None);
        let counted = |set_by, due_by| delays.pending(&horizon(set_by, due_by), |_| false).map(|(key, _)| *key);
        assert_eq!(counted(10, 60), None);
        assert_eq!(counted(10, 90), Some("early"));
        assert_eq!(counted(20, 60), Some("late"), "its first delay was set at 20");
        assert_eq!(delays.pending(&horizon(0, 0), |key| *key == "early"), Some((&"early", at(90))));
    }
}
