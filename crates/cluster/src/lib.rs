//! Assembles a control plane: in one process, or one component at a time.
//!
//! ```text
//! Builder --start--> Cluster { store, API server, controller-manager, scheduler, kubelet }
//!                       \--service()--> Transport (a tower service) --> any client, no socket
//! ```
//! Start at [`Cluster`]; at [`ClusterHandle`] for what is killed and started while it runs. Which tasks and threads run,
//! and in which order they start and stop, is decided here.
//! Not here: what a component does; how a task is supervised (`supervisor`); which store is opened (`storage-backend`);
//! sockets and TLS (`secure-serving`, `egress`); the API of the nodes for other processes (`kubelet-server`).

mod api_server;
mod api_server_options;
mod bootstrap;
mod builder;
mod clock;
mod cluster;
mod cluster_handle;
mod component;
mod component_clients;
mod component_name;
mod component_panics;
mod error;
mod expression_threads;
mod gated_answer;
mod kept_store;
mod kinds;
mod kubelet_client;
mod manifests_on_disk;
pub mod metrics_server;
#[cfg(feature = "serve")]
mod node_address;
mod node_transport;
mod outgoing;
mod own_component;
mod own_informers;
mod parts;
mod prepared_objects;
mod processes;
mod real_time;
#[cfg(feature = "serve")]
mod remote_nodes;
mod requester;
mod review_webhooks;
mod running_components;
mod runtime_config;
mod service_account_spec;
mod service_routes;
mod skews;
mod token_file;
mod transport;
mod value_check;

pub use api_server::ApiServer;
pub use api_server_options::ApiServerOptions;
pub use builder::{Builder, TransportLayer};
pub use cluster::Cluster;
pub use cluster_handle::ClusterHandle;
pub use component::Component;
pub use component_panics::ComponentPanic;
pub use coracle_admission::{Configurations as AdmissionConfigurations, DefaultTolerationSeconds};
pub use coracle_apiserver::{
    Audit, AuditLog, AuditPolicy, AuditSink, Limits, NoNodes, PathRequest, PathService, RequestHeaders,
    requested_resource, status_value,
};
pub use coracle_auth::{IssuerSpec, ReviewVersion, ReviewWebhook, TokenLifetimes};
pub use coracle_controller_runtime::{Ended, LeaderTimings};
pub use coracle_dynamic_certificates::CertificateFile;
pub use coracle_egress::ProxyClient;
pub use coracle_kubelet::{
    Delays, Images, Kubelet, Manifest, ManifestFolder, ManifestSource, MemoryManifests, NodeSpec, NodeSwitch,
    SavedNodes, SavedNodesError, SwitchedNode,
};
#[cfg(feature = "serve")]
pub use coracle_pki::{KeyFiles, SigningFiles, read_keys};
pub use coracle_registry::{AsOf, Callee, Caller, Trust, UnreadableValue, User};
pub use coracle_release::Release;
pub use coracle_schema::openapi::Descriptions;
pub use coracle_stages as stages;
pub use coracle_storage_backend::{EtcdServers, OpenStore, StoreOptions, StoreSpec};
pub use coracle_supervisor::Instance;
pub use error::Error;
pub use kept_store::KeptStore;
pub use kinds::built_in_kinds;
pub use kubelet_client::KubeletClient;
pub use manifests_on_disk::ManifestsOnDisk;
pub use node_transport::NodeTransports;
pub use real_time::RealTime;
pub use requester::{Requester, RequesterKind};
pub use review_webhooks::{AccessWebhookSpec, TokenWebhookSpec};
pub use runtime_config::RuntimeConfig;
pub use service_account_spec::ServiceAccountSpec;
pub use service_routes::ServiceRoutes;
pub use transport::{Body, BoxError, Transport, boxed};
pub use value_check::unreadable_values;
pub use {coracle_controllers as controllers, coracle_kubelet as kubelet, coracle_scheduler as scheduler};

/// The user name of `coracle kubelet`, which acts for the nodes that it simulates.
pub const SIMULATED_NODES_USER: &str = "system:coracle:simulated-nodes";
