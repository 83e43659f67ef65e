//! The built-in kinds as Rust types, a module per group version: `api::core_v1::Pod`, `api::apps_v1::ReplicaSet`.
//!
//! ```text
//! schema table --cargo xtask api--> generated/*.rs (lean structs) + accessors by hand
//! ```
//! As in Go, a field that Go holds by value is a value (`pod.spec.node_name` is empty where no node is given), and a
//! field behind a pointer is an `Option`. What is absent costs a pointer at most; what a type does not know is kept in
//! `unknown`, so that a PUT loses nothing. Times are RFC 3339 texts (`meta::parse_time`), bytes are base64.
//! Not here: how objects are checked, defaulted or merged (`schema`, `resources`).

mod device_taints;
#[expect(missing_docs, reason = "names and meanings are Kubernetes' own: `kubectl explain` shows them")]
mod generated;
mod label_selector;
mod node;
mod node_selector;
mod pod;
pub mod pod_references;
pub mod pod_resources;
mod pod_secrets;
pub mod quota_usage;
mod resource;
mod scalable;
mod toleration;
mod volume_matching;

pub use generated::*;
pub use node_selector::{NodeTerm, allows_node};
pub use pod::controller_of;
