mod callee_certificates;
mod certificate_refusal;
mod certificates;
mod client_authorities;
mod first_bytes;
mod host_address;
mod host_header;
mod https_calls;
mod keys;
mod kubeconfig;
mod listener;
mod metrics_listener;
mod serving_certificates;
#[cfg(feature = "etcd")]
mod store_listener;
mod subject;
mod tls;

pub use certificates::{Authority, Identity, new_service_account_key, write_private};
#[cfg(feature = "etcd")]
pub use coracle_etcd::FaceOptions;
pub use host_address::host_address;
pub(crate) use https_calls::HttpsCalls;
pub use keys::read_keys;
pub use kubeconfig::{Credential, kubeconfig};
pub use listener::Listener;
pub use metrics_listener::MetricsListener;
pub use serving_certificates::ServingCertificates;
#[cfg(feature = "etcd")]
pub use store_listener::{StoreListener, StoreTls};
pub use tls::OldestTls;
