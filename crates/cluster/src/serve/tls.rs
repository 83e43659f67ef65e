use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ClientCertVerifierBuilder, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};

use super::Identity;
use crate::Error;

/// Whether clients show a certificate, and by which authority (PEM) it has to be signed.
#[derive(Clone, Copy, Debug)]
pub(super) enum ClientCertificates<'a> {
    #[cfg(feature = "etcd")]
    NotAsked,
    Accepted(&'a str),
    #[cfg(feature = "etcd")]
    Required(&'a str),
}

/// The oldest version of TLS that is spoken. In Kubernetes: `--tls-min-version`, whose older values are not spoken here.
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

/// How a server with this identity speaks TLS: versions from `oldest` on, HTTP/2 before HTTP/1.1.
pub(super) fn server_config(
    identity: &Identity,
    clients: ClientCertificates<'_>,
    oldest: OldestTls,
) -> Result<ServerConfig, Error> {
    let certificates = CertificateDer::pem_slice_iter(identity.certificate.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(Error::certificates)?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).map_err(Error::certificates)?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(oldest.versions())
        .map_err(Error::certificates)?
        .with_client_cert_verifier(verifier(clients)?)
        .with_single_cert(certificates, key)
        .map_err(Error::certificates)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn verifier(clients: ClientCertificates<'_>) -> Result<Arc<dyn ClientCertVerifier>, Error> {
    let verifier = match clients {
        #[cfg(feature = "etcd")]
        ClientCertificates::NotAsked => return Ok(WebPkiClientVerifier::no_client_auth()),
        ClientCertificates::Accepted(authority) => signed_by(authority)?.allow_unauthenticated(),
        #[cfg(feature = "etcd")]
        ClientCertificates::Required(authority) => signed_by(authority)?,
    };
    verifier.build().map_err(Error::certificates)
}

pub(super) fn signed_by(authority: &str) -> Result<ClientCertVerifierBuilder, Error> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
        roots.add(certificate.map_err(Error::certificates)?).map_err(Error::certificates)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider))
}
