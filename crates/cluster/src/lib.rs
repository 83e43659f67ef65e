//! Assembles a control plane: in one process, or one component at a time.
//!
//! ```text
//! Builder --start--> Cluster { store, API server, controller-manager, scheduler, kubelet }
//!                       \--service()--> Transport (a tower service) --> any client, no socket
//! serve::Listener --TLS--> Transport                                    (feature `serve`)
//! serve::Listener --TLS--> KubeletServer --> nodes of this process, for the API server of another
//! ```
//! Start at [`Cluster`]. Only this crate decides about tasks, sockets, threads and shutdown.
//! Not here: the components themselves.

mod api_server;
mod api_server_options;
mod audit_log;
mod background_tasks;
mod bootstrap;
mod builder;
mod call_answer;
mod call_request;
mod certificate_file;
mod clock;
mod cluster;
mod component;
mod component_clients;
mod error;
mod expression_threads;
mod file_watcher;
mod kept_store;
mod kinds;
mod kubelet_client;
mod kubelet_server;
mod manifests_on_disk;
pub mod metrics_server;
#[cfg(feature = "serve")]
mod node_address;
mod node_transport;
mod outgoing;
mod proxy_client;
#[cfg(feature = "serve")]
mod remote_nodes;
mod restartable;
mod review_webhooks;
mod running_components;
mod runtime_config;
/// Sockets and TLS: how other processes reach the API server.
#[cfg(feature = "serve")]
pub mod serve;
mod service_account_spec;
mod service_routes;
mod signer;
mod stderr;
mod store;
mod tasks;
mod token_file;
mod transport;
mod value_check;

pub use api_server::ApiServer;
pub use api_server_options::ApiServerOptions;
pub use audit_log::AuditLog;
pub use builder::{Builder, TransportLayer};
pub use certificate_file::CertificateFile;
pub use cluster::Cluster;
pub use component::Component;
pub use coracle_admission::{Configurations as AdmissionConfigurations, DefaultTolerationSeconds};
pub use coracle_apiserver::{Audit, AuditPolicy, AuditSink, Limits, NoNodes, PathRequest, PathService, RequestHeaders};
pub use coracle_auth::{IssuerSpec, ReviewVersion, ReviewWebhook, TokenLifetimes};
pub use coracle_controller_runtime::{Ended, LeaderTimings};
pub use coracle_kubelet::{
    Delays, Kubelet, Manifest, ManifestFolder, ManifestSource, MemoryManifests, NodeSpec, SavedNodes, SavedNodesError,
};
pub use coracle_registry::{Callee, Caller, Trust, UnreadableValue, User};
pub use coracle_schema::openapi::Descriptions;
pub use coracle_stages as stages;
pub use error::Error;
pub use kept_store::KeptStore;
pub use kinds::built_in_kinds;
pub use kubelet_client::KubeletClient;
pub use kubelet_server::KubeletServer;
pub use manifests_on_disk::ManifestsOnDisk;
pub use node_transport::NodeTransports;
pub use proxy_client::ProxyClient;
pub use review_webhooks::{AccessWebhookSpec, TokenWebhookSpec};
pub use runtime_config::RuntimeConfig;
pub use service_account_spec::ServiceAccountSpec;
pub use service_routes::ServiceRoutes;
pub use store::{EtcdServers, OpenStore, StoreOptions, StoreSpec};
pub use transport::{Body, BoxError, Transport, boxed};
pub use value_check::unreadable_values;
pub use {coracle_controllers as controllers, coracle_kubelet as kubelet, coracle_scheduler as scheduler};

/// The user name of `coracle kubelet`, which acts for the nodes that it simulates.
pub const SIMULATED_NODES_USER: &str = "system:coracle:simulated-nodes";
