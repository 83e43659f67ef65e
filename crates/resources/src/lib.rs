//! The behaviour of each built-in kind: one file per kind, and one list of kinds.
//!
//! ```text
//! kinds() --one line each--> KindSpec { defaults, validation, columns, subresources, hooks } --> registry::Registry
//!                              ^ built_in(): row and schema in the table, defaults of shared types
//! ```
//! Start at [`kinds`], then read one kind, such as [`apps::deployment`](self); `registry::KindSpec` lists what a kind
//! can define.
//! Not here: the verbs (`registry`), types and merging (`schema`), admission plug-ins (`admission`), reviews and tokens
//! (`auth`), custom resources (`registry::custom`).

mod addresses;
mod bootstrap;
mod built_in;
mod config;
mod create_if_missing;
mod kinds;
mod kubernetes_service;

mod cells;
mod column_words;
mod conditions;
mod defaults;
mod field_checks;
mod image;
mod pem_block;
mod pod_condition;
mod pod_spec;
mod success_status;

mod admissionregistration;
mod aggregation;
mod api_service;
mod apps;
mod authentication_trust;
mod autoscaling;
mod batch;
mod certificates;
mod config_map_watch;
mod core;
mod events;
mod flowcontrol;
mod lease;
mod legacy_token_tracking;
mod networking;
mod policy;
mod priority_class;
mod rbac;
mod resource;
mod runtime_class;
mod server_controllers;
mod status_counts;
mod status_write;
mod storage;
mod storagemigration;
mod volume_claim_spec;

pub use aggregation::LocalApiServices;
pub use authentication_trust::{AuthenticationTrust, TrustedProxies};
pub use bootstrap::{bootstrap, kubernetes_service, service_cidr};
pub use config::Config;
pub use create_if_missing::{API_SERVER_MANAGER, create, create_if_missing};
pub use kinds::kinds;
pub use kubernetes_service::KubernetesService;
pub use server_controllers::{ServerControllers, StartTask};
