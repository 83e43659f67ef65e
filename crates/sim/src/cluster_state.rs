use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use coracle_meta::Object;
use coracle_store::{Event, EventKind, Revision, WatchBatch};

use crate::FollowedObject;

/// The plural of a kind, by `apiVersion` and `kind`; `None` for kinds that expressions cannot use.
pub type PluralOf = Arc<dyn Fn(&str, &str) -> Option<String> + Send + Sync>;

/// Every object of a cluster at one revision, followed from the store itself.
///
/// Invariant: the objects are those of `revision`, no more and no less.
#[derive(Clone, Debug, Default)]
pub struct ClusterState {
    revision: Revision,
    objects: BTreeMap<Bytes, FollowedObject>,
}

/// One object that changed from one revision to the next.
#[derive(Clone, Debug)]
pub struct ObjectChange<'e> {
    /// The event of the store.
    pub event: &'e Event,
    /// The object before; `None` if it was created.
    pub before: Option<FollowedObject>,
    /// The object after; `None` if it was deleted.
    pub after: Option<FollowedObject>,
}

impl ObjectChange<'_> {
    /// The plural of the object's kind.
    pub(crate) fn plural(&self, plural_of: &PluralOf) -> Option<String> {
        let (api_version, kind) = self.after.as_ref().or(self.before.as_ref())?.version_and_kind();
        plural_of(&api_version, &kind)
    }
}

impl ClusterState {
    /// The current revision.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// All objects, ordered by their keys in the store.
    pub fn objects(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.objects.values().map(FollowedObject::object)
    }

    /// The objects of one kind, ordered by namespace and name.
    pub fn of_kind<'a>(&'a self, api_version: &'a str, kind: &'a str) -> impl Iterator<Item = &'a Arc<Object>> {
        self.objects.values().filter(move |object| object.is_of(api_version, kind)).map(FollowedObject::object)
    }

    /// One object.
    pub fn object(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Option<&Arc<Object>> {
        self.objects
            .values()
            .filter(|object| object.is_of(api_version, kind))
            .map(FollowedObject::object)
            .find(|object| object.name() == name && (object.namespace().is_empty() || object.namespace() == namespace))
    }

    /// Sets all objects that the store holds at the batch's revision. `look` is called once, with the complete cluster:
    /// earlier states of the objects are unknown.
    pub fn start(&mut self, found: &WatchBatch, look: impl FnOnce(&Self, &[ObjectChange<'_>])) {
        let changes = self.change(&found.events);
        self.revision = found.revision;
        look(self, &changes);
    }

    /// Applies a batch of the store's history, revision by revision: after each revision, `look` is called with the
    /// cluster and its changes. Values that are not objects (the store holds a few) are skipped.
    pub fn follow(&mut self, batch: &WatchBatch, mut look: impl FnMut(&Self, &[ObjectChange<'_>])) {
        for group in batch.events.chunk_by(|a, b| a.kv.mod_revision == b.kv.mod_revision) {
            let changes = self.change(group);
            self.revision = group[0].kv.mod_revision;
            if !changes.is_empty() {
                look(self, &changes);
            }
        }
        self.reach(batch.revision);
    }

    /// Advances the revision without a change.
    pub(crate) fn reach(&mut self, revision: Revision) {
        self.revision = self.revision.max(revision);
    }

    fn change<'e>(&mut self, events: &'e [Event]) -> Vec<ObjectChange<'e>> {
        let mut changes = Vec::new();
        for event in events {
            let after = match event.kind {
                EventKind::Put => FollowedObject::of(&event.kv),
                EventKind::Delete => None,
            };
            let before = match &after {
                Some(object) => self.objects.insert(event.kv.key.clone(), object.clone()),
                None => self.objects.remove(&event.kv.key),
            };
            if before.is_some() || after.is_some() {
                changes.push(ObjectChange { event, before, after });
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use coracle_store::KeyValue;

    use super::*;

    fn put(key: &'static str, revision: Revision) -> Event {
        let value =
            format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{key}","namespace":"default"}}}}"#);
        let kv = KeyValue { key: key.into(), value: value.into(), mod_revision: revision, ..KeyValue::default() };
        Event { kind: EventKind::Put, kv, prev_kv: None }
    }

    fn delete(key: &'static str, revision: Revision) -> Event {
        let kv = KeyValue { key: key.into(), mod_revision: revision, ..KeyValue::default() };
        Event { kind: EventKind::Delete, kv, prev_kv: None }
    }

    #[test]
    fn each_revision_is_checked_once_with_all_its_changes() {
        let mut cluster = ClusterState::default();
        let batch = WatchBatch { revision: 9, events: vec![put("a", 2), put("b", 2), delete("a", 3)] };
        let mut seen = Vec::new();
        cluster.follow(&batch, |cluster, changes| {
            seen.push((cluster.revision(), cluster.objects().count(), changes.len()))
        });
        assert_eq!(seen, [(2, 2, 2), (3, 1, 1)]);
        assert_eq!(cluster.revision(), 9);
        assert_eq!(cluster.object("v1", "Pod", "default", "b").unwrap().resource_version(), "2");
    }
}
