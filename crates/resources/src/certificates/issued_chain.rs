use coracle_ambient::Timestamp;
use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, parse_time};
use serde_json::Value;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

use super::{decoded, stub_request};
use crate::field_checks::Wrong;
use crate::pem_block::PemBlock;

const LONGEST: usize = 100 << 10;
const CHAIN: &str = "status.certificateChain";
/// The seconds that the beginning of a certificate may differ from now.
const SKEW: i64 = 5 * 60;
/// The seconds after the beginning and before the end of a certificate in which it is not renewed.
const MARGIN: i64 = 10 * 60;

/// The errors of the status of an issued request: the chain fits the key, and the times fit the certificate.
pub(super) fn wrong(status: &Value, spec: &Value, now: Timestamp) -> Wrong {
    let chain = status.text("certificateChain");
    if chain.len() > LONGEST {
        return vec![FieldError::too_long(CHAIN, LONGEST)];
    }
    let invalid = |what: &str| vec![FieldError::invalid(CHAIN, chain, what)];
    let Some((block, rest)) = PemBlock::first(chain.as_bytes()) else {
        return invalid("issued certificate chain must contain at least one certificate");
    };
    if block.label != "CERTIFICATE" {
        return invalid("issued certificate chain must consist entirely of CERTIFICATE PEM blocks");
    }
    let Ok(([], leaf)) = X509Certificate::from_der(&block.bytes) else {
        return invalid("leaf certificate does not parse as valid X.509");
    };
    let mut wrong = wrong_subject_names(&leaf);
    let request = decoded(spec.at("stubPKCS10Request"));
    let Some(request) = stub_request::parsed(&request) else {
        wrong.push(FieldError::invalid_unprinted("spec.stubPKCS10Request", "must be a valid PKCS#10 CSR"));
        return wrong;
    };
    if request.certification_request_info.subject_pki.raw != leaf.public_key().raw {
        wrong.extend(invalid("leaf certificate was not issued to the requested public key"));
        return wrong;
    }
    wrong.extend(wrong_times(status));
    if wrong.is_empty() {
        wrong.extend(wrong_validity(status, spec, &leaf, now).or_else(|| wrong_rest(chain, rest)));
    }
    wrong
}

/// The errors of the names in a certificate.
fn wrong_subject_names(leaf: &X509Certificate<'_>) -> Wrong {
    let mut wrong = Wrong::new();
    let names = leaf.subject_alternative_name().ok().flatten();
    for name in names.iter().flat_map(|names| &names.value.general_names) {
        let mut refuse = |name: &str, what: &str| wrong.push(FieldError::invalid(CHAIN, name, what));
        match *name {
            GeneralName::DNSName("") => refuse("", "leaf certificate should not contain empty DNSName"),
            GeneralName::DNSName(name) => {
                if name.contains("..") {
                    refuse(name, "leaf certificate's DNSName should not contain '..'");
                }
                if name.starts_with('.') || name.ends_with('.') {
                    refuse(name, "leaf certificate's DNSName should not start or end with '.'");
                }
            }
            GeneralName::RFC822Name(name) if !is_mail_address(name) => {
                refuse(name, "leaf certificate should not contain invalid EmailAddress");
            }
            _ => {}
        }
    }
    wrong
}

/// Whether a text is a plain address of a mailbox, `local@domain`.
fn is_mail_address(text: &str) -> bool {
    let is_sign = |sign: char| sign.is_alphanumeric() || "!#$%&'*+/=?^_`{|}~-".contains(sign);
    let is_part = |part: &str| part.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_sign));
    text.split_once('@').is_some_and(|(local, domain)| is_part(local) && is_part(domain))
}

fn time(status: &Value, field: &str) -> Option<Timestamp> {
    parse_time(status.text(field))
}

/// All times are required.
fn wrong_times(status: &Value) -> Wrong {
    const AS_ISSUED: &str = "must be present and consistent with the issued certificate";
    let times = [
        ("notBefore", AS_ISSUED),
        ("notAfter", AS_ISSUED),
        ("beginRefreshAt", "must be present and in the range [notbefore+10min, notafter-10min]"),
    ];
    let missing = times.into_iter().filter(|(field, _)| time(status, field).is_none());
    missing.map(|(field, what)| FieldError::required(format!("status.{field}"), what)).collect()
}

/// The first error of the times.
fn wrong_validity(status: &Value, spec: &Value, leaf: &X509Certificate<'_>, now: Timestamp) -> Option<FieldError> {
    let seconds = |field: &str| time(status, field).map_or(0, Timestamp::as_second);
    let invalid =
        |field: &str, what: &str| Some(FieldError::invalid(format!("status.{field}"), status.text(field), what));
    let (begin, end) = (leaf.validity().not_before.timestamp(), leaf.validity().not_after.timestamp());
    if seconds("notBefore") != begin {
        return invalid("notBefore", "must be set to the NotBefore time encoded in the leaf certificate");
    }
    if (begin - now.as_second()).abs() >= SKEW {
        return invalid("notBefore", "must be set to within 5 minutes of kube-apiserver's current time");
    }
    if seconds("notAfter") != end {
        return invalid("notAfter", "must be set to the NotAfter time encoded in the leaf certificate");
    }
    let (lifetime, most) = (end - begin, spec.int("maxExpirationSeconds"));
    let wrong_lifetime = |what: String| Some(FieldError::invalid(CHAIN, lifetime * 1_000_000_000, what));
    if lifetime < 60 * 60 {
        return wrong_lifetime("leaf certificate lifetime must be >= 1 hour".to_owned());
    }
    if lifetime > most {
        return wrong_lifetime(format!("leaf certificate lifetime must be <= spec.maxExpirationSeconds ({most})"));
    }
    if seconds("beginRefreshAt") < begin + MARGIN {
        return invalid("beginRefreshAt", "must be at least 10 minutes after status.notBefore");
    }
    if seconds("beginRefreshAt") > end - MARGIN {
        return invalid("beginRefreshAt", "must be at least 10 minutes before status.notAfter");
    }
    None
}

/// The first error of the certificates behind the leaf.
fn wrong_rest(chain: &str, mut rest: &[u8]) -> Option<FieldError> {
    let invalid = |what: &str| Some(FieldError::invalid(CHAIN, chain, what));
    while let Some((block, after)) = PemBlock::first(rest) {
        if block.label != "CERTIFICATE" {
            return invalid("issued certificate chain must consist entirely of CERTFICATE PEM blocks");
        }
        let Ok(([], _)) = X509Certificate::from_der(&block.bytes) else {
            return invalid("intermediate certificate does not parse as valid X.509");
        };
        rest = after;
    }
    None
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};
    use serde_json::json;

    use super::*;

    const DAY: i64 = 24 * 60 * 60;

    fn spec(key: &KeyPair) -> Value {
        let request = CertificateParams::new(Vec::<String>::new()).unwrap().serialize_request(key).unwrap();
        json!({"stubPKCS10Request": STANDARD.encode(request.der()), "maxExpirationSeconds": DAY})
    }

    fn chain(key: &KeyPair, names: &[&str]) -> String {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = date_time_ymd(2026, 1, 1);
        params.not_after = date_time_ymd(2026, 1, 2);
        params.self_signed(key).unwrap().pem()
    }

    fn status(chain: &str) -> Value {
        json!({"certificateChain": chain, "notBefore": "2026-01-01T00:00:00Z", "notAfter": "2026-01-02T00:00:00Z",
            "beginRefreshAt": "2026-01-01T12:00:00Z"})
    }

    fn said(status: &Value, spec: &Value) -> Vec<String> {
        let now: Timestamp = "2026-01-01T00:04:59Z".parse().unwrap();
        wrong(status, spec, now).into_iter().map(|error| error.detail).collect()
    }

    #[test]
    fn a_certificate_of_the_requested_key_fits() {
        let key = KeyPair::generate().unwrap();
        assert_eq!(said(&status(&chain(&key, &["a.example"])), &spec(&key)), [""; 0]);
        let other = KeyPair::generate().unwrap();
        let what = "leaf certificate was not issued to the requested public key";
        assert_eq!(said(&status(&chain(&other, &[])), &spec(&key)), [what]);
        let what = "leaf certificate's DNSName should not contain '..'";
        assert_eq!(said(&status(&chain(&key, &["a..b"])), &spec(&key)), [what]);
    }

    #[test]
    fn the_times_are_those_of_the_certificate() {
        let key = KeyPair::generate().unwrap();
        let chain = chain(&key, &[]);
        for (field, time, what) in [
            ("notBefore", "2026-01-01T00:00:01Z", "must be set to the NotBefore time encoded in the leaf certificate"),
            ("notAfter", "2026-01-02T00:00:01Z", "must be set to the NotAfter time encoded in the leaf certificate"),
            ("beginRefreshAt", "2026-01-01T00:09:59Z", "must be at least 10 minutes after status.notBefore"),
            ("beginRefreshAt", "2026-01-01T23:50:01Z", "must be at least 10 minutes before status.notAfter"),
        ] {
            let mut status = status(&chain);
            status[field] = time.into();
            assert_eq!(said(&status, &spec(&key)), [what], "{field}");
        }
        let mut short = spec(&key);
        short["maxExpirationSeconds"] = (DAY - 1).into();
        let what = "leaf certificate lifetime must be <= spec.maxExpirationSeconds (86399)";
        assert_eq!(said(&status(&chain), &short), [what]);
        let late: Timestamp = "2026-01-01T00:05:00Z".parse().unwrap();
        assert_eq!(wrong(&status(&chain), &spec(&key), late).len(), 1);
    }

    #[test]
    fn the_whole_chain_holds_certificates() {
        let key = KeyPair::generate().unwrap();
        let leaf = chain(&key, &[]);
        assert_eq!(said(&status(&format!("{leaf}{leaf}")), &spec(&key)), [""; 0]);
        let junk = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let what = "intermediate certificate does not parse as valid X.509";
        assert_eq!(said(&status(&format!("{leaf}{junk}")), &spec(&key)), [what]);
        assert_eq!(said(&status(junk), &spec(&key)), ["leaf certificate does not parse as valid X.509"]);
        let what = "issued certificate chain must contain at least one certificate";
        assert_eq!(said(&status(""), &spec(&key)), [what]);
    }

    #[test]
    fn mail_addresses_are_those_of_mailboxes() {
        assert!(is_mail_address("a.b@c.example"));
        for wrong in ["", "a", "@b", "a@", "a@b@c", "a b@c"] {
            assert!(!is_mail_address(wrong), "{wrong}");
        }
    }
}
