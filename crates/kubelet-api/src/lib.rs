//! The interfaces between a simulated kubelet and what is plugged into it. Neither side depends on the other.
//!
//! ```text
//! kubelet --StagedKinds--> stages: which kinds have Stages, what usage objects state
//! volume-manager --DriversStore: by name--> NodeService --> csi-driver: what a CSI driver does on a node
//! ```
//! Start at [`NodeService`] and [`StagedKinds`]. [`save_format`] is the serialized form of what nodes save.
//!
//! In Kubernetes: `k8s.io/kubelet`, and the node service of the Container Storage Interface.

mod drivers_store;
mod node_service;
/// The serialized form of times and keys in the saved state of nodes.
pub mod save_format;
mod simulated_node;
mod staged_kinds;
mod usage_override;

pub use drivers_store::DriversStore;
pub use node_service::{CallEnd, CallResult, NodeCall, NodeService, VolumeContext};
pub use simulated_node::{SIMULATED, is_simulated};
pub use staged_kinds::StagedKinds;
pub use usage_override::{UsageOverride, UsageOverrides};
