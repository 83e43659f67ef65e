//! The control of a running server from outside: its clock, resets, snapshots, forks, event log and checks.
//!
//! ```text
//! Listener (the machine's time) --> Slot --Relay--> the runtime of the cluster: API server
//!                                     |                  \--/coracle/v1/…, authorized as coracle.dev--> api
//!                                     \--while a reset runs: 503, Retry-After
//! api --> ControlledCluster: advance, settle, snapshot, reset, fork, check --> Generation (one start of the cluster)
//! ```
//! Start at [`ControlledCluster`]. In Kubernetes there is no such endpoint: envtest starts another control plane instead.
//! Not here: sockets and flags (`cli`), virtual time itself (`sim::SteppedClock`), faults (`scenario::RunningFaults`).

mod access;
mod api;
mod cluster_time;
mod controlled_cluster;
mod end_signal;
mod error;
mod event_log;
mod followed_world;
mod generation;
mod kind_names;
mod path_service;
mod paths;
mod relay;
mod slot;
mod snapshots;
mod start;

pub use access::coracle_dev;
pub use api::{FAULTS_BODY, FAULTS_PATH, faults_in_front_of, json, transport};
pub use cluster_time::ClusterTime;
pub use controlled_cluster::{ControlOptions, ControlledCluster, Fork, ForkFrom, ForkListener};
pub use error::Error;
pub use generation::Generation;
pub use kind_names::with_plural_kind;
pub use path_service::in_front_of;
pub use paths::PREFIX;
pub use snapshots::{ClusterSnapshot, START};
pub use start::{Launcher, Listening, Start, Started};
