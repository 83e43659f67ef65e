use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The certificates in a PEM text.
///
/// # Errors
/// If the text is not PEM.
pub fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(|error| error.to_string())
}

/// The first private key in a PEM text.
///
/// # Errors
/// If the text has no private key.
pub fn private_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(pem).map_err(|error| error.to_string())
}

/// The certificate authorities in a PEM text.
///
/// # Errors
/// If the text is not PEM, or a certificate in it is not valid.
pub fn roots(pem: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(pem)? {
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    Ok(roots)
}
