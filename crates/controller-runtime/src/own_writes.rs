use std::collections::BTreeMap;

use coracle_meta::{GroupVersionResource, ObjectKey};

/// The last revisions that a controller wrote for each key, until its caches show them.
///
/// A cache is behind the server. A reconciler that creates three pods and looks again at once sees none, and creates
/// three more. So a key is not worked on before each cache has come to the revision of the key's own last write there:
///
/// ```text
/// pass over default/web writes pods at 42, 43, 44       default/web: pods 44
/// next pass, cache of pods at 43                        not yet
/// cache of pods at 44                                   go on, and forget
/// ```
/// In Kubernetes: `consistency.ConsistencyStore`; older controllers count instead (`UIDTrackingControllerExpectations`).
/// Unlike Kubernetes: every controller has it, because revisions make it one rule for all.
#[derive(Debug)]
pub struct OwnWrites<K = ObjectKey> {
    by_key: BTreeMap<K, BTreeMap<GroupVersionResource, i64>>,
}

impl<K> Default for OwnWrites<K> {
    fn default() -> Self {
        Self { by_key: BTreeMap::new() }
    }
}

/// A write that a cache does not show yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// What was written.
    pub resource: GroupVersionResource,
    /// The revision of the write.
    pub needs: i64,
    /// The revision of the cache.
    pub has: i64,
}

impl<K: Ord + Clone> OwnWrites<K> {
    /// Notes what was written for `key`.
    pub fn record(&mut self, key: &K, written: BTreeMap<GroupVersionResource, i64>) {
        if written.is_empty() {
            return;
        }
        let revisions = self.by_key.entry(key.clone()).or_default();
        for (resource, revision) in written {
            let last = revisions.entry(resource).or_default();
            *last = revision.max(*last);
        }
    }

    /// A write for `key` that its cache does not show; `cache` gives a resource's revision, `None` if it is not cached
    /// and so not waited for.
    pub fn unseen(&mut self, key: &K, cache: impl Fn(&GroupVersionResource) -> Option<i64>) -> Option<Unseen> {
        let revisions = self.by_key.get_mut(key)?;
        revisions.retain(|resource, needs| cache(resource).is_some_and(|has| has < *needs));
        let Some((resource, needs)) = revisions.first_key_value() else {
            self.by_key.remove(key);
            return None;
        };
        let has = cache(resource).unwrap_or(0);
        Some(Unseen { resource: resource.clone(), needs: *needs, has })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(name: &str) -> GroupVersionResource {
        GroupVersionResource::new("", "v1", name)
    }

    #[test]
    fn a_key_waits_until_each_cache_shows_its_last_write() {
        let key = ObjectKey::new("default", "web");
        let mut own = OwnWrites::default();
        own.record(&key, BTreeMap::from([(resource("pods"), 44), (resource("events"), 50)]));
        own.record(&key, BTreeMap::from([(resource("pods"), 43)]));
        let pods_at = |at: i64| move |of: &GroupVersionResource| (of.resource == "pods").then_some(at);
        let unseen = own.unseen(&key, pods_at(43)).unwrap();
        assert_eq!((unseen.needs, unseen.has), (44, 43));
        assert_eq!(own.unseen(&ObjectKey::new("default", "other"), pods_at(1)), None);
        assert_eq!(own.unseen(&key, pods_at(44)), None);
        assert!(own.by_key.is_empty());
    }
}
