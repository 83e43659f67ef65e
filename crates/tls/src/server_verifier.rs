use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ConfigBuilder, DigitallySignedStruct, SignatureScheme, client::WantsClientCert};

use crate::pem::roots;
use crate::trusted_certificates::TrustedCertificates;

/// Which certificates of servers a client accepts.
#[derive(Debug)]
pub struct ServerVerifier {
    policy: Policy,
    provider: Arc<CryptoProvider>,
}

#[derive(Debug)]
enum Policy {
    AcceptAny,
    RefuseAll(&'static str),
    SignedBy(Arc<WebPkiServerVerifier>),
    Trusted(TrustedCertificates),
}

impl ServerVerifier {
    /// Accepts every certificate for which the server has the key. In Kubernetes: `insecure-skip-tls-verify`.
    pub fn accept_any() -> Self {
        Self::new(|_| Policy::AcceptAny)
    }

    /// Refuses every certificate for this reason.
    pub fn refuse_all(why: &'static str) -> Self {
        Self::new(|_| Policy::RefuseAll(why))
    }

    /// Accepts the certificates that an authority in this PEM text has signed.
    ///
    /// # Errors
    /// If the text has no valid certificate.
    pub fn signed_by(authority: &[u8]) -> Result<Self, String> {
        let provider = Arc::new(ring::default_provider());
        let roots = Arc::new(roots(authority)?);
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
        Ok(Self { policy: Policy::SignedBy(verifier.map_err(|error| error.to_string())?), provider })
    }

    /// Accepts these certificates and those that they have signed, as Go does: `caBundle` of a webhook may hold the
    /// webhook's own certificate. Refusals have the messages of Go.
    pub fn trusted(certificates: Vec<CertificateDer<'static>>) -> Self {
        Self::new(|provider| Policy::Trusted(TrustedCertificates::new(certificates, provider)))
    }

    fn new(policy: impl FnOnce(&Arc<CryptoProvider>) -> Policy) -> Self {
        let provider = Arc::new(ring::default_provider());
        Self { policy: policy(&provider), provider }
    }
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match &self.policy {
            Policy::AcceptAny => Ok(ServerCertVerified::assertion()),
            Policy::RefuseAll(why) => Err(rustls::Error::General((*why).to_owned())),
            Policy::SignedBy(verifier) => verifier.verify_server_cert(certificate, intermediates, server, ocsp, now),
            Policy::Trusted(trusted) => trusted.verify(certificate, intermediates, server, now),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The beginning of a client's configuration. The caller adds the client's certificate and the ALPN protocols.
///
/// # Errors
/// If the cryptographic provider does not support the default versions of TLS.
pub fn client_config(verifier: ServerVerifier) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, String> {
    let builder = ClientConfig::builder_with_provider(Arc::clone(&verifier.provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)))
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

    use super::*;

    /// Whether each policy accepts `shown` for `a.example`; `authority` and `trusted` are what it was made of.
    fn verdict(verifier: &ServerVerifier, shown: &CertificateDer<'static>) -> Result<(), String> {
        let server = ServerName::try_from("a.example").unwrap();
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(1_800_000_000));
        let verified = verifier.verify_server_cert(shown, &[], &server, &[], now);
        verified.map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn each_policy_accepts_its_certificates_and_refuses_others() {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let authority = params.self_signed(&key).unwrap();
        let own = CertificateParams::new(["a.example".to_owned()]).unwrap();
        let signed = own.signed_by(&KeyPair::generate().unwrap(), &Issuer::new(params, key)).unwrap();
        let alone = own.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let by_authority = ServerVerifier::signed_by(authority.pem().as_bytes()).unwrap();
        assert_eq!(verdict(&by_authority, signed.der()), Ok(()));
        assert!(verdict(&by_authority, alone.der()).is_err());
        let trusted = ServerVerifier::trusted(vec![authority.der().clone(), alone.der().clone()]);
        assert_eq!(verdict(&trusted, signed.der()), Ok(()));
        assert_eq!(verdict(&trusted, alone.der()), Ok(()));
        assert_eq!(verdict(&ServerVerifier::accept_any(), alone.der()), Ok(()));
        assert!(
            verdict(&ServerVerifier::refuse_all("no authority"), signed.der()).unwrap_err().contains("no authority")
        );
    }
}
