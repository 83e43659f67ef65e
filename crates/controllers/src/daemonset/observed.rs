//! The observed state of a set.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::apps_v1::DaemonSet;
use coracle_api::core_v1::{Node, Pod};
use coracle_meta::{IntOrString, Rounding};

use super::placement::{Placement, Placing};
use super::template::{is_updated, target_node};
use crate::pods::{Availability, availability};

/// A set, its pods by node, and whether each node should run one.
#[derive(Clone, Debug)]
pub(super) struct ObservedDaemonSet {
    pub(super) set: Arc<DaemonSet>,
    /// The hash of the template.
    pub(super) hash: String,
    /// Whether each node, by name, should run a pod.
    pub(super) placements: BTreeMap<String, Placement>,
    /// The set's pods, by the node that they run on or are meant for. Finished pods that are being deleted are left
    /// out.
    pub(super) pods: BTreeMap<String, Vec<Arc<Pod>>>,
    pub(super) now: Timestamp,
}

impl ObservedDaemonSet {
    pub(super) fn new(
        set: Arc<DaemonSet>,
        hash: String,
        nodes: &[Arc<Node>],
        claimed: &[Arc<Pod>],
        now: Timestamp,
    ) -> Self {
        let placing = Placing::of(&set);
        let name = |node: &Node| node.metadata.name.clone().unwrap_or_default();
        let placements = nodes.iter().map(|node| (name(node), placing.on(node))).collect();
        let mut pods: BTreeMap<String, Vec<Arc<Pod>>> = BTreeMap::new();
        for pod in claimed.iter().filter(|pod| !(pod.is_finished() && pod.is_terminating())) {
            if let Some(node) = target_node(pod) {
                pods.entry(node.to_owned()).or_default().push(pod.clone());
            }
        }
        // Bound pods first, then the oldest.
        let order = |pod: &Arc<Pod>| {
            let meta = &pod.metadata;
            (pod.node_name().is_none(), meta.creation_timestamp.clone(), meta.name.clone())
        };
        pods.values_mut().for_each(|pods| pods.sort_by_key(order));
        Self { set, hash, placements, pods, now }
    }

    /// How many nodes should run a pod.
    pub(super) fn desired(&self) -> i32 {
        self.placements.values().filter(|placement| **placement == Placement::Run).count() as i32
    }

    pub(super) fn is_updated(&self, pod: &Pod) -> bool {
        is_updated(pod, &self.set, &self.hash)
    }

    pub(super) fn availability(&self, pod: &Pod) -> Availability {
        availability(pod, self.set.spec.min_ready_seconds, self.now)
    }

    pub(super) fn is_available(&self, pod: &Pod) -> bool {
        self.availability(pod) == Availability::Available
    }

    /// How many nodes, of `desired`, may have a second pod during an update.
    pub(super) fn surge(&self, desired: i32) -> i32 {
        self.of_update(desired, |update| update.max_surge.as_ref())
    }

    /// On how many nodes, of `desired`, the pod may be unavailable during an update.
    pub(super) fn max_unavailable(&self, desired: i32) -> i32 {
        self.of_update(desired, |update| update.max_unavailable.as_ref())
    }

    /// Rounded up, unlike the unavailability of a Deployment.
    fn of_update(
        &self,
        desired: i32,
        field: impl Fn(&coracle_api::apps_v1::RollingUpdateDaemonSet) -> Option<&IntOrString>,
    ) -> i32 {
        let strategy = &self.set.spec.update_strategy;
        let update = strategy.rolling_update.as_deref().filter(|_| strategy.type_ == "RollingUpdate");
        update.and_then(field).and_then(|bound| bound.scaled(desired, Rounding::Up)).unwrap_or(0)
    }
}
