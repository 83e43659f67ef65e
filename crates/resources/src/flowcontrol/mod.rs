//! `flowcontrol.apiserver.k8s.io/v1`. Requests are sorted by the objects, and not queued.

mod dangling;
mod every_cluster_has;
pub(crate) mod flow_schema;
mod flow_table;
pub(crate) mod priority_level_configuration;

pub(crate) use every_cluster_has::every_cluster_has;
pub(crate) use flow_table::{ByFlowTable, FlowTable, flow_table, write_conditions};

use coracle_meta::GroupVersionResource;

const GROUP: &str = "flowcontrol.apiserver.k8s.io";

fn flow_schemas() -> GroupVersionResource {
    GroupVersionResource::new(GROUP, "v1", "flowschemas")
}
