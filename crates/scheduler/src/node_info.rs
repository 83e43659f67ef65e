use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::ObjectKey;

use crate::pod_info::PodInfo;
use crate::resources::Resources;
use crate::taints::Taint;

/// A node with the pods on it; what is large is shared, so that a copy on which to try something costs little.
///
/// In Kubernetes: `framework.NodeInfo`.
// Laid out as written: what is looked at of every node that is tried lies together, at the beginning.
#[repr(C)]
#[derive(Clone, Debug, PartialEq)]
pub struct NodeInfo {
    /// Where it stands in its snapshot.
    pub(crate) slot: usize,
    /// Whether it is not as the snapshot has it: what was counted there does not hold for it.
    pub(crate) is_supposed: bool,
    /// Whether it is cordoned.
    pub unschedulable: bool,
    /// Its taints.
    pub taints: Arc<[Taint]>,
    /// The pods on it, bound or about to be, by their keys; not the finished ones.
    pub pods: Vec<Arc<PodInfo>>,
    /// How many pods it takes.
    pub allowed_pods: i64,
    /// What it has for pods.
    pub allocatable: Resources,
    /// What its pods ask for, summed up.
    pub requested: Resources,
    /// What those of each priority ask for together, the lowest priority first.
    pub(crate) by_priority: Vec<Equals>,
    /// What its pods are taken to use, summed up.
    pub assumed: Resources,
    /// How many of its pods have pod affinity of any kind.
    pub with_affinity: usize,
    /// Its labels.
    pub labels: Arc<BTreeMap<String, String>>,
    /// The images that it has, with their sizes in bytes.
    pub images: Arc<BTreeMap<String, i64>>,
    /// Its name.
    pub name: Arc<str>,
}

/// The pods of one priority on a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Equals {
    pub(crate) priority: i32,
    pub(crate) pods: i64,
    pub(crate) requested: Resources,
}

impl Default for NodeInfo {
    fn default() -> Self {
        Self {
            name: Arc::from(""),
            labels: Arc::default(),
            taints: Arc::new([]),
            unschedulable: false,
            allocatable: Resources::default(),
            allowed_pods: 0,
            images: Arc::default(),
            pods: Vec::new(),
            requested: Resources::default(),
            assumed: Resources::default(),
            with_affinity: 0,
            by_priority: Vec::new(),
            slot: 0,
            is_supposed: false,
        }
    }
}

impl NodeInfo {
    /// Puts a pod on the node; one of the same name is replaced.
    pub fn add(&mut self, pod: Arc<PodInfo>) {
        self.remove(&pod.key);
        self.requested.add(&pod.requests);
        self.assumed.add(&pod.assumed);
        self.with_affinity += usize::from(pod.has_affinity());
        let at = self.by_priority.partition_point(|equals| equals.priority < pod.priority);
        if self.by_priority.get(at).is_none_or(|equals| equals.priority != pod.priority) {
            self.by_priority.insert(at, Equals { priority: pod.priority, ..Equals::default() });
        }
        self.by_priority[at].pods += 1;
        self.by_priority[at].requested.add(&pod.requests);
        let at = self.pods.partition_point(|other| other.key < pod.key);
        self.pods.insert(at, pod);
    }

    /// Takes a pod off the node.
    pub fn remove(&mut self, key: &ObjectKey) -> Option<Arc<PodInfo>> {
        let at = self.pods.binary_search_by(|other| other.key.cmp(key)).ok()?;
        let pod = self.pods.remove(at);
        self.requested.subtract(&pod.requests);
        self.assumed.subtract(&pod.assumed);
        self.with_affinity -= usize::from(pod.has_affinity());
        if let Ok(at) = self.by_priority.binary_search_by_key(&pod.priority, |equals| equals.priority) {
            self.by_priority[at].pods -= 1;
            self.by_priority[at].requested.subtract(&pod.requests);
            if self.by_priority[at].pods == 0 {
                self.by_priority.remove(at);
            }
        }
        Some(pod)
    }

    /// The pods whose own affinity may speak about others.
    pub fn pods_with_affinity(&self) -> impl Iterator<Item = &Arc<PodInfo>> {
        let pods = if self.with_affinity > 0 { self.pods.as_slice() } else { &[] };
        pods.iter().filter(|pod| pod.has_affinity())
    }

    /// A copy on which to try what would be if other pods were on it.
    pub(crate) fn supposed(&self) -> Self {
        Self { is_supposed: true, ..self.clone() }
    }

    /// This node with the pods of another.
    pub(crate) fn with_pods_of(mut self, other: &Self) -> Self {
        self.pods.clone_from(&other.pods);
        self.requested.clone_from(&other.requested);
        self.assumed.clone_from(&other.assumed);
        self.with_affinity = other.with_affinity;
        self.by_priority.clone_from(&other.by_priority);
        self
    }

    /// Whether the node itself, whatever is on it, is as the other.
    pub(crate) fn is_the_same_but_for_pods(&self, other: &Self) -> bool {
        (self.unschedulable, self.allowed_pods) == (other.unschedulable, other.allowed_pods)
            && self.name == other.name
            && self.labels == other.labels
            && self.taints == other.taints
            && self.allocatable == other.allocatable
            && self.images == other.images
    }

    #[cfg(test)]
    pub(crate) fn with_label(mut self, key: &str, value: &str) -> Self {
        Arc::make_mut(&mut self.labels).insert(key.to_owned(), value.to_owned());
        self
    }
}
