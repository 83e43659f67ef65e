use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientCertVerifierBuilder, WebPkiClientVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, SignatureScheme};

use crate::pem::roots;

/// Whether a server requests certificates from its clients, and which authority (PEM) must have signed them.
#[derive(Clone, Copy, Debug)]
pub enum ClientCertificates<'a> {
    /// The server requests no certificate.
    NotRequested,
    /// A client may send a certificate of this authority, or none.
    Accepted(&'a str),
    /// A client may send any certificate for which it has the key, or none. The caller checks later which authority
    /// signed it. In Kubernetes: `tls.RequestClientCert`.
    AnyAccepted(&'a str),
    /// A client must send a certificate of this authority.
    Required(&'a str),
}

impl ClientCertificates<'_> {
    /// # Errors
    /// If the authority is not valid.
    pub(crate) fn verifier(self) -> Result<Arc<dyn ClientCertVerifier>, String> {
        match self {
            Self::NotRequested => Ok(WebPkiClientVerifier::no_client_auth()),
            Self::Accepted(authority) => built(signed_by(authority)?.allow_unauthenticated()),
            Self::AnyAccepted(authority) => Ok(Arc::new(AnyClient(verifier_of_authority(authority)?))),
            Self::Required(authority) => verifier_of_authority(authority),
        }
    }
}

/// Accepts the certificates that an authority (PEM) has signed.
///
/// # Errors
/// If the authority is not valid.
pub fn verifier_of_authority(authority: &str) -> Result<Arc<dyn ClientCertVerifier>, String> {
    built(signed_by(authority)?)
}

fn signed_by(authority: &str) -> Result<ClientCertVerifierBuilder, String> {
    let roots = Arc::new(roots(authority.as_bytes())?);
    Ok(WebPkiClientVerifier::builder_with_provider(roots, Arc::new(ring::default_provider())))
}

fn built(verifier: ClientCertVerifierBuilder) -> Result<Arc<dyn ClientCertVerifier>, String> {
    verifier.build().map_err(|error| error.to_string())
}

/// Accepts every certificate for which the client has the key, and clients without a certificate.
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
