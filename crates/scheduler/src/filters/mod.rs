//! The filters, a file each.

pub(crate) mod dynamic_resources;
pub(crate) mod inter_pod_affinity;
pub(crate) mod node_affinity;
pub(crate) mod node_declared_features;
pub(crate) mod node_name;
pub(crate) mod node_ports;
pub(crate) mod node_resources_fit;
pub(crate) mod node_unschedulable;
pub(crate) mod node_volume_limits;
pub(crate) mod pod_topology_spread;
pub(crate) mod taint_toleration;
pub(crate) mod volume_binding;
pub(crate) mod volume_restrictions;
pub(crate) mod volume_zone;

pub(crate) use dynamic_resources::to_allocate;
pub(crate) use inter_pod_affinity::meant;
pub(crate) use pod_topology_spread::interest;
pub use volume_binding::{Lack, Placed};
pub(crate) use volume_binding::{has_room, place};
pub(crate) use volume_zone::ZONE_LABELS;
