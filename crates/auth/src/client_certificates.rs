use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::Status;
use coracle_registry::{Authenticated, Authenticator, Credentials, Registry, User};
use x509_parser::prelude::{FromDer, X509Certificate};

/// Users whom the client authority has certified: the common name is the user, the organizations are the groups.
///
/// The listener has verified the chain; here it is only read. In Kubernetes: `--client-ca-file`, `x509.CommonNameUserConversion`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientCertificates;

#[async_trait]
impl Authenticator for ClientCertificates {
    async fn authenticate(
        &self,
        _registry: &Registry,
        credentials: &Credentials,
    ) -> Result<Option<Authenticated>, Status> {
        let Some(certificate) = credentials.certificates.first() else { return Ok(None) };
        let user = user_of(certificate).ok_or_else(Status::unauthorized)?;
        Ok(user.map(|user| Authenticated { user: Arc::new(user), audiences: Vec::new(), warnings: Vec::new() }))
    }
}

/// The user of a certificate in DER; `None` if it is none, and no user if it has no common name.
fn user_of(certificate: &[u8]) -> Option<Option<User>> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().next().and_then(|name| name.as_str().ok()).unwrap_or("");
    if name.is_empty() {
        return Some(None);
    }
    let groups = subject.iter_organization().filter_map(|group| group.as_str().ok()).map(str::to_owned);
    Some(Some(User::new(name, groups)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    fn certificate(name: Option<&str>, groups: &[&str]) -> Vec<u8> {
        let mut subject = DistinguishedName::new();
        if let Some(name) = name {
            subject.push(DnType::CommonName, name);
        }
        for group in groups {
            subject.push(DnType::OrganizationName, *group);
        }
        let mut params = CertificateParams::default();
        params.distinguished_name = subject;
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn the_common_name_is_the_user_and_the_organization_a_group() {
        let user = user_of(&certificate(Some("system:node:a"), &["system:nodes"])).unwrap().unwrap();
        assert_eq!(user.name, "system:node:a");
        assert_eq!(user.groups, ["system:nodes"]);
    }

    #[test]
    fn a_certificate_without_a_name_is_nobodys_and_what_is_none_is_refused() {
        assert_eq!(user_of(&certificate(None, &["x"])), Some(None));
        assert_eq!(user_of(b"not a certificate"), None);
    }
}
