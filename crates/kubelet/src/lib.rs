//! Simulated nodes: they register, send heartbeats, and run the pods that are bound to them.
//!
//! ```text
//! informer of pods --> PodWorkers::reconcile --> sync_node: manifests, eviction manager
//!                            \--> sync_pod: a row of stages over a SyncPass
//!     resolve sources: ConfigMaps, Secrets      admit: refusal (pure)      sync volumes: volume-manager
//!     advance: next (pure) --> Runtime of the Machine    report: events, pod_status (pure) --> status_manager --> API
//! Machine: what runs, addresses, logs --NodeApi--> kubectl logs
//! ```
//! Start at [`Kubelet`]. `sync/sync_pod` holds the stages of one sync of a pod, `pod/lifecycle` the state machine of a
//! pod, and `pod/container` that of a container. `node` holds nodes and their machines, `status` reports what happens,
//! `eviction` evicts pods, `volumes` mounts volumes, `certificates` has pod certificates and trust anchors, `static_pods` reads manifests, and `server` is the kubelet's API.
//! [`Images`], [`Behaviour`] and the crate `container-programs` define what containers do, [`Delays`] how long it takes.
//!
//! Not here: which node a pod is bound to (`scheduler`), what happens when a node is unreachable (`controllers`), how
//! Stages replace the lifecycle of pods (`stages`), CSI drivers (`csi-driver`).
//! In Kubernetes: `pkg/kubelet`. No containers are run.

mod certificates;
mod config;
mod eviction;
mod fleet;
mod images;
mod kubelet;
mod node;
mod pod;
mod server;
mod static_pods;
mod status;
mod sync;
mod volumes;

pub use config::{Config, Delays, NodeSpec};
pub use coracle_node_usage::{ContainerReading, NodeReading, PodReading};
pub use images::Images;
pub use kubelet::Kubelet;
pub use node::node_switches::{NodeSwitch, SwitchedNode};
pub use node::saved_nodes::{SavedNodes, SavedNodesError};
pub use pod::behaviour::Behaviour;
pub use server::node_server::{NodeApi, NodeApiBody};
pub use static_pods::{Manifest, ManifestFolder, ManifestSource, MemoryManifests};
