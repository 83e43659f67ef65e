//! The pods whose finalizer the controller removed, until its cache shows that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_api::core_v1::Pod;
use coracle_meta::ObjectKey;

use super::pod::{FINALIZER, has_finalizer, uid};

/// The uids of these pods, by Job. A cache that still shows the finalizer must not lead to a second count.
///
/// In Kubernetes: `uidTrackingExpectations`.
#[derive(Debug, Default)]
pub(super) struct ReleasedPods {
    by_job: BTreeMap<ObjectKey, BTreeSet<String>>,
}

impl ReleasedPods {
    /// Records pods whose finalizer was removed.
    pub(super) fn add(&mut self, job: &ObjectKey, uids: impl IntoIterator<Item = String>) {
        let mut uids = uids.into_iter().peekable();
        if uids.peek().is_some() {
            self.by_job.entry(job.clone()).or_default().extend(uids);
        }
    }

    /// The pods of a cache as they are after the removals; what the cache shows by itself is forgotten.
    pub(super) fn applied_to(&mut self, job: &ObjectKey, pods: Vec<Arc<Pod>>) -> Vec<Arc<Pod>> {
        let Some(uids) = self.by_job.get_mut(job) else { return pods };
        let held: BTreeSet<&str> = pods.iter().filter(|pod| has_finalizer(pod)).map(|pod| uid(pod)).collect();
        uids.retain(|uid| held.contains(uid.as_str()));
        let applied = pods.iter().map(|pod| if uids.contains(uid(pod)) { without_finalizer(pod) } else { pod.clone() });
        let applied = applied.collect();
        if uids.is_empty() {
            self.by_job.remove(job);
        }
        applied
    }

    /// Forgets a Job.
    pub(super) fn forget(&mut self, job: &ObjectKey) {
        self.by_job.remove(job);
    }
}

fn without_finalizer(pod: &Pod) -> Arc<Pod> {
    let mut pod = pod.clone();
    pod.metadata.finalizers.retain(|finalizer| finalizer != FINALIZER);
    Arc::new(pod)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(uid: &str, held: bool) -> Arc<Pod> {
        let mut pod = Pod::default();
        pod.metadata.uid = Some(uid.to_owned());
        pod.metadata.finalizers = held.then(|| FINALIZER.to_owned()).into_iter().collect();
        Arc::new(pod)
    }

    #[test]
    fn a_released_pod_has_no_finalizer_until_the_cache_shows_that() {
        let key = ObjectKey::new("default", "work");
        let mut released = ReleasedPods::default();
        released.add(&key, ["a".to_owned()]);
        let held = |pods: &[Arc<Pod>]| pods.iter().map(|pod| has_finalizer(pod)).collect::<Vec<_>>();
        let pods = vec![pod("a", true), pod("b", true)];
        assert_eq!(held(&released.applied_to(&key, pods.clone())), [false, true]);
        assert_eq!(held(&released.applied_to(&key, pods)), [false, true], "again, as long as the cache is behind");
        released.applied_to(&key, vec![pod("a", false)]);
        assert!(released.by_job.is_empty());
        assert_eq!(held(&released.applied_to(&key, vec![pod("a", true)])), [true]);
    }
}
