//! The scheduler: selects a node for each pod.
//!
//! ```text
//! informers --> SchedulingQueue --pop--> cycle: filters, scores --> Choice --> binding
//!                    ^                        |
//!                    +---- rejected <---------+--> preemption --> victims
//! ```
//! Start at [`schedule`]: one pod, one snapshot, one choice, no I/O. [`SchedulingQueue`] orders the pods, [`SchedulerState`]
//! combines both with the state from informers, and [`run`] is the loop around it that talks to the API server. Not
//! here: what a pod or a node is (`api`), whether a binding is accepted (the API server). In Kubernetes:
//! `pkg/scheduler`. The names are the same; extenders are not implemented.

mod arguments;
mod assumed;
mod attachable;
mod bind_claims;
mod budgets;
mod cache;
mod candidate;
mod checks;
mod config;
mod configuration;
mod cycle;
mod devices;
mod filters;
mod framework;
mod in_flight;
mod memo;
mod message;
mod metrics;
mod needed_features;
mod node_affinity;
mod node_info;
mod owned_terms;
mod plugins;
mod pod_info;
mod preemption;
mod profile;
mod queue;
mod read;
mod reserved;
mod resources;
mod scheduler;
mod scores;
mod siblings;
mod snapshot;
mod state;
mod status;
mod taints;
mod tally;
mod volumes;
mod watch;
mod watch_devices;
mod watch_volumes;

pub use assumed::Assumed;
pub use config::Config;
pub use configuration::{Configuration, ConfigurationError};
pub use cycle::{Choice, SchedulingFailure, Unfit, schedule};
pub use filters::{Lack, Placed};
pub use framework::{ClusterEvent, Filter, FilterVerdict, Hint, LooksAt, PreparedFilter, Reason, Reasons, Score};
pub use message::FitError;
pub use metrics::SchedulerMetrics;
pub use node_info::NodeInfo;
pub use pod_info::{
    AffinityTerm, Bound, Disk, HostPort, PodClaims, PodInfo, PodVolumes, SpreadConstraint, StorageRoom, Unbound,
    VolumeInfo,
};
pub use preemption::{Budget, Victims, preempt};
pub use profile::Profile;
pub use queue::{Backoff, QueuedPod, SchedulingQueue, Waiting};
pub use read::{node_info, pod_info};
pub use reserved::{Reserved, ReservedClaim};
pub use resources::Resources;
pub use scheduler::run;
pub use snapshot::Snapshot;
pub use state::{Attempt, Room, SchedulerState, SchedulingDecision, Surroundings};
