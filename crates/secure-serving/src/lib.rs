//! Sockets that other processes connect to: HTTPS for API server and nodes, HTTP for metrics, gRPC for the store.
//!
//! ```text
//! socket --> FirstBytes (time limit) --TLS: ServingCertificates, read again when they change--> request
//!    request + PeerCertificates, FrontProxy, PeerAddress --host_header (pure)--> a tower service
//! ```
//! Start at [`Listener`]. In Kubernetes: `SecureServingInfo` of `k8s.io/apiserver/pkg/server`.
//! Not here: who is authenticated (`auth`), what is served (`apiserver`, `kubelet-server`), calls to other servers
//! (`egress`), new certificates (`pki`).

mod client_authorities;
mod error;
mod first_bytes;
mod host_address;
mod host_header;
mod listener;
mod metrics_listener;
mod serving_certificates;
#[cfg(feature = "etcd")]
mod store_listener;

#[cfg(feature = "etcd")]
pub use coracle_etcd::FaceOptions;
pub use error::Error;
pub use host_address::host_address;
pub use listener::Listener;
pub use metrics_listener::MetricsListener;
pub use serving_certificates::ServingCertificates;
#[cfg(feature = "etcd")]
pub use store_listener::{StoreListener, StoreTls};
