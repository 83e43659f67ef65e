//! The certificate authority of a cluster, what it signs, and the key files of the controllers.
//!
//! ```text
//! folder <--ca.crt, ca.key--> Authority --server(), client()--> Identity --kubeconfig()--> a file for kubectl
//!                                 \--sign(): CertificateSigningRequests, for the controllers
//! ```
//! Start at [`Authority`]; at [`read_keys`] for the files that flags of kube-controller-manager name. In Kubernetes: `pkg/controller/certificates/authority`, and the folder `pki` of kubeadm.
//! Not here: which requests are approved (`controllers`), TLS connections (`tls`, `secure-serving`).

mod authority;
mod authority_key;
mod authority_on_demand;
mod error;
mod files;
mod key_files;
mod kubeconfig;
mod read_keys;
mod subject;
mod usages;

pub use authority::{Authority, new_service_account_key};
pub use authority_on_demand::AuthorityOnDemand;
pub use error::Error;
pub use files::{certificates, read, write_private};
pub use key_files::{KeyFiles, SigningFiles};
pub use kubeconfig::{Credential, kubeconfig};
pub use read_keys::read_keys;
