use std::sync::Arc;

use async_trait::async_trait;
use coracle_certificates::{attribute_text, common_name};
use coracle_meta::Status;
use coracle_registry::{Authenticated, Authenticator, Credentials, Registry, User};
use sha2::{Digest, Sha256};
use x509_parser::oid_registry::{Oid, asn1_rs::oid};
use x509_parser::prelude::{FromDer, X509Certificate};

/// The attribute of a subject with the user's uid. In Kubernetes: `asn1.X509UID`.
const UID: Oid<'static> = oid!(1.3.6.1.4.1.57683.2);

/// Authenticates users by certificates of the client authority: the common name is the user, the organizations are the
/// groups, and the certificate's hash identifies the credential.
///
/// The listener has verified the chain; this code only reads it. In Kubernetes: `--client-ca-file`,
/// `x509.CommonNameUserConversion`.
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

/// The user of a certificate in DER, which the caller has verified; `None` if it has no common name.
pub fn certified_user(der: &[u8]) -> Option<User> {
    user_of(der).flatten()
}

/// The user of a certificate in DER; `Some(None)` if the certificate has no common name. `None` if the certificate, its
/// subject or its uid cannot be decoded.
fn user_of(der: &[u8]) -> Option<Option<User>> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let subject = certificate.subject();
    let name = common_name(subject)?;
    if name.is_empty() {
        return Some(None);
    }
    let uids: Vec<_> = subject.iter_by_oid(&UID).collect();
    let uid = match uids.as_slice() {
        [] => String::new(),
        [one] => one.as_str().ok().filter(|uid| !uid.is_empty())?.to_owned(),
        _ => return None,
    };
    let groups: Vec<String> = subject.iter_organization().map(attribute_text).collect::<Option<_>>()?;
    let hash: String = Sha256::digest(der).iter().map(|byte| format!("{byte:02x}")).collect();
    let credential = ("authentication.kubernetes.io/credential-id".to_owned(), vec![format!("X509SHA256={hash}")]);
    Some(Some(User { uid, extra: [credential].into(), ..User::new(name, groups) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DistinguishedName, DnType, DnValue, KeyPair};

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
    fn of_several_common_names_the_last_is_the_user_and_every_organization_is_a_group() {
        // rcgen has one value for each attribute, and takes a number for another one.
        let (name, organization) = (vec![2, 5, 4, 3], vec![2, 5, 4, 10]);
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "system:kube-controller-manager");
        params.distinguished_name.push(DnType::OrganizationName, "a");
        params
            .distinguished_name
            .push(DnType::CustomDnType(organization), DnValue::BmpString("größe".try_into().unwrap()));
        params.distinguished_name.push(DnType::CustomDnType(name), "dave");
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let user = user_of(certificate.der()).unwrap().unwrap();
        assert_eq!((user.name.as_str(), user.groups), ("dave", vec!["a".to_owned(), "größe".to_owned()]));
    }

    #[test]
    fn a_name_of_a_type_that_go_does_not_read_is_refused_and_not_passed_over() {
        for attribute in [DnType::CommonName, DnType::OrganizationName] {
            let mut params = CertificateParams::default();
            params.distinguished_name = DistinguishedName::new();
            params.distinguished_name.push(DnType::CustomDnType(vec![2, 5, 4, 3]), "ann");
            params.distinguished_name.push(attribute.clone(), DnValue::UniversalString("x".try_into().unwrap()));
            let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
            assert_eq!(user_of(certificate.der()), None, "{attribute:?}");
        }
    }

    #[test]
    fn a_certificate_user_has_the_certificate_hash_and_uid() {
        let der = certificate(Some("ann"), &[]);
        let user = user_of(&der).unwrap().unwrap();
        let hash: String = Sha256::digest(&der).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(user.extra["authentication.kubernetes.io/credential-id"], [format!("X509SHA256={hash}")]);
        assert_eq!(user.uid, "");
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "ann");
        params.distinguished_name.push(DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]), "u1");
        let with_uid = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        assert_eq!(user_of(with_uid.der()).unwrap().unwrap().uid, "u1");
    }

    #[test]
    fn a_certificate_without_a_name_has_no_user_and_an_invalid_one_is_refused() {
        assert_eq!(user_of(&certificate(None, &["x"])), Some(None));
        assert_eq!(user_of(b"not a certificate"), None);
    }
}
