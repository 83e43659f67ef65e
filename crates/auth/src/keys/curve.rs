use p521::ecdsa::signature::Verifier;
use ring::signature::{ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, UnparsedPublicKey};

/// An elliptic curve of keys for tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Curve {
    P256,
    P384,
    P521,
}

impl Curve {
    pub(super) const ALL: [Self; 3] = [Self::P256, Self::P384, Self::P521];

    /// Its name in DER, the identifier with tag and length.
    pub(super) fn identifier(self) -> &'static [u8] {
        match self {
            Self::P256 => &[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07],
            Self::P384 => &[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22],
            Self::P521 => &[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23],
        }
    }

    /// The curve of an identifier.
    pub(super) fn identified(identifier: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|curve| curve.identifier() == identifier)
    }

    /// Its name in a JSON Web Key.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::P256 => "P-256",
            Self::P384 => "P-384",
            Self::P521 => "P-521",
        }
    }

    /// The algorithm of tokens with this curve.
    pub(super) fn algorithm(self) -> &'static str {
        match self {
            Self::P256 => "ES256",
            Self::P384 => "ES384",
            Self::P521 => "ES512",
        }
    }

    /// The length of a coordinate in bytes.
    pub(super) fn coordinate_length(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        }
    }

    /// Whether the signature of the message is valid for the key at `point` (uncompressed).
    pub(super) fn verifies(self, point: &[u8], message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::P256 => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature).is_ok(),
            Self::P384 => UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point).verify(message, signature).is_ok(),
            Self::P521 => {
                let key = p521::ecdsa::VerifyingKey::from_sec1_bytes(point);
                let signature = p521::ecdsa::Signature::from_slice(signature);
                key.ok().zip(signature.ok()).is_some_and(|(key, signature)| key.verify(message, &signature).is_ok())
            }
        }
    }
}
