//! The pod workers: what is done in one sync of a node, and in one sync of a pod.

mod advance;
mod allocation_manager;
pub(crate) mod certificate_requests;
pub(crate) mod fetch;
mod finish;
mod issue_certificates;
mod mirrors;
pub(crate) mod pod_workers;
mod sync_node;
pub(crate) mod sync_pass;
mod sync_pod;
mod sync_stages;
