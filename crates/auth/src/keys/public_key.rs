use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use sha2::{Digest, Sha256};
use x509_parser::public_key::PublicKey as ParsedKey;
use x509_parser::x509::SubjectPublicKeyInfo;

use super::curve::Curve;
use super::der::{BIT_STRING, EC, RSA, SEQUENCE, element, number, significant};

/// The minimum length of an RSA key in bits.
const RSA_BITS: usize = 2048;

/// A key that verifies tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PublicKey {
    /// RSA.
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    /// An elliptic-curve key; the point is not compressed.
    Ec { curve: Curve, point: Vec<u8> },
}

impl PublicKey {
    /// The key of a `SubjectPublicKeyInfo`; `None` if its type is not supported for tokens.
    pub(super) fn of(key: &SubjectPublicKeyInfo<'_>) -> Option<Self> {
        match key.parsed().ok()? {
            ParsedKey::RSA(rsa) => {
                let modulus = significant(rsa.modulus).to_vec();
                (modulus.len() * 8 >= RSA_BITS)
                    .then(|| Self::Rsa { modulus, exponent: significant(rsa.exponent).to_vec() })
            }
            ParsedKey::EC(point) => {
                let identifier = key.algorithm.parameters.as_ref()?.as_oid().ok()?;
                let curve = Curve::identified(&element(0x06, identifier.as_bytes()))?;
                let point = point.data().to_vec();
                (point.len() == 1 + 2 * curve.coordinate_length() && point.first() == Some(&4))
                    .then_some(Self::Ec { curve, point })
            }
            _ => None,
        }
    }

    /// The only algorithm of its tokens, as in their header.
    pub(crate) fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa { .. } => "RS256",
            Self::Ec { curve, .. } => curve.algorithm(),
        }
    }

    /// The key id: the hash of the key in DER. In Kubernetes: `keyIDFromPublicKey`.
    pub(crate) fn id(&self) -> String {
        let (algorithm, bits) = match self {
            Self::Rsa { modulus, exponent } => {
                (RSA.to_vec(), element(SEQUENCE, &[number(modulus), number(exponent)].concat()))
            }
            Self::Ec { curve, point } => ([EC.as_slice(), curve.identifier()].concat(), point.clone()),
        };
        let bits = element(BIT_STRING, &[&[0], bits.as_slice()].concat());
        let whole = element(SEQUENCE, &[element(SEQUENCE, &algorithm), bits].concat());
        URL_SAFE_NO_PAD.encode(Sha256::digest(whole))
    }

    /// Whether the signature of the message is valid for this key.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Rsa { modulus, exponent } => RsaPublicKeyComponents { n: modulus, e: exponent }
                .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
                .is_ok(),
            Self::Ec { curve, point } => curve.verifies(point, message, signature),
        }
    }

    /// The members of the JSON Web Key: the key type and the numbers.
    pub(crate) fn parameters(&self) -> Vec<(&'static str, String)> {
        let number = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match self {
            Self::Rsa { modulus, exponent } => {
                vec![("kty", "RSA".to_owned()), ("n", number(modulus)), ("e", number(exponent))]
            }
            Self::Ec { curve, point } => {
                let (x, y) = point[1..].split_at(curve.coordinate_length());
                vec![("kty", "EC".to_owned()), ("crv", curve.name().to_owned()), ("x", number(x)), ("y", number(y))]
            }
        }
    }
}
