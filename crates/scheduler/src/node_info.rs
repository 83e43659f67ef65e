use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::ObjectKey;

use crate::pod_info::PodInfo;
use crate::resources::Resources;
use crate::taints::Taint;

/// A node with the pods on it. In Kubernetes: `framework.NodeInfo`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeInfo {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its taints.
    pub taints: Vec<Taint>,
    /// Whether it is cordoned.
    pub unschedulable: bool,
    /// What it has for pods.
    pub allocatable: Resources,
    /// How many pods it takes.
    pub allowed_pods: i64,
    /// The images that it has, with their sizes in bytes.
    pub images: BTreeMap<String, i64>,
    /// The pods on it, bound or about to be; not the finished ones.
    pub pods: BTreeMap<ObjectKey, Arc<PodInfo>>,
    /// What those ask for, summed up.
    pub requested: Resources,
    /// What those are taken to use, summed up.
    pub assumed: Resources,
    /// How many of those have pod affinity of any kind.
    pub with_affinity: usize,
}

impl NodeInfo {
    /// Puts a pod on the node; one of the same name is replaced.
    pub fn add(&mut self, pod: Arc<PodInfo>) {
        self.remove(&pod.key);
        self.requested.add(&pod.requests);
        self.assumed.add(&pod.assumed);
        self.with_affinity += usize::from(pod.has_affinity());
        self.pods.insert(pod.key.clone(), pod);
    }

    /// Takes a pod off the node.
    pub fn remove(&mut self, key: &ObjectKey) -> Option<Arc<PodInfo>> {
        let pod = self.pods.remove(key)?;
        self.requested.subtract(&pod.requests);
        self.assumed.subtract(&pod.assumed);
        self.with_affinity -= usize::from(pod.has_affinity());
        Some(pod)
    }

    /// The pods whose own affinity may speak about others.
    pub fn pods_with_affinity(&self) -> impl Iterator<Item = &Arc<PodInfo>> {
        self.pods.values().filter(|pod| self.with_affinity > 0 && pod.has_affinity())
    }

    #[cfg(test)]
    pub(crate) fn with_label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }
}

/// All nodes and pods at one moment: what one scheduling cycle sees.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The nodes by name.
    pub nodes: BTreeMap<String, Arc<NodeInfo>>,
    /// The labels of the namespaces.
    pub namespaces: BTreeMap<String, BTreeMap<String, String>>,
    /// Pods for which room is being made, by the node where.
    pub nominated: BTreeMap<String, Vec<Arc<PodInfo>>>,
}

static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();

impl Snapshot {
    /// The labels of a namespace; none if it is not known.
    pub fn namespace_labels(&self, namespace: &str) -> &BTreeMap<String, String> {
        self.namespaces.get(namespace).unwrap_or(&NO_LABELS)
    }

    /// The same with one node replaced.
    #[must_use]
    pub fn with_node(&self, node: NodeInfo) -> Self {
        let mut changed = self.clone();
        changed.nodes.insert(node.name.clone(), Arc::new(node));
        changed
    }
}
