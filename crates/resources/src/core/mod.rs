//! The core group, `v1`.

pub(crate) mod binding;
pub(crate) mod component_status;
pub(crate) mod config_map;
pub(crate) mod endpoints;
pub(crate) mod event;
pub(crate) mod limit_range;
pub(crate) mod namespace;
pub(crate) mod node;
mod node_proxy;
pub(crate) mod persistent_volume;
pub(crate) mod persistent_volume_claim;
pub(crate) mod pod;
pub(crate) mod pod_connect;
pub(crate) mod pod_resources;
pub(crate) mod pod_table;
pub(crate) mod pod_template;
pub(crate) mod pod_validation;
pub(crate) mod pod_views;
mod quota_scopes;
pub(crate) mod replication_controller;
pub(crate) mod resource_quota;
pub(crate) mod secret;
pub(crate) mod service;
pub(crate) mod service_account;
pub(crate) mod service_allocation;
mod service_needs;
mod service_validation;
