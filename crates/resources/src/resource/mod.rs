//! `resource.k8s.io/v1`: dynamic resource allocation.

mod admin_access;
mod binding_conditions;
mod bounded;
mod claim_spec;
mod claim_status;
mod configuration;
mod counters;
mod device;
pub(crate) mod device_class;
mod device_taint;
pub(crate) mod device_taint_rule;
mod naming;
mod network;
mod places;
mod request_policy;
pub(crate) mod resource_claim;
pub(crate) mod resource_claim_template;
pub(crate) mod resource_slice;
mod selector;
mod status_permission;

const GROUP: &str = "resource.k8s.io";
