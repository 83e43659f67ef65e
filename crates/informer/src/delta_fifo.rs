use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use coracle_journal::EntryId;
use coracle_meta::{AnyObject, ObjectKey};

use crate::{Delta, DeltaType, Indexer, Records};

/// The result of [`DeltaFifo::pop`]: one object, and all its changes since it was last popped.
#[derive(Clone, Debug)]
pub struct Popped {
    /// The object.
    pub key: ObjectKey,
    /// The changes, in order; never empty.
    pub deltas: Vec<Delta>,
    /// Whether the object belongs to the first list.
    pub initial: bool,
}

/// The queue between the reflector and the cache: a queue of objects, each with the list of its changes.
///
/// An object that changes five times while the cache is busy is popped once, with five deltas:
///
/// ```text
/// push Added a, push Added b, push Updated a      queue: [a, b]   items: {a: [Added, Updated], b: [Added]}
/// pop -> a, [Added, Updated]                      queue: [b]      items: {b: [Added]}
/// ```
/// Two successive deletions of an object are merged. Invariant: `queue` holds exactly the keys of `items`, each once,
/// and no item is without deltas.
///
/// In Kubernetes: `cache.DeltaFIFO`. Unlike Kubernetes: the content of the cache is an argument of the operations
/// that need it. A queue that refers to its consumer would be a cycle.
#[derive(Debug)]
pub struct DeltaFifo {
    items: BTreeMap<ObjectKey, Vec<Delta>>,
    queue: VecDeque<ObjectKey>,
    /// Whether anything was ever queued.
    populated: bool,
    /// How many objects of the first list are still to be popped.
    initial: usize,
    /// The version of the last event or list that went in.
    version: String,
    records: Records,
}

impl DeltaFifo {
    /// An empty queue.
    pub fn new(records: Records) -> Self {
        Self {
            items: BTreeMap::new(),
            queue: VecDeque::new(),
            populated: false,
            initial: 0,
            version: String::new(),
            records,
        }
    }

    /// Queues a watch event: `Added`, `Updated` or `Deleted`.
    ///
    /// The deletion of an object that is neither in the queue nor in the cache is dropped.
    pub fn push(&mut self, delta_type: DeltaType, object: Arc<dyn AnyObject>, known: &Indexer, causes: &[EntryId]) {
        self.populated = true;
        object.resource_version().clone_into(&mut self.version);
        let key = object.object_key();
        if delta_type == DeltaType::Deleted && !self.items.contains_key(&key) && !known.contains(&key) {
            return;
        }
        self.queue_delta(key, delta_type, object, true, causes);
    }

    /// Queues a list: `Replaced` for its objects, and `Deleted`, not observed, for known objects that it lacks.
    pub fn replace(
        &mut self,
        objects: Vec<Arc<dyn AnyObject>>,
        version: &str,
        known: &Indexer,
        cause: Option<EntryId>,
    ) {
        let causes: Vec<_> = cause.into_iter().collect();
        let listed: BTreeMap<_, _> = objects.into_iter().map(|object| (object.object_key(), object)).collect();
        let missing: Vec<_> = self.newest(known).filter(|(key, _)| !listed.contains_key(key)).collect();
        let first = !self.populated;
        if first {
            self.populated = true;
            self.initial = listed.len() + missing.len();
        }
        for (key, object) in listed {
            self.queue_delta(key, DeltaType::Replaced, object, true, &causes);
        }
        for (key, object) in missing {
            self.queue_delta(key, DeltaType::Deleted, object, false, &causes);
        }
        version.clone_into(&mut self.version);
    }

    /// Every object that is queued or in the cache, in its newest state, except those with a queued deletion.
    fn newest(&self, known: &Indexer) -> impl Iterator<Item = (ObjectKey, Arc<dyn AnyObject>)> + use<> {
        let mut newest: BTreeMap<_, _> = known.snapshot().into_iter().collect();
        for (key, deltas) in &self.items {
            let last = deltas.last().expect("an item has a delta");
            match last.delta_type {
                DeltaType::Deleted => newest.remove(key),
                DeltaType::Added | DeltaType::Updated | DeltaType::Replaced | DeltaType::Sync => {
                    newest.insert(key.clone(), last.object.clone())
                }
            };
        }
        newest.into_iter()
    }

    /// Queues `Sync` for each object of the cache that has no queued change.
    pub fn resync(&mut self, known: &Indexer) {
        for (key, object) in known.snapshot() {
            if !self.items.contains_key(&key) {
                self.queue_delta(key, DeltaType::Sync, object, true, &[]);
            }
        }
    }

    /// Records that everything up to this version has been queued.
    pub fn bookmark(&mut self, version: &str) {
        version.clone_into(&mut self.version);
    }

    /// Pops the object that has waited longest, with its changes.
    pub fn pop(&mut self) -> Option<Popped> {
        let key = self.queue.pop_front()?;
        let initial = self.initial > 0;
        self.initial = self.initial.saturating_sub(1);
        let mut deltas = self.items.remove(&key).expect("a queued key has an item");
        for delta in &mut deltas {
            delta.cause = self.records.popped(delta.object.as_ref(), delta.delta_type, delta.cause);
        }
        Some(Popped { key, deltas, initial })
    }

    /// Whether the first list has been popped completely.
    pub fn has_synced(&self) -> bool {
        self.populated && self.initial == 0
    }

    /// Whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// How many objects are queued.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// The version of the last event, bookmark or list that was queued.
    pub fn version(&self) -> &str {
        &self.version
    }

    fn queue_delta(
        &mut self,
        key: ObjectKey,
        delta_type: DeltaType,
        object: Arc<dyn AnyObject>,
        observed: bool,
        causes: &[EntryId],
    ) {
        let depth = self.queue.len();
        let cause = self.records.queued(object.as_ref(), delta_type, depth, causes);
        let deltas = self.items.entry(key).or_insert_with_key(|key| {
            self.queue.push_back(key.clone());
            Vec::new()
        });
        let delta = Delta { delta_type, object, observed, cause };
        match deltas.last_mut() {
            Some(last) if last.delta_type == DeltaType::Deleted && delta_type == DeltaType::Deleted => {
                // An observed deletion has a more recent state than an inferred one.
                if !last.observed || delta.observed {
                    *last = delta;
                }
            }
            _ => deltas.push(delta),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::{Object, PartialObject};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn object(name: &str, version: u64) -> Arc<dyn AnyObject> {
        let mut object = Object::default();
        object.set("metadata.name", name);
        object.set_resource_version(version.to_string());
        Arc::new(object)
    }

    fn types(popped: &Popped) -> Vec<DeltaType> {
        popped.deltas.iter().map(|delta| delta.delta_type).collect()
    }

    #[test]
    fn changes_of_one_object_are_popped_together_and_objects_in_their_order() {
        let known = Indexer::default();
        let mut fifo = DeltaFifo::new(Records::default());
        fifo.push(DeltaType::Added, object("a", 1), &known, &[]);
        fifo.push(DeltaType::Added, object("b", 2), &known, &[]);
        fifo.push(DeltaType::Updated, object("a", 3), &known, &[]);
        let a = fifo.pop().unwrap();
        assert_eq!((a.key.name.as_str(), types(&a)), ("a", vec![DeltaType::Added, DeltaType::Updated]));
        assert_eq!(fifo.pop().unwrap().key.name, "b");
        assert!(fifo.pop().is_none());
    }

    #[test]
    fn two_deletions_in_a_row_are_one_and_the_one_that_was_seen_wins() {
        let known = Indexer::default();
        let mut fifo = DeltaFifo::new(Records::default());
        fifo.push(DeltaType::Added, object("a", 1), &known, &[]);
        fifo.push(DeltaType::Deleted, object("a", 4), &known, &[]);
        fifo.replace(Vec::new(), "5", &known, None);
        let popped = fifo.pop().unwrap();
        assert_eq!(types(&popped), [DeltaType::Added, DeltaType::Deleted]);
        assert!(popped.deltas[1].observed);
    }

    #[test]
    fn the_deletion_of_an_unknown_object_is_dropped() {
        let mut fifo = DeltaFifo::new(Records::default());
        fifo.push(DeltaType::Deleted, object("a", 1), &Indexer::default(), &[]);
        assert!(fifo.is_empty());
        assert_eq!(fifo.version(), "1");
    }

    #[test]
    fn an_object_missing_in_a_list_was_deleted() {
        let known = Indexer::default();
        known.insert(object("cached", 1));
        let mut fifo = DeltaFifo::new(Records::default());
        fifo.push(DeltaType::Added, object("queued", 2), &known, &[]);
        fifo.replace(vec![object("new", 3)], "9", &known, None);
        let mut seen = BTreeMap::new();
        while let Some(popped) = fifo.pop() {
            let last = popped.deltas.last().unwrap();
            seen.insert(popped.key.name.clone(), (last.delta_type, last.observed));
        }
        assert_eq!(seen["cached"], (DeltaType::Deleted, false));
        assert_eq!(seen["queued"], (DeltaType::Deleted, false));
        assert_eq!(seen["new"], (DeltaType::Replaced, true));
    }

    #[test]
    fn the_fifo_has_synced_after_the_first_list_is_popped_even_an_empty_one() {
        let known = Indexer::default();
        let mut fifo = DeltaFifo::new(Records::default());
        assert!(!fifo.has_synced());
        fifo.replace(vec![object("a", 1), object("b", 1)], "1", &known, None);
        assert!(fifo.pop().unwrap().initial && !fifo.has_synced());
        assert!(fifo.pop().unwrap().initial && fifo.has_synced());
        let mut empty = DeltaFifo::new(Records::default());
        empty.replace(Vec::new(), "1", &Indexer::default(), None);
        assert!(empty.has_synced());
    }

    #[test]
    fn a_resync_says_again_what_is_cached_and_not_about_to_change() {
        let known = Indexer::default();
        known.insert(object("a", 1));
        known.insert(object("b", 2));
        let mut fifo = DeltaFifo::new(Records::default());
        fifo.push(DeltaType::Updated, object("a", 3), &known, &[]);
        fifo.resync(&known);
        assert_eq!(types(&fifo.pop().unwrap()), [DeltaType::Updated]);
        assert_eq!(types(&fifo.pop().unwrap()), [DeltaType::Sync]);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Put(u8),
        Delete(u8),
        /// A list of what there is; the events before it were lost.
        Relist,
        Lose(u8),
        Pop,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (0..6_u8).prop_map(Step::Put),
            2 => (0..6_u8).prop_map(Step::Delete),
            1 => Just(Step::Relist),
            1 => (0..6_u8).prop_map(Step::Lose),
            4 => Just(Step::Pop),
        ];
        proptest::collection::vec(step, 0..150)
    }

    proptest! {
        #[test]
        fn after_a_relist_the_cache_equals_the_world_whatever_was_lost(steps in steps()) {
            let known = Indexer::default();
            let mut fifo = DeltaFifo::new(Records::default());
            let mut world: BTreeMap<u8, u64> = BTreeMap::new();
            let mut version = 0;
            for step in steps.into_iter().chain([Step::Relist]) {
                version += 1;
                match step {
                    Step::Put(id) => {
                        let delta_type = if world.contains_key(&id) { DeltaType::Updated } else { DeltaType::Added };
                        world.insert(id, version);
                        fifo.push(delta_type, partial(id, version), &known, &[]);
                    }
                    Step::Delete(id) => {
                        if world.remove(&id).is_some() {
                            fifo.push(DeltaType::Deleted, partial(id, version), &known, &[]);
                        }
                    }
                    Step::Lose(id) => {
                        world.remove(&id);
                    }
                    Step::Relist => {
                        let list = world.iter().map(|(id, version)| partial(*id, *version)).collect();
                        fifo.replace(list, &version.to_string(), &known, None);
                    }
                    Step::Pop => apply(&known, fifo.pop()),
                }
            }
            while let Some(popped) = fifo.pop() {
                apply(&known, Some(popped));
            }
            let cached: BTreeSet<_> = known
                .snapshot()
                .into_iter()
                .map(|(key, object)| (key.name, object.resource_version().to_owned()))
                .collect();
            let expected = world.iter().map(|(id, version)| (id.to_string(), version.to_string())).collect();
            prop_assert_eq!(cached, expected);
        }
    }

    fn partial(id: u8, version: u64) -> Arc<dyn AnyObject> {
        let mut object = PartialObject::default();
        object.metadata.name = Some(id.to_string());
        object.metadata.resource_version = Some(version.to_string());
        Arc::new(object)
    }

    fn apply(known: &Indexer, popped: Option<Popped>) {
        for delta in popped.into_iter().flat_map(|popped| popped.deltas) {
            match delta.delta_type {
                DeltaType::Deleted => drop(known.remove(&delta.object.object_key())),
                _ => drop(known.insert(delta.object)),
            }
        }
    }
}
