use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_api::core_v1::Taint;
use coracle_meta::ObjectKey;

use crate::pod_info::PodInfo;
use crate::resources::Resources;

/// A node with the pods on it; large parts are shared, so that a copy for a trial is cheap.
///
/// In Kubernetes: `framework.NodeInfo`.
// The field order is the memory layout: the fields that every check reads are together at the beginning.
#[repr(C)]
#[derive(Clone, Debug, PartialEq)]
pub struct NodeInfo {
    /// Its slot in the snapshot.
    pub(crate) slot: usize,
    /// Whether it differs from the snapshot, whose counts then do not apply to it.
    pub(crate) is_supposed: bool,
    /// Whether it is cordoned.
    pub unschedulable: bool,
    /// Its taints, without their times.
    pub taints: Arc<[Taint]>,
    /// The pods on it, bound or assumed, sorted by key; without finished ones.
    pub pods: Vec<Arc<PodInfo>>,
    /// The maximum number of pods.
    pub allowed_pods: i64,
    /// Its allocatable resources.
    pub allocatable: Resources,
    /// The sum of its pods' requests.
    pub requested: Resources,
    /// The sum of requests of each priority, the lowest priority first.
    pub(crate) by_priority: Vec<Equals>,
    /// The sum of its pods' requests, with defaults for missing ones.
    pub assumed: Resources,
    /// How many of its pods have pod affinity or anti-affinity.
    pub with_affinity: usize,
    /// Its labels.
    pub labels: Arc<BTreeMap<String, String>>,
    /// The images on it, with their sizes in bytes.
    pub images: Arc<BTreeMap<String, i64>>,
    /// The features that it declares.
    pub declared_features: Arc<[String]>,
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
            declared_features: Arc::new([]),
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
    /// Adds a pod, or replaces the one with the same key.
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

    /// Removes a pod.
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

    /// The pods with pod affinity or anti-affinity.
    pub fn pods_with_affinity(&self) -> impl Iterator<Item = &Arc<PodInfo>> {
        let pods = if self.with_affinity > 0 { self.pods.as_slice() } else { &[] };
        pods.iter().filter(|pod| pod.has_affinity())
    }

    /// A copy for a trial with other pods.
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

    /// Whether the two nodes are equal except for their pods.
    pub(crate) fn is_the_same_but_for_pods(&self, other: &Self) -> bool {
        (self.unschedulable, self.allowed_pods) == (other.unschedulable, other.allowed_pods)
            && self.name == other.name
            && self.labels == other.labels
            && self.taints == other.taints
            && self.allocatable == other.allocatable
            && self.images == other.images
            && self.declared_features == other.declared_features
    }

    #[cfg(test)]
    pub(crate) fn with_label(mut self, key: &str, value: &str) -> Self {
        Arc::make_mut(&mut self.labels).insert(key.to_owned(), value.to_owned());
        self
    }
}
