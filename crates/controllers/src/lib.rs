//! The controller-manager: everything that makes the cluster become what its objects say, a folder per controller.
//!
//! ```text
//! CONTROLLERS --start--> Controller (queue, workers) --reconcile--> decide (pure) --> writes through the API
//! ```
//! Start at [`run`]; a controller's `mod.rs` says what it watches and how a pass goes, its `decide.rs` what a pass
//! decides. [`Config`] has the flags.
//! What many share: `pod_control` (make and remove pods, with their events), `revisions` (a history of templates),
//! `conditions`, `selecting` (which selectors choose a pod), `index` (what belongs to an owner),
//! `served_kinds`, `scaled_kinds` (which kinds there are), `service_endpoints` (who is behind a Service), `volumes`.
//! Not here: queues, workers, caches, ownership, events (`controller-runtime`).
//! In Kubernetes: `cmd/kube-controller-manager` and `pkg/controller`.

mod address_block;
mod again;
mod conditions;
mod config;
mod controllers;
mod flags;
mod gathering;
mod hash;
mod identities;
mod index;
mod key_files;
mod keys;
mod names;
mod pod_control;
mod pods;
mod revisions;
mod scaled_kinds;
mod selecting;
mod served_kinds;
mod service_endpoints;
mod taints;
mod volumes;

mod certificates;
mod cluster_role_aggregation;
mod cronjob;
mod daemonset;
mod deployment;
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
mod taint_eviction;
mod ttl_after_finished;
mod validating_admission_policy_status;
mod volume_attributes_class_protection;

pub use address_block::{AddressBlock, NotABlock};
pub use config::{Autoscaling, Config};
/// What the controllers do, counted.
pub use coracle_controller_runtime::Metrics;

pub use controllers::{names, run};
pub use flags::FlagError;
pub use identities::Identities;
pub use key_files::{KeyFiles, SigningFiles};
pub use keys::{CertificateKey, CertificateKeys, CertificateOrder, SignsCertificates, SignsTokens, TokenKey};
