use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use coracle_client::Gone;
use coracle_meta::{GroupVersionResource, ObjectKey};
use tokio::time::Instant;

/// The last revisions that a controller wrote for each key, and the objects that it removed, until its caches show
/// them.
///
/// A cache is behind the server. A reconciler that creates three pods and runs again at once sees none, and would
/// create three more. So a key is not processed before each cache has reached the revision of the key's own last
/// write there:
///
/// ```text
/// pass over default/web writes pods at 42, 43, 44       default/web: pods 44
/// next pass, cache of pods at 43                        not yet
/// cache of pods at 44                                   process, and forget the writes
/// ```
/// A deletion that removes an object at once returns no revision: there the cache must no longer hold the object with
/// that uid.
///
/// What a controller does with a key that has such writes is its [`StaleCaches`](crate::StaleCaches).
///
/// In Kubernetes: `consistency.ConsistencyStore`; older controllers count instead
/// (`UIDTrackingControllerExpectations`). Unlike Kubernetes: every controller uses it, because revisions make one
/// rule sufficient for all.
#[derive(Debug)]
pub struct OwnWrites<K = ObjectKey> {
    by_key: BTreeMap<K, Written>,
}

/// The writes for a key.
#[derive(Debug)]
struct Written {
    /// When the last of them was sent.
    at: Instant,
    revisions: BTreeMap<GroupVersionResource, i64>,
    gone: BTreeSet<Gone>,
}

impl<K> Default for OwnWrites<K> {
    fn default() -> Self {
        Self { by_key: BTreeMap::new() }
    }
}

/// The state of the caches.
pub trait Caches {
    /// The revision up to which a resource's cache is complete; `None` if it is not cached, and so not waited for.
    fn revision(&self, resource: &GroupVersionResource) -> Option<i64>;

    /// Whether the cache still holds the object with this uid.
    fn holds(&self, gone: &Gone) -> bool;
}

/// A write that a cache does not show yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// A write.
    Write {
        /// The resource.
        resource: GroupVersionResource,
        /// The revision of the write.
        needs: i64,
        /// The revision of the cache.
        has: i64,
    },
    /// A removed object.
    End(Gone),
}

impl Unseen {
    /// The resource.
    pub fn resource(&self) -> &GroupVersionResource {
        match self {
            Self::Write { resource, .. } | Self::End(Gone { resource, .. }) => resource,
        }
    }
}

impl<K: Ord + Clone> OwnWrites<K> {
    /// Records the writes for `key`, and the objects that they removed.
    pub fn record(&mut self, key: &K, written: BTreeMap<GroupVersionResource, i64>, gone: Vec<Gone>) {
        if written.is_empty() && gone.is_empty() {
            return;
        }
        let at = Instant::now();
        let nothing = || Written { at, revisions: BTreeMap::new(), gone: BTreeSet::new() };
        let own = self.by_key.entry(key.clone()).or_insert_with(nothing);
        own.at = at;
        for (resource, revision) in written {
            let last = own.revisions.entry(resource).or_default();
            *last = revision.max(*last);
        }
        own.gone.extend(gone);
    }

    /// Forgets the writes for `key` if the last of them is older than this.
    pub fn expire(&mut self, key: &K, patience: Duration) {
        if self.by_key.get(key).is_some_and(|own| own.at.elapsed() > patience) {
            self.by_key.remove(key);
        }
    }

    /// A write for `key` that its cache does not show yet.
    pub fn unseen(&mut self, key: &K, caches: &impl Caches) -> Option<Unseen> {
        let own = self.by_key.get_mut(key)?;
        own.revisions.retain(|resource, needs| caches.revision(resource).is_some_and(|has| has < *needs));
        own.gone.retain(|gone| caches.holds(gone));
        if let Some((resource, needs)) = own.revisions.first_key_value() {
            let has = caches.revision(resource).unwrap_or(0);
            return Some(Unseen::Write { resource: resource.clone(), needs: *needs, has });
        }
        if let Some(gone) = own.gone.first() {
            return Some(Unseen::End(gone.clone()));
        }
        self.by_key.remove(key);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cache of pods at a revision, with or without the pod `u`.
    struct Pods(i64, bool);

    impl Caches for Pods {
        fn revision(&self, resource: &GroupVersionResource) -> Option<i64> {
            (resource.resource == "pods").then_some(self.0)
        }

        fn holds(&self, gone: &Gone) -> bool {
            self.1 && gone.resource.resource == "pods" && gone.uid == "u"
        }
    }

    fn resource(name: &str) -> GroupVersionResource {
        GroupVersionResource::new("", "v1", name)
    }

    fn gone(of: &str, uid: &str) -> Gone {
        Gone { resource: resource(of), key: ObjectKey::new("default", "web-1"), uid: uid.to_owned() }
    }

    #[test]
    fn a_key_waits_until_each_cache_shows_its_last_write() {
        let key = ObjectKey::new("default", "web");
        let mut own = OwnWrites::default();
        own.record(&key, BTreeMap::from([(resource("pods"), 44), (resource("events"), 50)]), Vec::new());
        own.record(&key, BTreeMap::from([(resource("pods"), 43)]), Vec::new());
        let unseen = own.unseen(&key, &Pods(43, false)).unwrap();
        assert_eq!(unseen, Unseen::Write { resource: resource("pods"), needs: 44, has: 43 });
        assert_eq!(own.unseen(&ObjectKey::new("default", "other"), &Pods(1, false)), None);
        assert_eq!(own.unseen(&key, &Pods(44, false)), None);
        assert!(own.by_key.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn writes_that_no_cache_shows_expire() {
        const PATIENCE: Duration = Duration::from_secs(300);
        let key = ObjectKey::new("default", "web");
        let mut own = OwnWrites::default();
        own.record(&key, BTreeMap::from([(resource("pods"), 44)]), Vec::new());
        tokio::time::advance(PATIENCE).await;
        own.expire(&key, PATIENCE);
        assert!(own.unseen(&key, &Pods(43, false)).is_some());
        tokio::time::advance(Duration::from_millis(1)).await;
        own.expire(&key, PATIENCE);
        assert_eq!(own.unseen(&key, &Pods(43, false)), None);
    }

    #[test]
    fn a_key_waits_until_its_cache_has_lost_what_was_removed_and_for_nothing_that_is_not_cached() {
        let key = ObjectKey::new("default", "web");
        let mut own = OwnWrites::default();
        own.record(&key, BTreeMap::new(), vec![gone("pods", "u"), gone("pods", "another"), gone("secrets", "u")]);
        assert_eq!(own.unseen(&key, &Pods(1, true)), Some(Unseen::End(gone("pods", "u"))));
        assert_eq!(own.unseen(&key, &Pods(1, false)), None);
        assert!(own.by_key.is_empty());
    }
}
