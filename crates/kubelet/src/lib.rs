//! Simulated nodes: they register, send heartbeats, and run the pods that are bound to them.
//!
//! ```text
//! informer of pods --> PodWorkers::reconcile --next (pure)--> Runtime --pod_status (pure)--> status_manager --> API
//!     refusal (pure): does the node admit it?  |    \-- container, probes, image: the lifecycle of one container
//!     ConfigMaps, Secrets ---------------------+--> container-programs: output, and when it ends
//!     volumes: what has to be mounted ---------/
//!     static_pods: manifests of the node itself, and their mirrors in the API
//!                                          Machine: what runs, addresses, logs --NodeApi--> kubectl logs
//! ```
//! Start at [`Kubelet`]. `sync_pod` and `sync_pass` sync a pod, `lifecycle` is the state machine of a pod, and
//! `container` that of a container. `status`, `status_manager` and `pod_events` report what happens, and
//! `eviction_manager` evicts pods. [`Behaviour`] and the crate `container-programs` define what containers do, [`Delays`] how long it takes.
//!
//! Not here: which node a pod is bound to (`scheduler`), what happens when a node is unreachable (`controllers`).
//! In Kubernetes: `pkg/kubelet`. No containers are run.

mod addresses;
mod agent;
mod allocation_manager;
mod behaviour;
mod config;
mod container;
mod container_place;
mod container_runs;
mod eviction;
mod eviction_manager;
mod exec_context;
mod fetch;
mod fleet;
mod heartbeat;
mod image;
mod kubelet;
mod lifecycle;
mod machine;
mod mirrors;
mod node;
mod node_routes;
mod node_server;
mod node_switches;
mod nodes;
mod out_of_memory;
mod pod_context;
mod pod_events;
mod pod_key;
mod pod_view;
mod pod_workers;
mod power_cut;
mod probes;
mod refusal;
mod registration;
mod remote_command;
mod resize;
mod saved_nodes;
mod shutdown;
mod static_pods;
mod status;
mod status_manager;
mod sync_pass;
mod sync_pod;
mod volumes;
mod waiting_reason;

pub use behaviour::Behaviour;
pub use config::{Config, Delays, NodeSpec};
pub use coracle_node_usage::{ContainerReading, NodeReading, PodReading};
pub use kubelet::Kubelet;
pub use node_server::{NodeApi, NodeApiBody};
pub use saved_nodes::{SavedNodes, SavedNodesError};
pub use static_pods::{Manifest, ManifestFolder, ManifestSource, MemoryManifests};
