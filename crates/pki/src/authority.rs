use std::net::IpAddr;
use std::path::Path;

use coracle_ambient::{Random, Timestamp};
use coracle_auth::private_key;
use coracle_controllers::{CertificateOrder, SignsCertificates};
use coracle_meta::format_time;
use coracle_private_keys::{KeyType, PrivateKey};
use coracle_tls::Identity;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData, SanType, SubjectPublicKeyInfo,
};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::parse_x509_certificate;
use x509_parser::prelude::FromDer;

use crate::authority_key::AuthorityKey;
use crate::error::Error;
use crate::files::{certificates, read, write, write_private};
use crate::subject::{CertificateSubject, renamed};
use crate::usages::usages;

/// A cluster's own certificate authority, stored in a folder so that client certificates survive a restart.
///
/// Keys are P-256: making one takes a fraction of a millisecond. An RSA key would take longer than the rest of a start.
#[derive(Debug)]
pub struct Authority {
    certificate: String,
    /// Its own subject in DER: the issuer of its certificates.
    subject: Vec<u8>,
    issuer: Issuer<'static, AuthorityKey>,
    not_after: Timestamp,
}

const CERTIFICATE_FILE: &str = "ca.crt";
const KEY_FILE: &str = "ca.key";

impl Authority {
    /// The authority stored in `folder`, or a new one that is stored there.
    ///
    /// # Errors
    /// If only one of its two files exists, one is not PEM, or the folder cannot be written.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let (certificate, key) = (folder.join(CERTIFICATE_FILE), folder.join(KEY_FILE));
        match (certificate.exists(), key.exists()) {
            (true, true) => Self::load(&certificate, &key),
            (false, false) => {
                let key_pair = KeyPair::generate().map_err(Error::certificate)?;
                write_private(&key, &key_pair.serialize_pem())?;
                let authority = Self::of_key(AuthorityKey::System(key_pair))?;
                write(&certificate, &authority.certificate)?;
                Ok(authority)
            }
            (true, false) => Err(Error::of_file(&key, "is missing, and ca.crt exists; restore it or remove both")),
            (false, true) => {
                Err(Error::of_file(&certificate, "is missing, and ca.key exists; restore it or remove both"))
            }
        }
    }

    /// A new authority.
    pub fn new() -> Result<Self, Error> {
        Self::of_key(AuthorityKey::System(KeyPair::generate().map_err(Error::certificate)?))
    }

    /// A new authority whose key and signatures follow from the stream if it has a seed. A program that knows the seed
    /// knows the key: only for virtual time.
    pub fn of_random(random: &Random) -> Result<Self, Error> {
        let key = PrivateKey::generate(KeyType::EcdsaP256, random).map_err(Error::certificate)?;
        let point = key.public_point();
        Self::of_key(AuthorityKey::Seeded(key, point))
    }

    fn of_key(key: AuthorityKey) -> Result<Self, Error> {
        let params = authority_params();
        let certificate = params.self_signed(&key).map_err(Error::certificate)?;
        let (_, parsed) = parse_x509_certificate(certificate.der()).map_err(Error::certificate)?;
        let (subject, not_after) =
            (parsed.subject().as_raw().to_vec(), moment(parsed.validity().not_after.timestamp()));
        Ok(Self { certificate: certificate.pem(), subject, issuer: Issuer::new(params, key), not_after })
    }

    /// The authority with an existing certificate and key.
    ///
    /// # Errors
    /// If a file cannot be read, has the wrong content, or the two do not match.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, Error> {
        let (text, key_text) = (read(certificate)?, read(key)?);
        let wrong = |path: &Path, why: &dyn std::fmt::Display| Error::of_file(path, &why.to_string());
        let key_pair = private_key(&key_text).map_err(|why| wrong(key, &why))?;
        let key_pair = KeyPair::try_from(key_pair.as_slice()).map_err(|error| wrong(key, &error))?;
        let found = certificates(&text).map_err(|why| wrong(certificate, &why))?;
        let [der] = found.as_slice() else {
            return Err(wrong(certificate, &format_args!("expected 1 certificate, found {}", found.len())));
        };
        let (_, parsed) = parse_x509_certificate(der).map_err(|error| wrong(certificate, &error))?;
        if parsed.public_key().raw != key_pair.subject_public_key_info() {
            return Err(wrong(key, &"private key does not match public key"));
        }
        let not_after = moment(parsed.validity().not_after.timestamp());
        let subject = parsed.subject().as_raw().to_vec();
        let issuer = Issuer::from_ca_cert_der(der, AuthorityKey::System(key_pair))
            .map_err(|error| wrong(certificate, &error))?;
        Ok(Self { certificate: text, subject, issuer, not_after })
    }

    /// The authority's certificate (PEM).
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// A serving certificate for these names and addresses.
    pub fn server(&self, names: &[String], addresses: &[IpAddr]) -> Result<Identity, Error> {
        self.serving("kube-apiserver", names, addresses)
    }

    /// The same with another common name.
    pub fn serving(&self, common_name: &str, names: &[String], addresses: &[IpAddr]) -> Result<Identity, Error> {
        let mut params = CertificateParams::new(names.to_vec()).map_err(Error::certificate)?;
        params.subject_alt_names.extend(addresses.iter().map(|address| SanType::IpAddress(*address)));
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.identity(params, &CertificateSubject::new(common_name, &[]))
    }

    /// A client certificate of `user`, a member of `groups`.
    pub fn client(&self, user: &str, groups: &[&str]) -> Result<Identity, Error> {
        let mut params = CertificateParams::default();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.identity(params, &CertificateSubject::new(user, groups))
    }

    fn identity(&self, mut params: CertificateParams, subject: &CertificateSubject) -> Result<Identity, Error> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.not_before = rcgen::date_time_ymd(2024, 1, 1);
        params.not_after = rcgen::date_time_ymd(2124, 1, 1);
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(Error::certificate)?;
        let certificate = self.signed(params, &key, subject).map_err(Error::certificate)?;
        Ok(Identity { certificate, key: key.serialize_pem() })
    }

    /// A certificate in PEM for a key and a subject.
    fn signed(
        &self,
        mut params: CertificateParams,
        key: &impl PublicKeyData,
        subject: &CertificateSubject,
    ) -> Result<String, String> {
        params.distinguished_name = DistinguishedName::new();
        let certificate = params.signed_by(key, &self.issuer).map_err(|error| error.to_string())?;
        let der = renamed(certificate.der(), &self.subject, subject, self.issuer.key())?;
        let lines = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
        Ok(pem::encode_config(&pem::Pem::new("CERTIFICATE", der), lines))
    }
}

/// Certificates with the names of the request and the requested usages, and nothing else.
///
/// In Kubernetes: `authority.PermissiveSigningPolicy`.
impl SignsCertificates for Authority {
    fn certificate(&self) -> Result<String, String> {
        Ok(self.certificate.clone())
    }

    fn sign(&self, order: &CertificateOrder) -> Result<String, String> {
        let (_, request) = X509CertificationRequest::from_der(&order.request)
            .map_err(|error| format!("unable to parse certificate request: {error}"))?;
        let verified = request.verify_signature();
        verified.map_err(|error| format!("unable to verify certificate request signature: {error}"))?;
        let asked = &request.certification_request_info;
        let key = SubjectPublicKeyInfo::from_der(asked.subject_pki.raw).map_err(|error| error.to_string())?;
        let mut params = CertificateParams::default();
        let subject = match &order.uri {
            Some(uri) => {
                let uri = uri.as_str().try_into().map_err(|error: rcgen::Error| error.to_string())?;
                params.subject_alt_names = vec![SanType::URI(uri)];
                CertificateSubject::default()
            }
            None => {
                params.subject_alt_names = alternative_names(&request)?;
                CertificateSubject::read(&asked.subject)?
            }
        };
        (params.key_usages, params.extended_key_usages) = usages(&order.usages)?;
        params.is_ca = IsCa::ExplicitNoCa;
        params.use_authority_key_identifier_extension = true;
        params.serial_number = Some(order.serial.clone().into());
        let epoch = rcgen::date_time_ymd(1970, 1, 1);
        let at = |time: Timestamp| epoch + std::time::Duration::from_secs(time.as_second().max(0).unsigned_abs());
        if order.now >= self.not_after {
            return Err(format!("the signer has expired: NotAfter={}", format_time(self.not_after)));
        }
        params.not_before = at(order.not_before);
        params.not_after = at(order.not_after.min(self.not_after));
        self.signed(params, &key, &subject)
    }
}

/// The requested alternative names of the types that Go reads.
fn alternative_names(request: &X509CertificationRequest<'_>) -> Result<Vec<SanType>, String> {
    let extensions = request.requested_extensions().into_iter().flatten();
    let names = extensions.filter_map(|extension| match extension {
        ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
        _ => None,
    });
    let text = |text: &str| text.try_into().map_err(|error: rcgen::Error| error.to_string());
    let mut found = Vec::new();
    for name in names.flatten() {
        found.push(match name {
            GeneralName::DNSName(name) => SanType::DnsName(text(name)?),
            GeneralName::RFC822Name(name) => SanType::Rfc822Name(text(name)?),
            GeneralName::URI(name) => SanType::URI(text(name)?),
            GeneralName::IPAddress(bytes) => {
                let four = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
                let address = four.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from));
                SanType::IpAddress(
                    address.map_err(|_| format!("x509: cannot parse IP address of length {}", bytes.len()))?,
                )
            }
            _ => continue,
        });
    }
    Ok(found)
}

fn moment(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX)
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "coracle-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::CrlSign];
    params.not_before = rcgen::date_time_ymd(2024, 1, 1);
    params.not_after = rcgen::date_time_ymd(2124, 1, 1);
    params
}

/// A new key that signs service account tokens, PEM.
pub fn new_service_account_key() -> Result<String, Error> {
    Ok(KeyPair::generate().map_err(Error::certificate)?.serialize_pem())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_expires_with_its_authority_and_none_is_issued_later() {
        let authority = Authority::new().unwrap();
        let request = CertificateParams::default().serialize_request(&KeyPair::generate().unwrap()).unwrap();
        let at = |year: i16| Timestamp::from_second((i64::from(year) - 1970) * 31_556_952).unwrap();
        let order = |now, until| CertificateOrder {
            request: request.der().to_vec(),
            usages: vec!["client auth".to_owned()],
            not_before: at(now),
            not_after: at(until),
            now: at(now),
            serial: vec![1],
            uri: None,
        };
        let signed = authority.sign(&order(2100, 2200)).unwrap();
        let signed = certificates(&signed).unwrap();
        let (_, certificate) = parse_x509_certificate(&signed[0]).unwrap();
        assert_eq!(moment(certificate.validity().not_after.timestamp()), authority.not_after);
        assert!(authority.sign(&order(2130, 2131)).unwrap_err().starts_with("the signer has expired: NotAfter=2124"));
    }

    /// A request in DER for these attributes of a subject, as `2.5.4.x`; rcgen writes each number once.
    fn request(attributes: &[(DnType, &str)]) -> Vec<u8> {
        let mut params = CertificateParams::new(["a.example".to_owned()]).unwrap();
        params.distinguished_name = DistinguishedName::new();
        for (kind, value) in attributes {
            params.distinguished_name.push(kind.clone(), *value);
        }
        params.serialize_request(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn a_signed_certificate_keeps_all_organizations_and_the_last_name_and_verifies() {
        let authority = Authority::new().unwrap();
        let attributes = [
            (DnType::OrganizationName, "a"),
            (DnType::CustomDnType(vec![2, 5, 4, 10]), "b"),
            (DnType::CommonName, "first"),
            (DnType::CustomDnType(vec![2, 5, 4, 3]), "dave"),
            (DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]), "a uid of the requester's choice"),
        ];
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let order = CertificateOrder {
            request: request(&attributes),
            usages: vec!["client auth".to_owned()],
            not_before: now,
            not_after: now,
            now,
            serial: vec![1],
            uri: None,
        };
        let signed = certificates(&authority.sign(&order).unwrap()).unwrap();
        let user = coracle_auth::certified_user(&signed[0]).unwrap();
        assert_eq!(
            (user.name.as_str(), user.uid.as_str(), user.groups.as_slice()),
            ("dave", "", &["a", "b"].map(str::to_owned)[..])
        );
        let (_, certificate) = parse_x509_certificate(&signed[0]).unwrap();
        let authority = certificates(authority.certificate()).unwrap();
        let (_, authority) = parse_x509_certificate(&authority[0]).unwrap();
        certificate.verify_signature(Some(authority.public_key())).unwrap();
        assert_eq!(certificate.issuer().as_raw(), authority.subject().as_raw());
        let names = certificate.subject_alternative_name().unwrap().unwrap().value;
        assert_eq!(names.general_names, [GeneralName::DNSName("a.example")]);
    }

    #[test]
    fn an_authority_of_a_seed_signs_the_same_certificate_twice_and_it_has_only_the_ordered_uri() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let key = PrivateKey::generate(KeyType::Ed25519, &Random::from_seed(1)).unwrap();
        let order = CertificateOrder {
            request: key.certificate_request().unwrap(),
            usages: vec!["client auth".to_owned()],
            not_before: now,
            not_after: now,
            now,
            serial: vec![1],
            uri: Some("spiffe://cluster.local/ns/a/sa/b".to_owned()),
        };
        let sign = || Authority::of_random(&Random::from_seed(7)).unwrap().sign(&order).unwrap();
        assert_eq!(sign(), sign());
        let signed = certificates(&sign()).unwrap();
        let (_, certificate) = parse_x509_certificate(&signed[0]).unwrap();
        let names = certificate.subject_alternative_name().unwrap().unwrap();
        assert_eq!(names.value.general_names, [GeneralName::URI("spiffe://cluster.local/ns/a/sa/b")]);
        assert!(coracle_auth::certified_user(&signed[0]).is_none(), "it authenticates no user of the API");
        let authority = Authority::of_random(&Random::from_seed(7)).unwrap();
        let authority = certificates(authority.certificate()).unwrap();
        let (_, authority) = parse_x509_certificate(&authority[0]).unwrap();
        certificate.verify_signature(Some(authority.public_key())).unwrap();
    }

    #[test]
    fn a_client_is_in_all_of_its_groups() {
        let client = Authority::new().unwrap().client("ann", &["a", "b"]).unwrap();
        let user = coracle_auth::certified_user(&certificates(&client.certificate).unwrap()[0]).unwrap();
        assert_eq!((user.name.as_str(), user.groups), ("ann", vec!["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn an_authority_is_found_again_and_half_of_one_is_refused() {
        let folder = std::env::temp_dir().join(format!("coracle-authority-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let first = Authority::open(&folder).unwrap();
        assert_eq!(Authority::open(&folder).unwrap().certificate(), first.certificate());
        std::fs::remove_file(folder.join(KEY_FILE)).unwrap();
        assert!(Authority::open(&folder).unwrap_err().to_string().contains("ca.key"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
