use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::ObjectKey;

use crate::node_info::{NodeInfo, Snapshot};
use crate::pod_info::PodInfo;

/// What the scheduler knows of nodes and of the pods on them: what its informers told, and on top of it the pods for
/// which it has chosen a node that the API does not show yet.
///
/// In Kubernetes: `pkg/scheduler/backend/cache`.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    snapshot: Snapshot,
    pods: BTreeMap<ObjectKey, Placed>,
    nominations: BTreeMap<ObjectKey, (String, Arc<PodInfo>)>,
}

#[derive(Debug)]
struct Placed {
    node: String,
    pod: Arc<PodInfo>,
    assumed: bool,
}

impl Cache {
    /// Everything as one cycle sees it.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut snapshot = self.snapshot.clone();
        for (node, pod) in self.nominations.values() {
            snapshot.nominated.entry(node.clone()).or_default().push(pod.clone());
        }
        snapshot
    }

    /// A node is new or changed; gives it before and after, with its pods.
    pub(crate) fn set_node(&mut self, mut node: NodeInfo) -> (Option<Arc<NodeInfo>>, Arc<NodeInfo>) {
        let before = self.snapshot.nodes.get(&node.name).cloned();
        for placed in self.pods.values() {
            if placed.node == node.name {
                node.add(placed.pod.clone());
            }
        }
        let after = Arc::new(node);
        self.snapshot.nodes.insert(after.name.clone(), after.clone());
        (before, after)
    }

    /// A node is gone; its pods are remembered in case it comes back.
    pub(crate) fn remove_node(&mut self, name: &str) {
        self.snapshot.nodes.remove(name);
    }

    /// A namespace has these labels; none if it is gone.
    pub(crate) fn set_namespace(&mut self, name: &str, labels: Option<BTreeMap<String, String>>) {
        match labels {
            Some(labels) => self.snapshot.namespaces.insert(name.to_owned(), labels),
            None => self.snapshot.namespaces.remove(name),
        };
    }

    /// The API shows a pod on a node. True if that is news.
    pub(crate) fn place(&mut self, node: &str, pod: Arc<PodInfo>) -> bool {
        let known = self.pods.get(&pod.key).is_some_and(|placed| placed.node == node && *placed.pod == *pod);
        self.put(node, pod, false);
        !known
    }

    /// The scheduler has chosen a node for a pod, which counts there from now on.
    pub(crate) fn assume(&mut self, node: &str, pod: Arc<PodInfo>) {
        self.nominations.remove(&pod.key);
        self.put(node, pod, true);
    }

    /// The choice came to nothing.
    pub(crate) fn forget(&mut self, key: &ObjectKey) {
        if self.is_assumed(key) {
            self.remove(key);
        }
    }

    /// Whether the scheduler has chosen a node for this pod that the API does not show yet.
    pub(crate) fn is_assumed(&self, key: &ObjectKey) -> bool {
        self.pods.get(key).is_some_and(|placed| placed.assumed)
    }

    /// A pod is gone, or has finished; gives it if it was on a node.
    pub(crate) fn remove(&mut self, key: &ObjectKey) -> Option<Arc<PodInfo>> {
        self.nominations.remove(key);
        let placed = self.pods.remove(key)?;
        if let Some(node) = self.snapshot.nodes.get_mut(&placed.node) {
            Arc::make_mut(node).remove(key);
        }
        Some(placed.pod)
    }

    /// Room is being made for a pod on a node; none: no longer.
    pub(crate) fn nominate(&mut self, pod: Arc<PodInfo>, node: Option<String>) {
        match node {
            Some(node) => self.nominations.insert(pod.key.clone(), (node, pod)),
            None => self.nominations.remove(&pod.key),
        };
    }

    fn put(&mut self, node: &str, pod: Arc<PodInfo>, assumed: bool) {
        if let Some(before) = self.pods.get(&pod.key)
            && before.node != node
        {
            self.remove(&pod.key);
        }
        if let Some(node) = self.snapshot.nodes.get_mut(node) {
            Arc::make_mut(node).add(pod.clone());
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
        NodeInfo { name: name.to_owned(), ..NodeInfo::default() }
    }

    fn used(cache: &Cache, node: &str) -> i64 {
        cache.snapshot().nodes[node].requested.milli_cpu
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
        let (before, after) = cache.set_node(node("a"));
        assert_eq!((before, after.requested.milli_cpu), (None, 100));
        cache.remove_node("a");
        assert_eq!(cache.set_node(node("a")).1.pods.len(), 1);
    }

    #[test]
    fn what_the_api_shows_wins_over_the_choice() {
        let mut cache = Cache::default();
        cache.set_node(node("a"));
        cache.set_node(node("b"));
        cache.assume("a", pod("p"));
        assert!(cache.place("b", pod("p")));
        assert_eq!((used(&cache, "a"), used(&cache, "b")), (0, 100));
    }
}
