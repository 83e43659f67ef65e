//! `resource.k8s.io/v1`: dynamic resource allocation.

mod admin_access;
mod bounded;
mod claim_spec;
mod claim_status;
mod configuration;
mod device;
pub(crate) mod device_class;
mod device_taint;
pub(crate) mod device_taint_rule;
mod naming;
mod network;
pub(crate) mod resource_claim;
pub(crate) mod resource_claim_template;
pub(crate) mod resource_slice;
mod selector;

const GROUP: &str = "resource.k8s.io";
