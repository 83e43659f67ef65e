use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::ObjectKey;

use crate::attachable::Attachable;
use crate::devices::Inventory;
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// The scheduler's view of nodes and of the pods on them: the state from informers, and on top of it the assumed
/// pods, whose chosen node the API does not show yet.
///
/// In Kubernetes: `pkg/scheduler/backend/cache`.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    snapshot: Snapshot,
    pods: BTreeMap<ObjectKey, Placed>,
    /// Pods on nodes that do not exist.
    elsewhere: BTreeMap<String, BTreeMap<ObjectKey, Arc<PodInfo>>>,
    nominations: BTreeMap<ObjectKey, (String, Arc<PodInfo>)>,
}

#[derive(Debug)]
struct Placed {
    node: String,
    pod: Arc<PodInfo>,
    assumed: bool,
}

impl Cache {
    /// The view of one scheduling cycle.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    pub(crate) fn attachable_mut(&mut self) -> &mut Attachable {
        self.snapshot.attachable_mut()
    }

    pub(crate) fn inventory_mut(&mut self) -> &mut Inventory {
        self.snapshot.inventory_mut()
    }

    /// Adds or updates a node; returns it before and after, with its pods. `None` if nothing changed.
    pub(crate) fn set_node(&mut self, mut node: NodeInfo) -> Option<(Option<Arc<NodeInfo>>, Arc<NodeInfo>)> {
        let name = node.name.clone();
        let before = self.snapshot.node(&name).cloned();
        if before.as_ref().is_some_and(|before| before.is_the_same_but_for_pods(&node)) {
            return None;
        }
        match &before {
            Some(before) => node = node.with_pods_of(before),
            None => self.elsewhere.remove(&*name).into_iter().flatten().for_each(|(_, pod)| node.add(pod)),
        }
        self.snapshot.put(node);
        if before.is_none() {
            for (_, pod) in self.nominations.values().filter(|(node, _)| **node == *name) {
                self.snapshot.nominate(&name, pod, true);
            }
        }
        let after = self.snapshot.node(&name).cloned();
        after.map(|after| (before, after))
    }

    /// Removes a node; its pods are kept in case it comes back.
    pub(crate) fn remove_node(&mut self, name: &str) {
        if let Some(node) = self.snapshot.remove(name)
            && !node.pods.is_empty()
        {
            let pods = node.pods.iter().map(|pod| (pod.key.clone(), pod.clone()));
            self.elsewhere.insert(name.to_owned(), pods.collect());
        }
    }

    /// Sets the labels of a namespace; `None` if it is deleted.
    pub(crate) fn set_namespace(&mut self, name: &str, labels: Option<BTreeMap<String, String>>) {
        self.snapshot.set_namespace(name, labels);
    }

    /// Adds a pod that the API shows on a node. True if anything changed.
    pub(crate) fn place(&mut self, node: &str, pod: Arc<PodInfo>) -> bool {
        let known = self.pods.get(&pod.key).is_some_and(|placed| placed.node == node && *placed.pod == *pod);
        self.put(node, pod, false);
        !known
    }

    /// Assumes a pod on its chosen node, where it counts from now on.
    pub(crate) fn assume(&mut self, node: &str, pod: Arc<PodInfo>) {
        self.denominate(&pod.key);
        self.put(node, pod, true);
    }

    /// Removes an assumed pod, whose binding failed.
    pub(crate) fn forget(&mut self, key: &ObjectKey) {
        if self.is_assumed(key) {
            self.remove(key);
        }
    }

    /// The numbers of nodes, of pods on nodes, and of assumed pods.
    pub(crate) fn sizes(&self) -> (usize, usize, usize) {
        (self.snapshot.len(), self.pods.len(), self.pods.values().filter(|placed| placed.assumed).count())
    }

    /// Whether the pod is assumed on a node.
    pub(crate) fn is_assumed(&self, key: &ObjectKey) -> bool {
        self.pods.get(key).is_some_and(|placed| placed.assumed)
    }

    /// Removes a deleted or finished pod; returns it if it was on a node.
    pub(crate) fn remove(&mut self, key: &ObjectKey) -> Option<Arc<PodInfo>> {
        self.denominate(key);
        let placed = self.pods.remove(key)?;
        self.snapshot.remove_pod(&placed.node, key);
        if let Some(pods) = self.elsewhere.get_mut(&placed.node) {
            pods.remove(key);
            if pods.is_empty() {
                self.elsewhere.remove(&placed.node);
            }
        }
        Some(placed.pod)
    }

    /// Nominates a node for a pod, where preemption makes room; `None` removes the nomination.
    pub(crate) fn nominate(&mut self, pod: Arc<PodInfo>, node: Option<String>) {
        self.denominate(&pod.key);
        if let Some(node) = node {
            self.snapshot.nominate(&node, &pod, true);
            self.nominations.insert(pod.key.clone(), (node, pod));
        }
    }

    fn denominate(&mut self, key: &ObjectKey) {
        if let Some((node, pod)) = self.nominations.remove(key) {
            self.snapshot.nominate(&node, &pod, false);
        }
    }

    fn put(&mut self, node: &str, pod: Arc<PodInfo>, assumed: bool) {
        if self.pods.get(&pod.key).is_some_and(|before| before.node != node) {
            self.remove(&pod.key);
        }
        if !self.snapshot.add_pod(node, pod.clone()) {
            self.elsewhere.entry(node.to_owned()).or_default().insert(pod.key.clone(), pod.clone());
        }
        self.pods.insert(pod.key.clone(), Placed { node: node.to_owned(), pod, assumed });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::Resources;

    fn pod(name: &str) -> Arc<PodInfo> {
        let requests = Resources { milli_cpu: 100, ..Resources::default() };
        Arc::new(PodInfo { key: ObjectKey::new("default", name), requests, ..PodInfo::default() })
    }

    fn node(name: &str) -> NodeInfo {
        NodeInfo { name: name.into(), ..NodeInfo::default() }
    }

    fn used(cache: &Cache, node: &str) -> i64 {
        cache.snapshot().node(node).unwrap().requested.milli_cpu
    }

    #[test]
    fn a_pod_counts_once_from_the_choice_on() {
        let mut cache = Cache::default();
        cache.set_node(node("a"));
        cache.assume("a", pod("p"));
        assert!(cache.is_assumed(&pod("p").key));
        assert!(!cache.place("a", pod("p")), "the API shows what was chosen");
        assert!(!cache.is_assumed(&pod("p").key));
        assert_eq!(used(&cache, "a"), 100);
        cache.forget(&pod("p").key);
        assert_eq!(used(&cache, "a"), 100, "only a choice can be forgotten");
        cache.remove(&pod("p").key);
        assert_eq!(used(&cache, "a"), 0);
    }

    #[test]
    fn a_pod_that_is_seen_before_its_node_counts_when_the_node_appears() {
        let mut cache = Cache::default();
        cache.place("a", pod("p"));
        let (before, after) = cache.set_node(node("a")).unwrap();
        assert_eq!((before, after.requested.milli_cpu), (None, 100));
        cache.remove_node("a");
        assert_eq!(cache.set_node(node("a")).unwrap().1.pods.len(), 1);
        assert_eq!(cache.set_node(node("a")), None, "nothing changed");
    }

    #[test]
    fn the_state_of_the_api_overrides_an_assumed_pod() {
        let mut cache = Cache::default();
        cache.set_node(node("a"));
        cache.set_node(node("b"));
        cache.assume("a", pod("p"));
        assert!(cache.place("b", pod("p")));
        assert_eq!((used(&cache, "a"), used(&cache, "b")), (0, 100));
    }
}
