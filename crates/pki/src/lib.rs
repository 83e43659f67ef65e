//! The certificate authority of a cluster, and what it signs.
//!
//! ```text
//! folder <--ca.crt, ca.key--> Authority --server(), client()--> Identity --kubeconfig()--> a file for kubectl
//!                                 \--sign(): CertificateSigningRequests, for the controllers
//! ```
//! Start at [`Authority`]. In Kubernetes: `pkg/controller/certificates/authority`, and the folder `pki` of kubeadm.
//! Not here: which requests are approved (`controllers`), TLS connections (`tls`, `secure-serving`).

mod authority;
mod error;
mod files;
mod kubeconfig;
mod subject;
mod usages;

pub use authority::{Authority, new_service_account_key};
pub use error::Error;
pub use files::{certificates, read, write_private};
pub use kubeconfig::{Credential, kubeconfig};
