use std::sync::Arc;

use coracle_registry::Trust;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::certificate_refusal::refusal;

/// The prefix of the error about a certificate.
pub(super) const NOT_VERIFIED: &str = "tls: failed to verify certificate: ";

/// The TLS configuration of a client with this `trust`.
pub(super) fn client_config(trust: &Trust) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    let verifier: Arc<dyn ServerCertVerifier> = match trust {
        Trust::Anybody => Arc::new(NoVerifier(provider)),
        Trust::Authorities(none) if none.is_empty() => Arc::new(TrustedVerifier::new(of_the_machine(), provider)),
        Trust::Authorities(authorities) => Arc::new(TrustedVerifier::new(listed(authorities)?, provider)),
    };
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

fn of_the_machine() -> Vec<CertificateDer<'static>> {
    rustls_native_certs::load_native_certs().certs
}

fn listed(authorities: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let unreadable = || "unable to load root certificates: unable to parse bytes as PEM block".to_owned();
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(authorities).collect();
    certificates.ok().filter(|certificates| !certificates.is_empty()).ok_or_else(unreadable)
}

/// Accepts every certificate, for objects that disable verification. The server must still have the certificate's key.
#[derive(Debug)]
struct NoVerifier(Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerifier {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Trusts certificates that are signed by one of these, and each of these itself, like Go: `caBundle` may contain a
/// webhook's own certificate.
#[derive(Debug)]
struct TrustedVerifier {
    trusted: Vec<CertificateDer<'static>>,
    /// `None` if no certificate can sign.
    by_authority: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl TrustedVerifier {
    fn new(trusted: Vec<CertificateDer<'static>>, provider: Arc<CryptoProvider>) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(trusted.iter().cloned());
        let by_authority = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
        Self { trusted, by_authority: by_authority.ok(), provider }
    }

    /// Whether the certificate itself is among the trusted ones.
    fn trusts_itself(&self, certificate: &CertificateDer<'_>) -> bool {
        self.trusted.iter().any(|trusted| trusted.as_ref() == certificate.as_ref())
    }

    /// Verifies that the certificate itself is trusted, is for this server, and is valid now.
    fn verify_itself(
        &self,
        certificate: &CertificateDer<'_>,
        server: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if !self.trusts_itself(certificate) {
            return Err(CertificateError::UnknownIssuer.into());
        }
        verify_server_name(&ParsedCertificate::try_from(certificate)?, server)?;
        let (_, parsed) = X509Certificate::from_der(certificate).map_err(|_| CertificateError::BadEncoding)?;
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let validity = parsed.validity();
        if validity.not_before.timestamp() <= now && now <= validity.not_after.timestamp() {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::Expired.into())
        }
    }
}

impl ServerCertVerifier for TrustedVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let signed = self
            .by_authority
            .as_ref()
            .map(|verifier| verifier.verify_server_cert(certificate, intermediates, server, ocsp, now));
        let verified = match signed {
            Some(Ok(verified)) => Ok(verified),
            Some(Err(error)) if !self.trusts_itself(certificate) => Err(error),
            Some(Err(_)) | None => self.verify_itself(certificate, server, now),
        };
        verified.map_err(|error| {
            let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
            let why = refusal(certificate, server, &self.trusted, now, &error);
            rustls::Error::General(format!("{NOT_VERIFIED}{why}"))
        })
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
