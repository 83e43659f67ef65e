//! Private keys as people have them: in any of the three forms of PEM, brought into the one that libraries read.

use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const SEQUENCE: u8 = 0x30;
/// `[0]` of an `ECPrivateKey`: the curve.
const PARAMETERS: u8 = 0xa0;

/// `rsaEncryption`, and that it has no parameters.
const RSA: [u8; 13] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
/// `id-ecPublicKey`; the curve follows.
const EC: [u8; 9] = [0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];

/// There is no private key in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("data does not contain a valid RSA or ECDSA private key")]
pub struct NoPrivateKey;

/// The first private key of a PEM text, in PKCS#8. In Kubernetes: `keyutil.ParsePrivateKeyPEM`.
///
/// # Errors
/// If there is none; blocks of other kinds are passed over.
pub fn private_key(pem: &str) -> Result<Vec<u8>, NoPrivateKey> {
    match PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| NoPrivateKey)? {
        PrivateKeyDer::Pkcs8(key) => Ok(key.secret_pkcs8_der().to_vec()),
        PrivateKeyDer::Pkcs1(key) => Ok(wrapped(&RSA, key.secret_pkcs1_der())),
        PrivateKeyDer::Sec1(key) => {
            let key = key.secret_sec1_der();
            let curve = curve(key).ok_or(NoPrivateKey)?;
            Ok(wrapped(&[&EC, curve].concat(), key))
        }
        _ => Err(NoPrivateKey),
    }
}

/// A key in PKCS#8: the version, whose key it is, and the key.
fn wrapped(algorithm: &[u8], key: &[u8]) -> Vec<u8> {
    let parts = [element(INTEGER, &[0]), element(SEQUENCE, algorithm), element(OCTET_STRING, key)];
    element(SEQUENCE, &parts.concat())
}

/// The name of the curve of an `ECPrivateKey`, which comes after its version and the key itself.
fn curve(key: &[u8]) -> Option<&[u8]> {
    let (_, content, _) = split(key)?;
    let (_, _, rest) = split(content)?;
    let (_, _, rest) = split(rest)?;
    let (tag, curve, _) = split(rest)?;
    (tag == PARAMETERS).then_some(curve)
}

/// The tag of the first element of DER, its content, and what follows.
fn split(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..0x80 => (usize::from(first), rest),
        _ => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let length =
                digits.iter().try_fold(0_usize, |sum, digit| sum.checked_mul(256)?.checked_add((*digit).into()));
            (length?, rest)
        }
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// An element of DER.
pub(crate) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let digits = &length[length.iter().take_while(|digit| **digit == 0).count()..];
    let head = match content.len() {
        short @ 0..0x80 => vec![tag, short as u8],
        _ => [&[tag, 0x80 | digits.len() as u8], digits].concat(),
    };
    [&head, content].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    /// The key that PKCS#8 holds, as it is written without it.
    fn bare(pkcs8: &[u8], block: &str, curve: Option<&[u8]>) -> String {
        let (_, content, _) = split(pkcs8).unwrap();
        let (_, _, rest) = split(content).unwrap();
        let (_, _, rest) = split(rest).unwrap();
        let (_, key, _) = split(rest).unwrap();
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
    fn what_is_no_key_is_refused() {
        assert_eq!(private_key(""), Err(NoPrivateKey));
        let block = "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n";
        assert_eq!(private_key(block), Err(NoPrivateKey));
    }

    proptest! {
        #[test]
        fn an_element_is_read_as_it_was_written(content in proptest::collection::vec(any::<u8>(), 0..70_000)) {
            let written = element(OCTET_STRING, &content);
            prop_assert_eq!(split(&written), Some((OCTET_STRING, content.as_slice(), [].as_slice())));
        }

        #[test]
        fn no_der_panics(der in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = curve(&der);
        }
    }
}
