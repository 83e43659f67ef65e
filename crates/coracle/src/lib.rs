//! The Kubernetes control plane as a library: a cluster in a test, without a socket, a port or a file.
//!
//! ```text
//! run_virtual(seed, |cluster| ..)  or  Cluster::builder().nodes(2).start().await
//!     |--service()--> a tower service: kube::Client (feature `kube`), this project's client, any other
//!     |--until(..), settle()--> waits on the cluster's own clock, without a sleep
//!     \--report_on_failure(path)--> the page of a test that failed
//! ```
//! # Three examples
//! **A test in virtual time.** The test creates a Deployment, waits until nothing moves, and looks at the result.
//!
//! ```
//! use coracle::api::apps_v1::Deployment;
//! use coracle::api::core_v1::Pod;
//! use coracle::prelude::*;
//! use coracle::runtime::{Api, ListParams};
//! use serde_json::json;
//!
//! coracle::run_virtual(1, async |cluster| {
//!     let web: Deployment = serde_json::from_value(json!({
//!         "metadata": {"namespace": "default", "name": "web"},
//!         "spec": {
//!             "replicas": 3, "selector": {"matchLabels": {"app": "web"}},
//!             "template": {
//!                 "metadata": {"labels": {"app": "web"}},
//!                 "spec": {"containers": [{"name": "web", "image": "nginx"}]},
//!             },
//!         },
//!     }))
//!     .unwrap();
//!     Api::of(&cluster.api_client()).create(&web).await.unwrap();
//!     cluster.settle().await.unwrap();
//!     let pods = Api::<Pod>::of(&cluster.api_client()).list(&ListParams::default()).await.unwrap();
//!     assert_eq!(pods.items.iter().filter(|pod| pod.phase() == "Running").count(), 3);
//! })
//! .unwrap();
//! ```
//! **A wait for one condition, and a page for a test that fails.** The wait ends at the revision at which the condition
//! holds. If it does not hold in time, the error contains the object that was seen last.
//!
//! ```
//! use std::time::Duration;
//!
//! use coracle::Cluster;
//! use coracle::api::core_v1::Node;
//! use coracle::meta::ObjectKey;
//! use coracle::prelude::*;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! # let folder = std::env::temp_dir();
//! let builder = Cluster::builder().nodes(2).report_on_failure(folder.join("a_node_becomes_ready.html"));
//! let cluster = builder.start().await.unwrap();
//! let (node, minute) = (ObjectKey::cluster("node-1"), Duration::from_secs(60));
//! cluster.until_object::<Node>(&node, minute, |node| node.is_some_and(Node::is_ready)).await.unwrap();
//!
//! let error = cluster.until_object::<Node>(&node, Duration::from_secs(5), |node| node.is_none()).await.unwrap_err();
//! assert!(error.to_string().starts_with("the condition did not hold after 5s"), "{error}");
//! assert!(error.last_seen.contains("node-1"), "{error}");
//! # }
//! ```
//! **A controller with its event log.** [`runtime`] has client-go's parts; the [`journal`] names what caused each step.
//!
//! ```
//! use coracle::Cluster;
//! use coracle::api::core_v1::{ConfigMap, Namespace};
//! use coracle::journal::{EntryId, Recorder, Stage};
//! use coracle::meta::ObjectKey;
//! use coracle::prelude::*;
//! use coracle::runtime::Api;
//! use coracle::runtime::controller::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of};
//!
//! /// Gives every namespace a ConfigMap `settings`.
//! struct Settings;
//!
//! impl Reconciler for Settings {
//!     async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
//!         let settings = ObjectKey::new(&key.name, "settings");
//!         if pass.api::<ConfigMap>().find(&settings).await?.is_none() {
//!             let mut map = ConfigMap::default();
//!             (map.metadata.namespace, map.metadata.name) = (Some(settings.namespace), Some(settings.name));
//!             pass.api().create(&map).await?;
//!         }
//!         Ok(Action::Done)
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let cluster = Cluster::builder().api_server_only().start().await.unwrap();
//! let recorder = Recorder::ring(10_000);
//! let process = Process::new("settings", &cluster.api_client(), cluster.ambient(), &recorder);
//! let namespaces = process.informers.informer::<Namespace>();
//! let controller = Controller::new(&process, "namespaces", Settings).watches(&namespaces, key_of);
//! tokio::spawn(controller.run());
//! tokio::spawn(async move { process.run().await });
//! cluster.settle().await.unwrap();
//!
//! let settings = ObjectKey::new("default", "settings");
//! assert!(Api::<ConfigMap>::of(&cluster.api_client()).get(&settings).await.is_ok());
//! let syncs = recorder.entries(EntryId(0)).into_iter().filter(|entry| entry.stage == Stage::SyncEnd);
//! assert!(syncs.filter(|sync| sync.subject.contains("default")).any(|sync| sync.data["writes"] == 1));
//! # }
//! ```
//! # Where to start
//!
//! | to | start at |
//! |---|---|
//! | run a test in virtual time from any function | [`run_virtual`] |
//! | start a cluster with options | [`Cluster::builder`], [`Builder`], the module [`cluster`] |
//! | wait | [`ClusterExt::until`], [`ClusterExt::until_object`], [`ClusterExt::settle`] |
//! | get a page of a failed test | [`BuilderExt::report_on_failure`] |
//! | call the API with Rust types | [`Cluster::api_client`], [`runtime::Api`], [`api`] |
//! | call the API with kube-rs | `ClusterExt::client` (feature `kube`) |
//! | call the API with another client | [`Cluster::service`], [`Cluster::service_as`] |
//! | write a controller | [`runtime`], [`runtime::controller::Controller`] |
//! | kill components, stop nodes | [`Cluster::kill_component`], [`Cluster::kubelet`] |
//! | delay requests and watch events | [`BuilderExt::latency`] |
//! | run a scenario file | [`Scenario`], [`scenario`] |
//! | check an invariant at every revision | [`simulation::World`] |
//! | find the faults that break a controller | [`fn@check`], [`ControllerCheck`] |
//! | read the event log | [`journal`] |
//! | render the event log | [`viewer`] |
//!
//! Complete controllers are in `examples/`.
//!
//! # What is stable
//! Before version 1.0 any item may change between minor versions; CHANGELOG.md lists each change. The items in the
//! table above change only if a program needs no more than a renamed path or method. The other items of the
//! re-exported crates change without notice.
//!
//! By default: no sockets, no TLS, no store on disk, no gRPC. Not here: any functionality of its own except waits and
//! reports for tests; this crate re-exports others.

mod builder_ext;
pub mod cluster;
mod cluster_ext;
pub mod prelude;
mod report;
mod run_virtual;
pub mod runtime;

pub use builder_ext::BuilderExt;
pub use cluster_ext::ClusterExt;
pub use coracle_ambient::{Ambient, SignedDuration, Timestamp};
pub use coracle_api as api;
pub use coracle_check::{self as check, ControllerCheck, check};
pub use coracle_cluster::scheduler::ConfigurationError as SchedulerConfigurationError;
#[doc(inline)]
pub use coracle_cluster::{
    ApiServerOptions, Audit, AuditPolicy, AuditSink, Builder, Cluster, Component, Delays, Error, Images, Manifest,
    ManifestFolder, ManifestSource, ManifestsOnDisk, MemoryManifests, NodeSpec, ServiceRoutes, StoreSpec, Transport,
    User,
};
pub use coracle_journal as journal;
pub use coracle_meta as meta;
pub use coracle_scenario::{self as scenario, Scenario};
pub use coracle_sim as simulation;
pub use coracle_viewer as viewer;
pub use report::{ReportingBuilder, ReportingCluster};
pub use run_virtual::{run_virtual, run_virtual_or_report};
