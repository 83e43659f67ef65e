//! How TLS servers and clients verify the certificates of each other.
//!
//! ```text
//! client: ServerVerifier --client_config()--> rustls::ClientConfig     trusted certificates, any, or none
//! server: ClientCertificates --server_config()--> rustls::ServerConfig  required, accepted, any, or not requested
//! ```
//! Start at [`ServerVerifier`] and [`server_config`]. Refusals have the messages of Go's `crypto/x509`.
//! Not here: sockets (`secure-serving`, `egress`, `client`), files that change (`dynamic-certificates`), new
//! certificates (`pki`).

mod certificate_refusal;
mod client_verifier;
mod identity;
mod pem;
mod server_config;
mod server_verifier;
mod trusted_certificates;

pub use client_verifier::{ClientCertificates, verifier_of_authority};
pub use identity::Identity;
pub use pem::{certificates, private_key, roots};
pub use server_config::{OldestTls, server_config};
pub use server_verifier::{ServerVerifier, client_config};
pub use trusted_certificates::NOT_VERIFIED;
