//! The Kubernetes control plane as a library: a cluster in a test, without a socket, a port or a file.
//!
//! ```text
//! run_virtual(seed, |cluster| ..)  or  Cluster::builder().nodes(2).start().await
//!     \--service()--> a tower service: kube::Client (feature `kube`), our own client, any other
//! ```
//! ```
//! use coracle::api::apps_v1::ReplicaSet;
//! use coracle::runtime::{Api, ListParams};
//!
//! coracle::run_virtual(1, async |cluster| {
//!     let sets: Api<ReplicaSet> = Api::of(&cluster.api_client());
//!     assert!(sets.list(&ListParams::default()).await.unwrap().items.is_empty());
//! })
//! .unwrap();
//! ```
//! Start at [`Cluster`] and [`run_virtual`]. By default no sockets, no TLS, no store on disk, no gRPC.
//! Not here: anything of its own; all of it is in the crates that this one re-exports.

mod cluster;

pub use cluster::{Builder, Cluster, run_virtual};
pub use coracle_ambient::{Ambient, Timestamp};
pub use coracle_api as api;
pub use coracle_cluster::{ApiServerSpec, Component, Delays, Error, NodeSpec, StoreSpec, Transport, User};
pub use coracle_journal as journal;
pub use coracle_meta as meta;
pub use coracle_scenario::{self as scenario, Scenario};
pub use coracle_sim as simulation;

/// What controllers are built of, as in client-go: informers, work queues, reconcilers, and the client beneath them.
pub mod runtime {
    pub use coracle_client::*;
    pub use coracle_controller_runtime as controller;
    pub use coracle_informer as informer;
    pub use coracle_workqueue as workqueue;
}
