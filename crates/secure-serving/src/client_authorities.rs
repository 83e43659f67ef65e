use std::sync::Arc;

use coracle_tls::verifier_of_authority;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use x509_parser::prelude::{FromDer, X509Certificate};

/// The certificate authorities of clients. The handshake accepts certificates of both authorities, and the authority
/// decides what a certificate proves: a user or a front proxy.
#[derive(Debug)]
pub(crate) struct ClientAuthorities {
    users: Arc<dyn ClientCertVerifier>,
    /// `None` if there are no front proxies.
    front_proxies: Option<Arc<dyn ClientCertVerifier>>,
}

impl ClientAuthorities {
    /// Of users, and of front proxies, both PEM.
    pub(crate) fn read(users: &str, front_proxies: Option<&str>) -> Result<Self, String> {
        let front_proxies = front_proxies.map(verifier_of_authority).transpose()?;
        Ok(Self { users: verifier_of_authority(users)?, front_proxies })
    }

    /// Whether a chain is a user's, and the common name of the front proxy whose it is. The handshake has shown no more
    /// than that the client has the key of the first certificate.
    pub(crate) fn of(&self, chain: &[CertificateDer<'_>]) -> (bool, Option<String>) {
        let Some((leaf, intermediates)) = chain.split_first() else { return (false, None) };
        let is_of = |verifier: &Arc<dyn ClientCertVerifier>| {
            verifier.verify_client_cert(leaf, intermediates, UnixTime::now()).is_ok()
        };
        let front_proxy = self.front_proxies.as_ref().filter(|proxies| is_of(proxies)).map(|_| common_name(leaf));
        (is_of(&self.users), front_proxy)
    }
}

fn common_name(certificate: &[u8]) -> String {
    let Ok((_, certificate)) = X509Certificate::from_der(certificate) else { return String::new() };
    coracle_auth::common_name(certificate.subject()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use coracle_pki::{Authority, certificates};

    use super::*;

    #[test]
    fn each_authority_certifies_only_its_own_clients() {
        let (users, proxies) = (Authority::new().unwrap(), Authority::new().unwrap());
        let authorities = ClientAuthorities::read(users.certificate(), Some(proxies.certificate())).unwrap();
        let chain = |authority: &Authority| certificates(&authority.client("cn", &[]).unwrap().certificate).unwrap();
        assert_eq!(authorities.of(&chain(&users)), (true, None));
        assert_eq!(authorities.of(&chain(&proxies)), (false, Some("cn".to_owned())));
        assert_eq!(authorities.of(&chain(&Authority::new().unwrap())), (false, None));
        assert_eq!(authorities.of(&[]), (false, None));
    }
}
