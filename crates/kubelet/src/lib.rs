//! Simulated nodes: they register, say that they are alive, and let the pods that are bound to them live and end.
//!
//! ```text
//! informer of the pods of one node --> Pods::reconcile --next (pure)--> Runtime --pod_status (pure)--> patch of the status
//!                                          Machine: what runs, addresses, logs --NodeApi--> kubectl logs
//! ```
//! Start at [`Kubelet`]; `lifecycle` says how a pod goes from bound to gone, `status` what is said of it, [`Behaviour`]
//! what its annotations make it do. [`Delays`] says how long things take.
//! Not here: which node a pod gets (`scheduler`), what happens when a node is silent (`controllers`).
//! In Kubernetes: `pkg/kubelet`. No containers are run.

mod addresses;
mod agent;
mod behaviour;
mod config;
mod kubelet;
mod lifecycle;
mod machine;
mod node;
mod node_api;
mod pods;
mod status;

pub use behaviour::Behaviour;
pub use config::{Config, Delays, NodeSpec};
pub use kubelet::Kubelet;
pub use node_api::{NodeApi, NodeApiBody};
