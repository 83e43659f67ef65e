//! The simulated usage of a node and its containers: from annotations to readings, and to the endpoints that show them.
//!
//! ```text
//! annotations, requests --Usage--> UsageProfile: how much, by age --Meter: one run--> Meters of a node --> NodeReading
//! NodeReading, Node, pods --Statistics--> /stats/summary, /metrics/resource, /metrics/cadvisor, /metrics
//! ```
//! Start at [`Meters`] and [`Statistics`]. There is no sampling: a [`Meters`] is read for a moment, and computes the value
//! of the counter then. All of it is synchronous and free of side effects outside of the meters.
//! In Kubernetes: what cAdvisor or the container runtime measures, and `pkg/kubelet/server/stats`.
//!
//! Not here: which runs are counted, and the HTTP server (`kubelet`); metrics.k8s.io (`cluster`).

mod meter;
mod meters;
mod reading;
mod statistics;
mod usage;
mod usage_profile;

pub use meters::{ContainerRun, Meters};
pub use reading::{ContainerReading, NodeReading, PodReading};
pub use statistics::{MOST_PIDS, Statistics, cadvisor, kubelet_metrics, resource_metrics, summary};
pub use usage::{exceeds_memory, has_usage_annotations};
