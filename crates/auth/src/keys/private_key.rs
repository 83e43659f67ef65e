//! Private keys in any of the three PEM formats, converted to PKCS#8, which libraries read.

use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;

use super::der::{EC, INTEGER, OCTET_STRING, PARAMETERS, RSA, SEQUENCE, element, elements, split};

/// A text without a private key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("data does not contain a valid RSA or ECDSA private key")]
pub struct NoPrivateKey;

/// The first private key of a PEM text, in PKCS#8. In Kubernetes: `keyutil.ParsePrivateKeyPEM`.
///
/// # Errors
/// If there is no private key; other PEM blocks are ignored.
pub fn private_key(pem: &str) -> Result<Vec<u8>, NoPrivateKey> {
    pkcs8(&PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| NoPrivateKey)?).ok_or(NoPrivateKey)
}

/// Converts a private key to PKCS#8.
pub(super) fn pkcs8(key: &PrivateKeyDer<'_>) -> Option<Vec<u8>> {
    match key {
        PrivateKeyDer::Pkcs8(key) => Some(key.secret_pkcs8_der().to_vec()),
        PrivateKeyDer::Pkcs1(key) => Some(wrapped(&RSA, key.secret_pkcs1_der())),
        PrivateKeyDer::Sec1(key) => {
            let key = key.secret_sec1_der();
            Some(wrapped(&[&EC, curve(key)?].concat(), key))
        }
        _ => None,
    }
}

/// The algorithm and the key in a PKCS#8 document.
pub(super) fn unwrapped(pkcs8: &[u8]) -> Option<(&[u8], &[u8])> {
    let (SEQUENCE, content, _) = split(pkcs8)? else { return None };
    let parts: Vec<_> = elements(content).take(3).collect();
    match parts.as_slice() {
        [(INTEGER, _), (SEQUENCE, algorithm), (OCTET_STRING, key)] => Some((algorithm, key)),
        _ => None,
    }
}

/// The private scalar of an `ECPrivateKey`.
pub(super) fn scalar(key: &[u8]) -> Option<&[u8]> {
    let (SEQUENCE, content, _) = split(key)? else { return None };
    elements(content).nth(1).filter(|(tag, _)| *tag == OCTET_STRING).map(|(_, scalar)| scalar)
}

/// A key in PKCS#8: version, algorithm and key.
fn wrapped(algorithm: &[u8], key: &[u8]) -> Vec<u8> {
    let parts = [element(INTEGER, &[0]), element(SEQUENCE, algorithm), element(OCTET_STRING, key)];
    element(SEQUENCE, &parts.concat())
}

/// The identifier of the curve of an `ECPrivateKey`, which follows its version and the key itself.
fn curve(key: &[u8]) -> Option<&[u8]> {
    let (_, content, _) = split(key)?;
    elements(content).nth(2).filter(|(tag, _)| *tag == PARAMETERS).map(|(_, curve)| curve)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    /// The key that PKCS#8 holds, as it is written without it.
    fn bare(pkcs8: &[u8], block: &str, curve: Option<&[u8]>) -> String {
        let (_, key) = unwrapped(pkcs8).unwrap();
        let key = match curve {
            None => key.to_vec(),
            Some(curve) => {
                let (_, content, _) = split(key).unwrap();
                let before = content.len() - split(split(content).unwrap().2).unwrap().2.len();
                let (head, public) = content.split_at(before);
                element(SEQUENCE, &[head, &element(PARAMETERS, curve), public].concat())
            }
        };
        format!("-----BEGIN {block}-----\n{}\n-----END {block}-----\n", STANDARD.encode(key))
    }

    #[test]
    fn a_key_is_the_same_in_whichever_form_it_is_written() {
        let p256 = [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
        let key = rcgen::KeyPair::generate().unwrap();
        let whole = private_key(&key.serialize_pem()).unwrap();
        assert_eq!(whole, key.serialize_der());
        let parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
        let short = private_key(&(parameters.to_owned() + &bare(&whole, "EC PRIVATE KEY", Some(&p256)))).unwrap();
        let read = rcgen::KeyPair::try_from(short.as_slice()).unwrap();
        assert_eq!(read.public_key_raw(), key.public_key_raw());
    }

    #[test]
    fn invalid_keys_are_refused() {
        assert_eq!(private_key(""), Err(NoPrivateKey));
        let block = "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n";
        assert_eq!(private_key(block), Err(NoPrivateKey));
    }

    proptest! {
        #[test]
        fn no_der_panics(der in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = (curve(&der), unwrapped(&der), scalar(&der));
        }
    }
}
