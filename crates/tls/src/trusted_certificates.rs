use std::sync::Arc;

use rustls::client::danger::{ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, RootCertStore};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::certificate_refusal::refusal;

/// The beginning of the refusal of a certificate.
pub const NOT_VERIFIED: &str = "tls: failed to verify certificate: ";

/// Certificates that are trusted themselves and as authorities.
#[derive(Debug)]
pub(crate) struct TrustedCertificates {
    certificates: Vec<CertificateDer<'static>>,
    /// `None` if none of the certificates can sign.
    by_authority: Option<Arc<WebPkiServerVerifier>>,
}

impl TrustedCertificates {
    pub(crate) fn new(certificates: Vec<CertificateDer<'static>>, provider: &Arc<CryptoProvider>) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates.iter().cloned());
        let by_authority = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
        Self { certificates, by_authority: by_authority.ok() }
    }

    /// # Errors
    /// In the words of Go.
    pub(crate) fn verify(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let signed = self.by_authority.as_ref();
        let signed = signed.map(|verifier| verifier.verify_server_cert(certificate, intermediates, server, &[], now));
        let verified = match signed {
            Some(Err(error)) if !self.contains(certificate) => Err(error),
            Some(Ok(verified)) => Ok(verified),
            Some(Err(_)) | None => self.verify_itself(certificate, server, now),
        };
        verified.map_err(|error| {
            let why = refusal(certificate, server, &self.certificates, seconds(now), &error);
            rustls::Error::General(format!("{NOT_VERIFIED}{why}"))
        })
    }

    fn contains(&self, certificate: &CertificateDer<'_>) -> bool {
        self.certificates.iter().any(|trusted| trusted.as_ref() == certificate.as_ref())
    }

    /// Whether the certificate itself is trusted, is for this server, and is valid now.
    fn verify_itself(
        &self,
        certificate: &CertificateDer<'_>,
        server: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if !self.contains(certificate) {
            return Err(CertificateError::UnknownIssuer.into());
        }
        verify_server_name(&ParsedCertificate::try_from(certificate)?, server)?;
        let (_, parsed) = X509Certificate::from_der(certificate).map_err(|_| CertificateError::BadEncoding)?;
        let (now, validity) = (seconds(now), parsed.validity());
        if validity.not_before.timestamp() <= now && now <= validity.not_after.timestamp() {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::Expired.into())
        }
    }
}

fn seconds(now: UnixTime) -> i64 {
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}
