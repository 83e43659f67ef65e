//! The scheduler: gives each pod a node.
//!
//! ```text
//! informers --> SchedulingQueue --pop--> cycle: filters, scores --> Choice --> binding
//!                    ^                        |
//!                    +---- rejected <---------+--> preemption --> victims
//! ```
//! Start at [`schedule`]: one pod, one snapshot, one choice, no I/O. [`SchedulingQueue`] decides whose turn it is, and
//! [`run`] is the loop around both.
//! Not here: what a pod or a node is (`api`), whether a binding is accepted (the API server).
//! In Kubernetes: `pkg/scheduler`. The names are the same; volumes, resource claims and extenders are absent.

mod budgets;
mod cache;
mod cycle;
mod filters;
mod framework;
mod message;
mod node_affinity;
mod node_info;
mod pod_info;
mod preemption;
mod queue;
mod read;
mod resources;
mod scheduler;
mod scores;
mod siblings;
mod status;
mod taints;
mod volumes;
mod watch;

pub use cycle::{Choice, Failure, Unfit, schedule};
pub use filters::FILTERS;
pub use framework::{Check, ClusterEvent, Filter, Hint, Score, Verdict};
pub use message::FitError;
pub use node_info::{NodeInfo, Snapshot};
pub use pod_info::{AffinityTerm, HostPort, NodeSelectorTerm, PodInfo, SpreadConstraint};
pub use preemption::{Budget, Victims, preempt};
pub use queue::{QueuedPod, SchedulingQueue, Waiting};
pub use read::{node_info, pod_info};
pub use resources::Resources;
pub use scheduler::{Config, run};
pub use scores::SCORES;
pub use taints::{Taint, Toleration};
