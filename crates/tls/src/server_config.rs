use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;

use crate::client_verifier::ClientCertificates;
use crate::identity::Identity;
use crate::pem::{certificates, private_key};

/// The oldest accepted version of TLS. In Kubernetes: `--tls-min-version`.
/// Unlike Kubernetes: versions before 1.2 are not supported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OldestTls {
    /// 1.2
    #[default]
    Tls12,
    /// 1.3
    Tls13,
}

static ONLY_TLS13: [&rustls::SupportedProtocolVersion; 1] = [&rustls::version::TLS13];

impl OldestTls {
    fn versions(self) -> &'static [&'static rustls::SupportedProtocolVersion] {
        match self {
            Self::Tls12 => rustls::DEFAULT_VERSIONS,
            Self::Tls13 => &ONLY_TLS13,
        }
    }
}

/// The configuration of a server with this identity: versions from `oldest` on, HTTP/2 before HTTP/1.1.
///
/// # Errors
/// If a certificate or key is not valid, or the two do not match.
pub fn server_config(
    identity: &Identity,
    clients: ClientCertificates<'_>,
    oldest: OldestTls,
) -> Result<ServerConfig, String> {
    let chain = certificates(identity.certificate.as_bytes())?;
    let key = private_key(identity.key.as_bytes())?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(oldest.versions())
        .map_err(|error| error.to_string())?
        .with_client_cert_verifier(clients.verifier()?)
        .with_single_cert(chain, key)
        .map_err(|error| error.to_string())?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
