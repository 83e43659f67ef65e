use coracle_registry::Trust;
use coracle_tls::{ServerVerifier, certificates};
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;

/// The TLS configuration for callees whose certificates `trust` accepts.
///
/// # Errors
/// If the authorities are not valid.
pub(crate) fn client_config(trust: &Trust) -> Result<ClientConfig, String> {
    let verifier = match trust {
        Trust::Anybody => ServerVerifier::accept_any(),
        Trust::Authorities(none) if none.is_empty() => {
            ServerVerifier::trusted(rustls_native_certs::load_native_certs().certs)
        }
        Trust::Authorities(authorities) => ServerVerifier::trusted(listed(authorities)?),
    };
    Ok(coracle_tls::client_config(verifier)?.with_no_client_auth())
}

fn listed(authorities: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let unreadable = || "unable to load root certificates: unable to parse bytes as PEM block".to_owned();
    certificates(authorities).ok().filter(|certificates| !certificates.is_empty()).ok_or_else(unreadable)
}
