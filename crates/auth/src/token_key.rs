//! The keys that tokens are signed with: P-256 (ES256), or RSA (RS256).
//!
//! In Kubernetes: `signerFromECDSAPrivateKey` and `signerFromRSAPrivateKey` of `pkg/serviceaccount/jwt.go`.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_SHA256, RsaKeyPair, UnparsedPublicKey,
};
use sha2::{Digest, Sha256};

use crate::private_key::element;

/// What an uncompressed P-256 point begins with in DER (`SubjectPublicKeyInfo`).
const POINT_HEAD: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// That a key is one of RSA, in DER (`AlgorithmIdentifier`).
const RSA: [u8; 15] = [0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];

/// A key that signs tokens.
pub(crate) enum TokenKey {
    /// P-256.
    Ec(EcdsaKeyPair),
    /// At least 2048 bits.
    Rsa(RsaKeyPair),
}

impl TokenKey {
    /// A new key, P-256, in PKCS#8.
    pub(crate) fn generate(random: &SystemRandom) -> Result<Vec<u8>, String> {
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, random);
        key.map(|key| key.as_ref().to_vec()).map_err(|_| no_randomness())
    }

    pub(crate) fn from_pkcs8(der: &[u8]) -> Result<Self, String> {
        if let Ok(key) = RsaKeyPair::from_pkcs8(der) {
            return Ok(Self::Rsa(key));
        }
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &SystemRandom::new());
        key.map(Self::Ec).map_err(|error| format!("neither a P-256 key nor one of RSA with 2048 bits: {error}"))
    }

    pub(crate) fn algorithm(&self) -> &'static str {
        match self {
            Self::Ec(_) => "ES256",
            Self::Rsa(_) => "RS256",
        }
    }

    /// The name of the key: the hash of its public half, as in Kubernetes (`keyIDFromPublicKey`).
    pub(crate) fn id(&self) -> String {
        let public = match self {
            Self::Ec(key) => [POINT_HEAD.as_slice(), key.public_key().as_ref()].concat(),
            Self::Rsa(key) => {
                let bits = element(0x03, &[&[0], key.public().as_ref()].concat());
                element(0x30, &[RSA.as_slice(), &bits].concat())
            }
        };
        URL_SAFE_NO_PAD.encode(Sha256::digest(public))
    }

    pub(crate) fn sign(&self, random: &SystemRandom, message: &[u8]) -> Result<Vec<u8>, String> {
        match self {
            Self::Ec(key) => key.sign(random, message).map(|signature| signature.as_ref().to_vec()),
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, random, message, &mut signature).map(|()| signature)
            }
        }
        .map_err(|_| no_randomness())
    }

    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified =
            match self {
                Self::Ec(key) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key.public_key().as_ref())
                    .verify(message, signature),
                Self::Rsa(key) => UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public().as_ref())
                    .verify(message, signature),
            };
        verified.is_ok()
    }

    /// The public half, as a JSON Web Key has it.
    pub(crate) fn parameters(&self) -> Vec<(&'static str, String)> {
        let number = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match self {
            Self::Ec(key) => {
                let (x, y) = key.public_key().as_ref()[1..].split_at(32);
                vec![("kty", "EC".to_owned()), ("crv", "P-256".to_owned()), ("x", number(x)), ("y", number(y))]
            }
            Self::Rsa(key) => {
                let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(key.public());
                vec![("kty", "RSA".to_owned()), ("n", number(&n)), ("e", number(&e))]
            }
        }
    }
}

fn no_randomness() -> String {
    "the system gave no randomness".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key of RSA with 2048 bits, made for this test alone; to make one takes too long.
    const KEY: &str = include_str!("../tests/rsa.key");

    #[test]
    fn a_token_of_a_key_of_rsa_is_verified_by_its_public_half() {
        let key = TokenKey::from_pkcs8(&crate::private_key::private_key(KEY).unwrap()).unwrap();
        let random = SystemRandom::new();
        let signature = key.sign(&random, b"claims").unwrap();
        assert!(key.verifies(b"claims", &signature) && !key.verifies(b"others", &signature));
        assert_eq!((key.algorithm(), signature.len()), ("RS256", 256));
        let parameters = key.parameters();
        assert_eq!(parameters[0].1, "RSA");
        assert_eq!(parameters[2], ("e", "AQAB".to_owned()));
        let other = TokenKey::from_pkcs8(&TokenKey::generate(&random).unwrap()).unwrap();
        assert!(!other.verifies(b"claims", &signature));
        assert_ne!(other.id(), key.id());
    }
}
