use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use coracle_meta::{AnyObject, ObjectKey, parse_resource_version};
use parking_lot::RwLock;

/// Returns the values under which an index finds an object.
pub(crate) type IndexFn = dyn Fn(&dyn AnyObject) -> Vec<String> + Send + Sync;

/// A cache of objects by key and by named indexes. Only its informer writes to it; all others read through a
/// [`Lister`](crate::Lister).
///
/// In Kubernetes: `cache.Indexer` (and `Store`, `ThreadSafeStore` and `cache` below it).
pub struct Indexer {
    state: RwLock<State>,
}

struct State {
    objects: Objects,
    indices: BTreeMap<&'static str, Index>,
    version: String,
}

/// By key; the indexes share the keys with the cache.
type Objects = BTreeMap<Arc<ObjectKey>, Arc<dyn AnyObject>>;

struct Index {
    values: Arc<IndexFn>,
    found: BTreeMap<String, Objects>,
}

impl Default for Indexer {
    fn default() -> Self {
        let state = State { objects: BTreeMap::new(), indices: BTreeMap::new(), version: String::new() };
        Self { state: RwLock::new(state) }
    }
}

impl fmt::Debug for Indexer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.read();
        f.debug_struct("Indexer").field("objects", &state.objects.len()).field("version", &state.version).finish()
    }
}

impl Indexer {
    /// Adds an index of all present and future objects. A second index of the same name changes nothing: users that
    /// share an informer share its indexes.
    pub fn add_index(
        &self,
        name: &'static str,
        values: impl Fn(&dyn AnyObject) -> Vec<String> + Send + Sync + 'static,
    ) {
        let mut state = self.state.write();
        if state.indices.contains_key(name) {
            return;
        }
        let mut index = Index { values: Arc::new(values), found: BTreeMap::new() };
        for (key, object) in &state.objects {
            index.replace(key, None, object);
        }
        state.indices.insert(name, index);
    }

    /// Inserts an object; returns the previous one.
    pub fn insert(&self, object: Arc<dyn AnyObject>) -> Option<Arc<dyn AnyObject>> {
        let key = object.object_key();
        let mut state = self.state.write();
        let State { objects, indices, .. } = &mut *state;
        let key = objects.get_key_value(&key).map_or_else(|| Arc::new(key.clone()), |(known, _)| known.clone());
        let old = objects.insert(key.clone(), object.clone());
        for index in indices.values_mut() {
            index.replace(&key, old.as_deref(), &object);
        }
        old
    }

    /// Removes an object.
    pub fn remove(&self, key: &ObjectKey) -> Option<Arc<dyn AnyObject>> {
        let mut state = self.state.write();
        let old = state.objects.remove(key)?;
        for index in state.indices.values_mut() {
            for value in (index.values)(old.as_ref()) {
                index.remove(key, &value);
            }
        }
        Some(old)
    }

    /// Records that the cache is complete up to this version.
    pub fn set_version(&self, version: &str) {
        version.clone_into(&mut self.state.write().version);
    }

    /// The version up to which the cache is complete; empty before the first list.
    ///
    /// In Kubernetes: `Store.LastStoreSyncResourceVersion`.
    pub fn version(&self) -> String {
        self.state.read().version.clone()
    }

    /// The revision up to which the cache is complete; 0 before the first list, and if versions are not numbers.
    pub fn revision(&self) -> i64 {
        parse_resource_version(&self.state.read().version).unwrap_or(0)
    }

    /// One object.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<dyn AnyObject>> {
        self.state.read().objects.get(key).cloned()
    }

    /// Whether an object exists.
    pub fn contains(&self, key: &ObjectKey) -> bool {
        self.state.read().objects.contains_key(key)
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.state.read().objects.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All objects, by key.
    pub fn snapshot(&self) -> Vec<(ObjectKey, Arc<dyn AnyObject>)> {
        self.state.read().objects.iter().map(|(key, object)| (ObjectKey::clone(key), object.clone())).collect()
    }

    /// All objects, in the order of their keys.
    pub fn list(&self) -> Vec<Arc<dyn AnyObject>> {
        self.state.read().objects.values().cloned().collect()
    }

    /// The objects of a namespace, in the order of their names.
    pub fn list_namespace(&self, namespace: &str) -> Vec<Arc<dyn AnyObject>> {
        let state = self.state.read();
        let objects = state.objects.range::<ObjectKey, _>(ObjectKey::new(namespace, "")..);
        objects.take_while(|(key, _)| key.namespace == namespace).map(|(_, object)| object.clone()).collect()
    }

    /// The number of objects in a namespace.
    pub fn count(&self, namespace: &str) -> usize {
        let state = self.state.read();
        state
            .objects
            .range::<ObjectKey, _>(ObjectKey::new(namespace, "")..)
            .take_while(|(key, _)| key.namespace == namespace)
            .count()
    }

    /// The objects with this value in this index, in the order of their keys; empty without such an index.
    pub fn by_index(&self, index: &str, value: &str) -> Vec<Arc<dyn AnyObject>> {
        let state = self.state.read();
        let found = state.indices.get(index).and_then(|index| index.found.get(value));
        found.map(|objects| objects.values().cloned().collect()).unwrap_or_default()
    }

    /// The number of objects with this value in this index.
    pub fn count_by_index(&self, index: &str, value: &str) -> usize {
        let state = self.state.read();
        state.indices.get(index).and_then(|index| index.found.get(value)).map_or(0, Objects::len)
    }

    /// The values of an index, in order.
    pub fn index_values(&self, index: &str) -> Vec<String> {
        let state = self.state.read();
        state.indices.get(index).into_iter().flat_map(|index| index.found.keys().cloned()).collect()
    }
}

impl Index {
    /// Replaces an object, and updates the indexes.
    fn replace(&mut self, key: &Arc<ObjectKey>, old: Option<&dyn AnyObject>, object: &Arc<dyn AnyObject>) {
        let values = (self.values)(object.as_ref());
        for before in old.map(|old| (self.values)(old)).unwrap_or_default() {
            if !values.contains(&before) {
                self.remove(key, &before);
            }
        }
        for value in values {
            self.found.entry(value).or_default().insert(key.clone(), object.clone());
        }
    }

    fn remove(&mut self, key: &ObjectKey, value: &str) {
        if let Some(objects) = self.found.get_mut(value) {
            objects.remove(key);
            if objects.is_empty() {
                self.found.remove(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::Object;
    use proptest::prelude::*;

    fn object(namespace: &str, name: &str, node: &str) -> Arc<dyn AnyObject> {
        let mut object = Object::default();
        object.set("metadata.namespace", namespace);
        object.set("metadata.name", name);
        object.set("spec.nodeName", node);
        Arc::new(object)
    }

    fn by_node(object: &dyn AnyObject) -> Vec<String> {
        let object: &dyn std::any::Any = object;
        vec![object.downcast_ref::<Object>().unwrap().text("spec.nodeName").to_owned()]
    }

    fn names(objects: &[Arc<dyn AnyObject>]) -> Vec<String> {
        objects.iter().map(|object| object.object_key().name).collect()
    }

    #[test]
    fn an_index_follows_changes_and_covers_what_was_there_before_it() {
        let indexer = Indexer::default();
        indexer.insert(object("a", "web-1", "n1"));
        indexer.add_index("node", by_node);
        indexer.insert(object("a", "web-2", "n1"));
        assert_eq!(names(&indexer.by_index("node", "n1")), ["web-1", "web-2"]);
        indexer.insert(object("a", "web-1", "n2"));
        indexer.remove(&ObjectKey::new("a", "web-2"));
        assert!(indexer.by_index("node", "n1").is_empty());
        assert_eq!(names(&indexer.by_index("node", "n2")), ["web-1"]);
        assert_eq!(indexer.index_values("node"), ["n2"]);
        assert!(indexer.by_index("nothing", "n2").is_empty());
    }

    #[test]
    fn a_namespace_lists_its_own_objects_only() {
        let indexer = Indexer::default();
        for (namespace, name) in [("a", "x"), ("ab", "y"), ("a", "z"), ("b", "w")] {
            indexer.insert(object(namespace, name, ""));
        }
        assert_eq!(names(&indexer.list_namespace("a")), ["x", "z"]);
        assert_eq!(names(&indexer.list_namespace("ab")), ["y"]);
        assert!(indexer.list_namespace("c").is_empty());
    }

    proptest! {
        #[test]
        fn an_index_is_what_a_scan_finds(steps in proptest::collection::vec((0..8_u8, 0..3_u8, any::<bool>()), 0..100)) {
            let indexer = Indexer::default();
            indexer.add_index("node", by_node);
            for (id, node, keep) in steps {
                let object = object("a", &id.to_string(), &node.to_string());
                if keep { indexer.insert(object); } else { indexer.remove(&object.object_key()); }
            }
            for node in 0..3_u8 {
                let node = node.to_string();
                let scanned: Vec<_> =
                    indexer.list().into_iter().filter(|object| by_node(object.as_ref()) == [node.as_str()]).collect();
                prop_assert_eq!(names(&indexer.by_index("node", &node)), names(&scanned));
            }
        }
    }
}
