use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientCertVerifierBuilder, WebPkiClientVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, RootCertStore, ServerConfig, SignatureScheme};

use super::Identity;
use crate::Error;

/// The client certificates that a server accepts, with their authority (PEM).
#[derive(Clone, Copy, Debug)]
pub(super) enum ClientCertificates<'a> {
    #[cfg(feature = "etcd")]
    NotAsked,
    Accepted(&'a str),
    /// Any certificate whose key the client has is accepted in the handshake; the caller verifies it later.
    AnyTaken(&'a str),
    #[cfg(feature = "etcd")]
    Required(&'a str),
}

/// The minimum TLS version. In Kubernetes: `--tls-min-version`; older versions are not supported here.
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

/// The TLS configuration of a server with this identity: versions from `oldest`, HTTP/2 preferred to HTTP/1.1.
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
        ClientCertificates::AnyTaken(authority) => {
            return Ok(Arc::new(AnyClient(signed_by(authority)?.build().map_err(Error::certificates)?)));
        }
        ClientCertificates::Accepted(authority) => signed_by(authority)?.allow_unauthenticated(),
        #[cfg(feature = "etcd")]
        ClientCertificates::Required(authority) => signed_by(authority)?,
    };
    verifier.build().map_err(Error::certificates)
}

/// Accepts every certificate whose key the client has, and clients without a certificate.
#[derive(Debug)]
struct AnyClient(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for AnyClient {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

pub(super) fn signed_by(authority: &str) -> Result<ClientCertVerifierBuilder, Error> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
        roots.add(certificate.map_err(Error::certificates)?).map_err(Error::certificates)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider))
}
