//! The controller-manager: reconciles the cluster with its objects, one folder per controller.
//!
//! ```text
//! CONTROLLERS --start--> Controller (queue, workers) --reconcile--> decide (pure) --> writes through the API
//! ```
//! Start at [`run`]; a controller's `mod.rs` describes what it watches and the steps of a pass, its `decide.rs` what
//! a pass decides. [`Config`] holds the settings; the program parses its flags into it. Shared by many controllers: `pod_control` (create and delete pods,
//! with their events), `revisions` (the history of templates), `conditions`, `selecting` (which selectors match a
//! pod), `index` (the objects of an owner), `served_kinds`, `scaled_kinds` (discovery), `service_endpoints` (the
//! endpoints of a Service), `volumes`. Not here: queues, workers, caches, ownership, events (`controller-runtime`).
//! In Kubernetes: `cmd/kube-controller-manager` and `pkg/controller`.

mod again;
mod conditions;
mod config;
mod config_error;
mod controller_set;
mod controllers;
mod gathering;
mod hash;
mod identities;
mod index;
mod keys;
mod names;
mod pod_control;
mod pods;
mod revisions;
mod run;
mod scaled_kinds;
mod selecting;
mod selection;
mod served_kinds;
mod service_endpoints;
mod stale_pods;
mod taints;
mod volumes;

mod certificates;
mod cluster_role_aggregation;
mod cluster_trust_bundle_publisher;
mod cronjob;
mod daemonset;
mod deployment;
mod device_taint_eviction;
mod disruption;
mod endpoint_slice;
mod endpoint_slice_mirroring;
mod endpoints;
mod ephemeral_volume;
mod garbage_collector;
mod horizontal_pod_autoscaler;
mod job;
mod legacy_token_cleaner;
mod namespace;
mod node_ipam;
mod node_lifecycle;
mod node_ttl;
mod persistent_volume;
mod persistent_volume_attach_detach;
mod persistent_volume_claim_protection;
mod persistent_volume_expander;
mod persistent_volume_protection;
mod pod_gc;
mod replicaset;
mod resource_claim;
mod resource_quota;
mod root_ca;
mod service_account_tokens;
mod service_accounts;
mod service_cidr;
mod service_lb;
mod statefulset;
mod storage_version_migrator;
mod taint_eviction;
mod ttl_after_finished;
mod validating_admission_policy_status;
mod volume_attributes_class_protection;

pub use config::{Autoscaling, Config};
pub use config_error::ConfigError;
/// Metrics of the controllers.
pub use coracle_controller_runtime::ControllerMetrics;

pub use controller_set::ControllerSet;
pub use identities::{Identities, Identity, Lifetime};
pub use keys::{CertificateKey, CertificateKeys, CertificateOrder, SignsCertificates, TokenKey};
pub use names::{component_called, component_names, names};
pub use run::run;
pub use selection::{Selection, SelectionError};
