//! Simulated nodes: they register, say that they are alive, and let the pods that are bound to them live and end.
//!
//! ```text
//! informer of the pods of one node --> Pods::reconcile --next (pure)--> Runtime --pod_status (pure)--> patch of the status
//!     refusal (pure): is it taken?          |      \-- container, probes, image: one container on its way
//!     sources: ConfigMaps, Secrets ---------+--> program: what it says and when it ends
//!     volumes: what is to be mounted -------/
//!     static_pods: manifests of the node itself, and their mirrors in the API
//!                                          Machine: what runs, addresses, logs --NodeApi--> kubectl logs
//! ```
//! Start at [`Kubelet`]; `lifecycle` says how a pod goes from bound to gone, `container` how one of its containers does,
//! `status` and `telling` what is said of it, [`Behaviour`] and `program` what it does. [`Delays`] says how long things take.
//! Not here: which node a pod gets (`scheduler`), what happens when a node is silent (`controllers`).
//! In Kubernetes: `pkg/kubelet`. No containers are run.

mod addresses;
mod agent;
mod behaviour;
mod config;
mod container;
/// A simulated CSI driver.
pub mod csi;
mod eviction;
mod fetch;
mod fleet;
mod heartbeat;
mod hold;
mod image;
mod kubelet;
mod lifecycle;
mod machine;
mod measured;
mod mirrors;
mod mounted_files;
mod node;
mod node_api;
mod node_routes;
mod nodes;
mod orders;
mod place;
mod pod_key;
mod pods;
mod power_cut;
mod probes;
mod process_arguments;
mod program;
mod reach;
mod refusal;
mod registration;
mod relief;
mod remote_command;
mod resize;
mod resizing;
mod saved_nodes;
mod shutdown;
mod sources;
pub mod stages;
mod static_pods;
mod statistics;
mod status;
mod surroundings;
mod telling;
mod usage;
mod view;
mod volumes;
mod written;

pub use behaviour::Behaviour;
pub use config::{Config, Delays, NodeSpec};
pub use kubelet::Kubelet;
pub use node_api::{NodeApi, NodeApiBody};
pub use saved_nodes::{SavedNodes, SavedNodesError};
pub use static_pods::{Manifest, ManifestFolder, ManifestSource, MemoryManifests};
pub use usage::{ContainerReading, NodeReading, PodReading};
