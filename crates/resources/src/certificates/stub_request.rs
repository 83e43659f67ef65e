use coracle_meta::FieldError;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;
use x509_parser::x509::SubjectPublicKeyInfo;

use super::encoded_request;

const LONGEST: usize = 10 << 10;
/// The lengths of RSA keys in bits.
const RSA_BITS: [usize; 2] = [3072, 4096];

const ED25519: &str = "1.3.101.112";
const EC: &str = "1.2.840.10045.2.1";
const RSA: &str = "1.2.840.113549.1.1.1";

/// The error of a PKCS#10 request in DER that only proves the possession of a key. The subject of the request does not
/// matter. In Kubernetes: `validateStubPKCS10Request`.
pub(super) fn wrong(der: &[u8], path: &str) -> Option<FieldError> {
    if der.len() > LONGEST {
        return Some(FieldError::too_long(path, LONGEST));
    }
    let unreadable = || Some(FieldError::invalid_unprinted(path, "must be a valid PKCS#10 CSR"));
    let Some(request) = parsed(der) else { return unreadable() };
    let key = &request.certification_request_info.subject_pki;
    match key.algorithm.algorithm.to_id_string().as_str() {
        ED25519 => {}
        EC => match curve(key) {
            None => return unreadable(),
            Some("P-224") => {
                let what = "elliptic public keys must use curve P256, P384, or P521";
                return Some(FieldError::invalid(path, "curve P-224", what));
            }
            Some(_) => {}
        },
        RSA => {
            let Ok(PublicKey::RSA(rsa)) = key.parsed() else { return unreadable() };
            let bits = rsa.key_size().next_multiple_of(8);
            if !RSA_BITS.contains(&bits) {
                let what = "RSA keys must have modulus size 3072 or 4096";
                return Some(FieldError::invalid(path, format!("{bits}-bit modulus"), what));
            }
        }
        _ => {
            let what = "unknown public key type; supported types are Ed25519, ECDSA, and RSA";
            return Some(FieldError::invalid_unprinted(path, what));
        }
    }
    let problem = encoded_request::signature_problem(&request);
    problem.map(|_| FieldError::invalid_unprinted(path, "invalid signature"))
}

/// A request that is the whole of `der`.
pub(super) fn parsed(der: &[u8]) -> Option<X509CertificationRequest<'_>> {
    let (rest, request) = X509CertificationRequest::from_der(der).ok()?;
    rest.is_empty().then_some(request)
}

/// The curve of a key, if Go knows it.
fn curve(key: &SubjectPublicKeyInfo<'_>) -> Option<&'static str> {
    let curve = key.algorithm.parameters.as_ref()?.as_oid().ok()?;
    match curve.to_id_string().as_str() {
        "1.3.132.0.33" => Some("P-224"),
        "1.2.840.10045.3.1.7" => Some("P-256"),
        "1.3.132.0.34" => Some("P-384"),
        "1.3.132.0.35" => Some("P-521"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519};

    use super::*;

    fn problem(der: &[u8]) -> Option<String> {
        wrong(der, "r").map(|error| error.message())
    }

    #[test]
    fn a_request_proves_that_its_sender_has_the_key() {
        for algorithm in [&PKCS_ED25519, &PKCS_ECDSA_P256_SHA256] {
            let key = KeyPair::generate_for(algorithm).unwrap();
            let request = CertificateParams::new(Vec::<String>::new()).unwrap().serialize_request(&key).unwrap();
            let mut der = request.der().to_vec();
            assert_eq!(problem(&der), None);
            *der.last_mut().unwrap() ^= 1;
            assert_eq!(problem(&der).as_deref(), Some("r: Invalid value: invalid signature"));
            der.push(0);
            assert_eq!(problem(&der).as_deref(), Some("r: Invalid value: must be a valid PKCS#10 CSR"));
        }
        let what = "r: Too long: may not be more than 10240 bytes";
        assert_eq!(problem(&[0; LONGEST + 1]).as_deref(), Some(what));
    }
}
