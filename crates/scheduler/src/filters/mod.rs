//! The filters, a file each, in the order in which they are asked; the first that rejects a node decides.

mod inter_pod_affinity;
mod node_affinity;
mod node_name;
mod node_ports;
mod node_resources_fit;
mod node_unschedulable;
mod pod_topology_spread;
mod taint_toleration;
mod volume_binding;

use crate::framework::{ClusterEvent, Filter, Hint};
use crate::pod_info::PodInfo;

pub(crate) use inter_pod_affinity::meant;
pub(crate) use node_resources_fit::verdict_beside;
pub(crate) use pod_topology_spread::interest;
pub use volume_binding::Placed;
pub(crate) use volume_binding::place;

/// All filters. Adding one is a file and a line here.
pub const FILTERS: &[&dyn Filter] = &[
    &node_unschedulable::NodeUnschedulable,
    &node_name::NodeName,
    &taint_toleration::TaintToleration,
    &node_affinity::NodeAffinity,
    &node_ports::NodePorts,
    &node_resources_fit::NodeResourcesFit,
    &volume_binding::VolumeBinding,
    &pod_topology_spread::PodTopologySpread,
    &inter_pod_affinity::InterPodAffinity,
];

/// What the filter called `name` thinks of an event, for a pod that it rejected.
pub(crate) fn hint(name: &str, pod: &PodInfo, event: &ClusterEvent) -> Hint {
    FILTERS.iter().find(|filter| filter.name() == name).map_or(Hint::Queue, |filter| filter.hint(pod, event))
}

/// The filters that may change their minds about a pod when something of this sort happens.
pub(crate) fn who_care_for(event: &ClusterEvent) -> Vec<&'static str> {
    FILTERS.iter().filter(|filter| filter.cares_for(event)).map(|filter| filter.name()).collect()
}
