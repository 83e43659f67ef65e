use std::collections::{BTreeMap, VecDeque};

use coracle_journal::EntryId;
use tokio::time::Instant;

/// The keys that need work, the keys in work, and the order in which the next ones are handed out.
///
/// A key that is added while a worker has it is not handed to a second worker: it waits in `dirty` until the first is
/// done. An example with one key:
///
/// ```text
///           dirty   ready   processing
/// add a     {a}     [a]     {}
/// get -> a  {}      []      {a}
/// add a     {a}     []      {a}          marked dirty
/// add a     {a}     []      {a}          merged
/// done a    {a}     [a]     {}           handed out again
/// ```
/// Invariant: a key is in `ready`, once, if and only if it is in `dirty` and not in `processing`.
#[derive(Debug)]
pub(crate) struct Keys<K> {
    dirty: BTreeMap<K, Reason>,
    ready: VecDeque<K>,
    processing: BTreeMap<K, Option<EntryId>>,
}

/// Why a key is dirty, and since when.
#[derive(Debug)]
pub(crate) struct Reason {
    pub(crate) since: Instant,
    pub(crate) causes: Vec<EntryId>,
}

/// The effect of adding a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// The key waits for a worker.
    Queued,
    /// The key was waiting already.
    Merged,
    /// A worker has the key; it will be handed out again when that one is done.
    MarkedDirty,
}

impl Added {
    /// The word in the event log.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Merged => "merged",
            Self::MarkedDirty => "marked-dirty",
        }
    }
}

impl<K> Default for Keys<K> {
    fn default() -> Self {
        Self { dirty: BTreeMap::new(), ready: VecDeque::new(), processing: BTreeMap::new() }
    }
}

impl<K: Ord + Clone> Keys<K> {
    pub(crate) fn add(&mut self, key: K, now: Instant) -> Added {
        if self.dirty.contains_key(&key) {
            return Added::Merged;
        }
        self.dirty.insert(key.clone(), Reason { since: now, causes: Vec::new() });
        if self.processing.contains_key(&key) {
            return Added::MarkedDirty;
        }
        self.ready.push_back(key);
        Added::Queued
    }

    /// A key that waits for a worker or that a worker has.
    pub(crate) fn any(&self) -> Option<&K> {
        self.dirty.keys().chain(self.processing.keys()).next()
    }

    /// Adds a cause to a dirty key.
    pub(crate) fn add_cause(&mut self, key: &K, cause: Option<EntryId>) {
        if let (Some(reason), Some(cause)) = (self.dirty.get_mut(key), cause) {
            reason.causes.push(cause);
        }
    }

    /// Hands out the key that has waited longest.
    pub(crate) fn get(&mut self) -> Option<(K, Reason)> {
        let key = self.ready.pop_front()?;
        let reason = self.dirty.remove(&key).expect("a ready key is dirty");
        self.processing.insert(key.clone(), None);
        Some((key, reason))
    }

    /// Records the log entry of the worker's get.
    pub(crate) fn taken(&mut self, key: &K, entry: Option<EntryId>) {
        if let Some(slot) = self.processing.get_mut(key) {
            *slot = entry;
        }
    }

    /// Returns a key from its worker. Returns the log entry of its get, and whether it will be handed out again;
    /// `None` if no worker has it.
    pub(crate) fn done(&mut self, key: &K) -> Option<(Option<EntryId>, bool)> {
        let taken = self.processing.remove(key)?;
        let again = self.dirty.contains_key(key);
        if again {
            self.ready.push_back(key.clone());
        }
        Some((taken, again))
    }

    pub(crate) fn ready_len(&self) -> usize {
        self.ready.len()
    }

    pub(crate) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    pub(crate) fn is_processing(&self) -> bool {
        !self.processing.is_empty()
    }

    pub(crate) fn in_work(&self) -> usize {
        self.processing.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[tokio::test(start_paused = true)]
    async fn a_key_added_while_processing_is_handed_out_again_after_done() {
        let now = Instant::now();
        let mut keys = Keys::default();
        assert_eq!(keys.add("a", now), Added::Queued);
        assert_eq!(keys.add("a", now), Added::Merged);
        assert_eq!(keys.get().map(|(key, _)| key), Some("a"));
        assert_eq!(keys.add("a", now), Added::MarkedDirty);
        assert!(keys.get().is_none());
        assert_eq!(keys.done(&"a"), Some((None, true)));
        assert_eq!(keys.get().map(|(key, _)| key), Some("a"));
        assert_eq!(keys.done(&"a"), Some((None, false)));
        assert_eq!(keys.done(&"a"), None);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Add(u8),
        Get,
        /// Gives back one of the keys in work, by its place.
        Done(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![(0..5_u8).prop_map(Step::Add), Just(Step::Get), (0..4_usize).prop_map(Step::Done)];
        proptest::collection::vec(step, 0..200)
    }

    proptest! {
        #[test]
        fn no_key_has_two_workers_and_no_key_is_lost(steps in steps()) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime without drivers");
            let _inside = runtime.enter();
            let now = Instant::now();
            let mut keys = Keys::default();
            let mut workers: Vec<u8> = Vec::new();
            let mut owed: BTreeSet<u8> = BTreeSet::new();
            for step in steps {
                match step {
                    Step::Add(key) => {
                        keys.add(key, now);
                        owed.insert(key);
                    }
                    Step::Get => {
                        if let Some((key, _)) = keys.get() {
                            prop_assert!(!workers.contains(&key), "{key} has two workers");
                            prop_assert!(owed.remove(&key), "{key} was handed out without having been added");
                            workers.push(key);
                        }
                    }
                    Step::Done(place) => {
                        if place < workers.len() {
                            keys.done(&workers.remove(place));
                        }
                    }
                }
            }
            for key in workers.drain(..) {
                keys.done(&key);
            }
            while let Some((key, _)) = keys.get() {
                prop_assert!(owed.remove(&key));
                keys.done(&key);
            }
            prop_assert!(owed.is_empty(), "lost: {owed:?}");
        }
    }
}
