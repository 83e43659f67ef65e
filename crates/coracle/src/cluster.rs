//! A control plane in this process: its options, its components, its transports.
//!
//! ```text
//! Builder --start--> Cluster { store, API server, controller-manager, scheduler, simulated nodes }
//!                       |--api_client(), client_as(user)--> a client of this project
//!                       |--service(), service_as(user)----> a tower service, for any client
//!                       \--kill_component, kill_store, kubelet(): failures and restarts
//! ```
//! # Start a cluster
//! Everything has a default. A recorder turns the event log on.
//!
//! ```
//! use std::time::Duration;
//! use coracle::journal::{EntryId, Recorder, Stage};
//! use coracle::prelude::*;
//! use coracle::simulation::Latency;
//! use coracle::{Cluster, Delays};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let recorder = Recorder::ring(10_000);
//! let cluster = Cluster::builder()
//!     .nodes(3)
//!     .seed(7)
//!     .pod_delays(Delays { ready: Duration::from_secs(30), ..Delays::zero() })
//!     .latency(Latency { request: Duration::from_millis(2), watch: Duration::from_millis(1) })
//!     .recorder(recorder.clone())
//!     .start()
//!     .await
//!     .unwrap();
//! assert!(recorder.entries(EntryId(0)).iter().any(|entry| entry.stage == Stage::StoreCommit));
//! # cluster.shutdown().await;
//! # }
//! ```
//! The same seed gives the same names, uids and order of events:
//!
//! ```
//! # use coracle::api::core_v1::Namespace;
//! # use coracle::meta::ObjectKey;
//! # use coracle::runtime::Api;
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let mut uids = Vec::new();
//! for seed in [7, 7, 8] {
//!     let cluster = coracle::Cluster::builder().seed(seed).start().await.unwrap();
//!     let namespaces = Api::<Namespace>::of(&cluster.api_client());
//!     uids.push(namespaces.get(&ObjectKey::cluster("default")).await.unwrap().metadata.uid);
//! }
//! assert_eq!(uids[0], uids[1]);
//! assert_ne!(uids[1], uids[2]);
//! # }
//! ```
//! [`Builder::scheduler_configuration`] names each error with its line:
//!
//! ```
//! let text = "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profile: []}";
//! let error = coracle::Cluster::builder().scheduler_configuration(text).unwrap_err();
//! assert_eq!(error.to_string(), "configuration:1: profile: unknown field");
//! ```
//! # Only the API server
//! [`Builder::api_server_only`] starts what envtest starts: no controllers, no scheduler, no nodes.
//!
//! ```
//! # use coracle::api::apps_v1::ReplicaSet;
//! # use coracle::api::core_v1::Pod;
//! # use coracle::prelude::*;
//! # use coracle::runtime::{Api, ListParams};
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let cluster = coracle::Cluster::builder().api_server_only().start().await.unwrap();
//! let set: ReplicaSet = serde_json::from_value(serde_json::json!({
//!     "metadata": {"namespace": "default", "name": "web"},
//!     "spec": {
//!         "replicas": 3, "selector": {"matchLabels": {"app": "web"}},
//!         "template": {
//!             "metadata": {"labels": {"app": "web"}},
//!             "spec": {"containers": [{"name": "web", "image": "nginx"}]},
//!         },
//!     },
//! }))
//! .unwrap();
//! Api::of(&cluster.api_client()).create(&set).await.unwrap();
//! cluster.settle().await.unwrap();
//! let pods = Api::<Pod>::of(&cluster.api_client());
//! assert!(pods.list(&ListParams::default()).await.unwrap().items.is_empty(), "no controller acts on it");
//! # }
//! ```
//! # Identities
//! [`Cluster::service`] and [`Cluster::service_as`] are tower services. Any client works on them.
//!
//! ```
//! # coracle::run_virtual(1, async |cluster| {
//! use coracle::User;
//! use coracle::api::core_v1::Secret;
//! use coracle::runtime::{Api, Client, ListParams};
//!
//! let client = Client::new(cluster.service(), cluster.ambient());
//! let version: serde_json::Value = client.get_path("/version").await.unwrap();
//! assert_eq!(version["minor"], "37");
//!
//! let jane = cluster.client_as(User::new("jane", ["developers"]));
//! let secrets = Api::<Secret>::of(&jane);
//! assert!(secrets.list(&ListParams::default()).await.unwrap_err().is_forbidden());
//! # }).unwrap();
//! ```
//! # Failures
//! [`Cluster::kill_component`] kills a component, as `kill -9` would; [`Cluster::start_component`] starts it again.
//!
//! ```
//! # coracle::run_virtual(1, async |cluster| {
//! use coracle::Component;
//! use coracle::api::core_v1::Namespace;
//! use coracle::meta::{ObjectKey, Resource};
//! use coracle::prelude::*;
//! use coracle::runtime::{Api, DeleteParams};
//!
//! let namespaces = Api::<Namespace>::of(&cluster.api_client());
//! let mut shop = Namespace::default();
//! shop.metadata.name = Some("shop".to_owned());
//! namespaces.create(&shop).await.unwrap();
//!
//! cluster.kill_component(Component::ControllerManager);
//! namespaces.delete(&shop.key(), &DeleteParams::default()).await.unwrap();
//! cluster.settle().await.unwrap();
//! assert!(namespaces.get(&shop.key()).await.is_ok(), "no controller empties it");
//!
//! cluster.start_component(Component::ControllerManager);
//! cluster.settle().await.unwrap();
//! assert!(namespaces.get(&shop.key()).await.unwrap_err().is_not_found());
//! # }).unwrap();
//! ```

#[doc(inline)]
pub use coracle_cluster::*;
