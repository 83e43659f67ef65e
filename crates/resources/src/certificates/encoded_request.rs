use p521::ecdsa::signature::Verifier;
use p521::ecdsa::{Signature, VerifyingKey};
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA384_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ED25519,
    RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY,
    RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY, RSA_PKCS1_2048_8192_SHA384, UnparsedPublicKey,
    VerificationAlgorithm,
};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;

use crate::pem_block::PemBlock;

/// Why text is not a certificate request in PEM that its own key has signed, in the words of Go.
/// In Kubernetes: `certificates.ParseCSR` and `CertificateRequest.CheckSignature`.
///
/// Not verified are the signatures of the curve P-224, and of hashes that are not those of their curve.
pub(super) fn problem(text: &[u8]) -> Option<String> {
    let Some((block, _)) = PemBlock::first(text).filter(|(block, _)| block.label == "CERTIFICATE REQUEST") else {
        return Some("PEM block type must be CERTIFICATE REQUEST".to_owned());
    };
    if let Err(problem) = whole_sequence(&block.bytes) {
        return Some(problem);
    }
    match X509CertificationRequest::from_der(&block.bytes) {
        Ok((_, request)) => signature_problem(&request),
        Err(_) => Some("asn1: structure error: malformed certificate request".to_owned()),
    }
}

/// Whether DER is one sequence from its first byte to its last.
fn whole_sequence(der: &[u8]) -> Result<(), String> {
    let syntax = |what: &str| Err(format!("asn1: syntax error: {what}"));
    let (first, length, content) = match *der {
        [] => return syntax("sequence truncated"),
        [_] => return syntax("truncated tag or length"),
        [first, length @ 0..0x80, ref content @ ..] => (first, usize::from(length), content),
        [first, octets, ref rest @ ..] => {
            let octets = usize::from(octets & 0x7f);
            if !(1..=4).contains(&octets) {
                return Err("asn1: structure error: length too large".to_owned());
            }
            let Some((length, content)) = rest.split_at_checked(octets) else {
                return syntax("truncated tag or length");
            };
            (first, length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), content)
        }
    };
    if first != 0x30 {
        let (class, tag, compound) = (first >> 6, first & 0x1f, first & 0x20 != 0);
        return Err(format!(
            "asn1: structure error: tags don't match (16 vs {{class:{class} tag:{tag} length:{length} \
             isCompound:{compound}}}) {{optional:false explicit:false application:false private:false \
             defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false}} certificateRequest @2"
        ));
    }
    match content.len().cmp(&length) {
        std::cmp::Ordering::Less => syntax("data truncated"),
        std::cmp::Ordering::Greater => syntax("trailing data"),
        std::cmp::Ordering::Equal if content.is_empty() => syntax("sequence truncated"),
        std::cmp::Ordering::Equal => Ok(()),
    }
}

const RSA: &str = "crypto/rsa: verification error";
const ECDSA: &str = "x509: ECDSA verification failure";

pub(super) fn signature_problem(request: &X509CertificationRequest<'_>) -> Option<String> {
    let subject_key = &request.certification_request_info.subject_pki;
    let curve = subject_key.algorithm.parameters.as_ref().and_then(|curve| curve.as_oid().ok());
    let curve = curve.map(|oid| oid.to_id_string()).unwrap_or_default();
    let is_p384 = curve == "1.3.132.0.34";
    let is_known_curve = is_p384 || curve == "1.2.840.10045.3.1.7";
    if let Ok(PublicKey::RSA(key)) = subject_key.parsed()
        && key.key_size() < 1024
    {
        let bits = key.key_size();
        return Some(format!(
            "crypto/rsa: {bits}-bit keys are insecure (see https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)"
        ));
    }
    let signature = request.signature_algorithm.algorithm.to_id_string();
    if curve == "1.3.132.0.35" && signature == "1.2.840.10045.4.3.4" {
        return (!is_signed_with_p521(request)).then(|| ECDSA.to_owned());
    }
    let (algorithm, failure): (&dyn VerificationAlgorithm, &str) = match signature.as_str() {
        "1.2.840.113549.1.1.5" => (&RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA),
        "1.2.840.113549.1.1.11" => (&RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY, RSA),
        "1.2.840.113549.1.1.12" => (&RSA_PKCS1_2048_8192_SHA384, RSA),
        "1.2.840.113549.1.1.13" => (&RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY, RSA),
        "1.2.840.10045.4.3.2" if is_p384 => (&ECDSA_P384_SHA256_ASN1, ECDSA),
        "1.2.840.10045.4.3.2" if is_known_curve => (&ECDSA_P256_SHA256_ASN1, ECDSA),
        "1.2.840.10045.4.3.3" if is_p384 => (&ECDSA_P384_SHA384_ASN1, ECDSA),
        "1.2.840.10045.4.3.3" if is_known_curve => (&ECDSA_P256_SHA384_ASN1, ECDSA),
        "1.2.840.10045.4.1" | "1.2.840.10045.4.3.2" | "1.2.840.10045.4.3.3" | "1.2.840.10045.4.3.4" => return None,
        "1.3.101.112" => (&ED25519, "x509: Ed25519 verification failure"),
        "1.2.840.113549.1.1.4" => {
            return Some("x509: cannot verify signature: insecure algorithm MD5-RSA".to_owned());
        }
        _ => return Some("x509: cannot verify signature: algorithm unimplemented".to_owned()),
    };
    let key = UnparsedPublicKey::new(algorithm, &subject_key.subject_public_key.data);
    let signed = request.certification_request_info.raw;
    key.verify(signed, &request.signature_value.data).err().map(|_| failure.to_owned())
}

/// Whether a key of the curve P-521, which `ring` does not implement, has signed a request with SHA-512.
fn is_signed_with_p521(request: &X509CertificationRequest<'_>) -> bool {
    let info = &request.certification_request_info;
    let key = VerifyingKey::from_sec1_bytes(&info.subject_pki.subject_public_key.data);
    let signature = Signature::from_der(&request.signature_value.data);
    key.ok().zip(signature.ok()).is_some_and(|(key, signature)| key.verify(info.raw, &signature).is_ok())
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, SignatureAlgorithm};

    use super::*;

    fn der(algorithm: &'static SignatureAlgorithm) -> Vec<u8> {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let request = CertificateParams::new(Vec::<String>::new()).unwrap().serialize_request(&key).unwrap();
        request.der().to_vec()
    }

    fn problem_of(der: &[u8]) -> Option<String> {
        let encoded = STANDARD.encode(der);
        let pem = format!("-----BEGIN CERTIFICATE REQUEST-----\n{encoded}\n-----END CERTIFICATE REQUEST-----\n");
        problem(pem.as_bytes())
    }

    #[test]
    fn a_request_is_signed_by_its_own_key() {
        let failures = [(&PKCS_ECDSA_P384_SHA384, ECDSA), (&PKCS_ED25519, "x509: Ed25519 verification failure")];
        for (algorithm, failure) in failures {
            let mut request = der(algorithm);
            assert_eq!(problem_of(&request), None);
            *request.last_mut().unwrap() ^= 1;
            assert_eq!(problem_of(&request).as_deref(), Some(failure));
        }
    }

    #[test]
    fn damaged_requests_are_refused_in_the_words_of_go() {
        let request = der(&PKCS_ED25519);
        let longer = [request.as_slice(), b"xx"].concat();
        for (der, expected) in [
            (&b""[..], "asn1: syntax error: sequence truncated"),
            (&b"\x30"[..], "asn1: syntax error: truncated tag or length"),
            (&b"\x30\x00"[..], "asn1: syntax error: sequence truncated"),
            (&request[..40], "asn1: syntax error: data truncated"),
            (&longer, "asn1: syntax error: trailing data"),
        ] {
            assert_eq!(problem_of(der).as_deref(), Some(expected), "{der:?}");
        }
        let tags = problem_of(b"\x31\x00").unwrap_or_default();
        assert!(tags.starts_with("asn1: structure error: tags don't match (16 vs {class:0 tag:17"), "{tags}");
    }
}
