use coracle_ambient::Random;
use p521::ecdsa::signature::{RandomizedSigner, Signer};
use p521::elliptic_curve::rand_core::{CryptoRng, Error, RngCore};
use ring::rand::{SecureRandom, SystemRandom};
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256,
    RsaKeyPair,
};

use super::PublicKey;
use super::curve::Curve;
use super::der::EC;
use super::private_key::{scalar, unwrapped};

/// A key that signs tokens.
///
/// In Kubernetes: `signerFromRSAPrivateKey` and `signerFromECDSAPrivateKey` of `pkg/serviceaccount/jwt.go`.
pub(crate) enum SigningKey {
    /// At least 2048 bits.
    Rsa(RsaKeyPair),
    /// P-256 or P-384.
    Ec(Curve, EcdsaKeyPair),
    /// P-256, from a seed. The signatures are deterministic as in RFC 6979: ring draws from the system only.
    Seeded(Box<p256::ecdsa::SigningKey>),
    /// P-521, which ring does not support.
    P521(Box<p521::ecdsa::SigningKey>),
}

impl SigningKey {
    /// Generates a P-256 key in PKCS#8.
    pub(crate) fn generate(random: &SystemRandom) -> Result<Vec<u8>, String> {
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, random);
        key.map(|key| key.as_ref().to_vec()).map_err(|_| no_randomness())
    }

    /// The P-256 key of a seed.
    pub(crate) fn seeded(random: &Random) -> Self {
        loop {
            let digits = [random.bits(), random.bits(), random.bits(), random.bits()].map(u64::to_be_bytes).concat();
            // A number beyond the order of the curve is not a key.
            if let Ok(key) = p256::ecdsa::SigningKey::from_slice(&digits) {
                return Self::Seeded(Box::new(key));
            }
        }
    }

    pub(crate) fn from_pkcs8(der: &[u8]) -> Result<Self, String> {
        let (algorithm, key) = unwrapped(der).ok_or("no private key in PKCS#8")?;
        let Some(curve) = algorithm.strip_prefix(&EC) else {
            return RsaKeyPair::from_pkcs8(der)
                .map(Self::Rsa)
                .map_err(|error| format!("not a key of RSA with at least 2048 bits: {error}"));
        };
        let curve = Curve::identified(curve).ok_or("unknown private key curve, must be 256, 384, or 521")?;
        let wrong = |why: &dyn std::fmt::Display| format!("not a key on {}: {why}", curve.name());
        let signing = match curve {
            Curve::P256 => &ECDSA_P256_SHA256_FIXED_SIGNING,
            Curve::P384 => &ECDSA_P384_SHA384_FIXED_SIGNING,
            Curve::P521 => {
                let digits = scalar(key).ok_or_else(|| wrong(&"no number"))?;
                let mut padded = vec![0; curve.coordinate_length().saturating_sub(digits.len())];
                padded.extend_from_slice(digits);
                let key = p521::ecdsa::SigningKey::from_slice(&padded).map_err(|error| wrong(&error))?;
                return Ok(Self::P521(Box::new(key)));
            }
        };
        let key = EcdsaKeyPair::from_pkcs8(signing, der, &SystemRandom::new()).map_err(|error| wrong(&error))?;
        Ok(Self::Ec(curve, key))
    }

    /// The public key.
    pub(crate) fn public(&self) -> PublicKey {
        match self {
            Self::Rsa(key) => {
                let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(key.public());
                PublicKey::Rsa { modulus: n, exponent: e }
            }
            Self::Ec(curve, key) => PublicKey::Ec { curve: *curve, point: key.public_key().as_ref().to_vec() },
            Self::Seeded(key) => {
                let point = p256::ecdsa::VerifyingKey::from(&**key).to_encoded_point(false);
                PublicKey::Ec { curve: Curve::P256, point: point.as_bytes().to_vec() }
            }
            Self::P521(key) => {
                let point = p521::ecdsa::VerifyingKey::from(&**key).to_encoded_point(false);
                PublicKey::Ec { curve: Curve::P521, point: point.as_bytes().to_vec() }
            }
        }
    }

    pub(crate) fn sign(&self, random: &SystemRandom, message: &[u8]) -> Result<Vec<u8>, String> {
        match self {
            Self::Ec(_, key) => key.sign(random, message).map(|signature| signature.as_ref().to_vec()).ok(),
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, random, message, &mut signature).map(|()| signature).ok()
            }
            Self::Seeded(key) => {
                let signature: Option<p256::ecdsa::Signature> = key.try_sign(message).ok();
                signature.map(|signature| signature.to_bytes().to_vec())
            }
            Self::P521(key) => {
                let signature: Option<p521::ecdsa::Signature> = key.try_sign_with_rng(&mut Drawn(random), message).ok();
                signature.map(|signature| signature.to_bytes().to_vec())
            }
        }
        .ok_or_else(no_randomness)
    }
}

fn no_randomness() -> String {
    "the system gave no randomness".to_owned()
}

/// The system's randomness for p521.
struct Drawn<'a>(&'a SystemRandom);

impl CryptoRng for Drawn<'_> {}

impl RngCore for Drawn<'_> {
    fn next_u32(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.fill_bytes(&mut bytes);
        u32::from_ne_bytes(bytes)
    }

    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.fill_bytes(&mut bytes);
        u64::from_ne_bytes(bytes)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes).expect("the system has randomness");
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::private_key;

    /// Keys made for these tests alone, and the names that Kubernetes gives them.
    const KEYS: [(&str, &str, &str); 4] = [
        ("RS256", include_str!("../../tests/keys/rsa.pem"), "1fKhp5xPsDX93UV-_PjI3f_CaCUcbzArrREQ5686hMY"),
        ("ES256", include_str!("../../tests/keys/p256.pem"), "9a-icjPG9cvjqouXxZ54SqRT_LD4rIQwHSknpqAvJcE"),
        ("ES384", include_str!("../../tests/keys/p384.pem"), "JRdNU3kDIkZedutBuo32GGQWcHzCIQF_uCiEDRRRc-I"),
        ("ES512", include_str!("../../tests/keys/p521.pem"), "i0k-32nFwK2CF7tmcLkTHq9e_5sQcNGbXMydHOFvbCM"),
    ];

    fn key(pem: &str) -> SigningKey {
        SigningKey::from_pkcs8(&private_key(pem).unwrap()).unwrap()
    }

    #[test]
    fn only_the_matching_public_key_verifies_a_signature() {
        let random = SystemRandom::new();
        for (algorithm, pem, kid) in KEYS {
            let (signing, public) = (key(pem), key(pem).public());
            assert_eq!((public.algorithm(), public.id().as_str()), (algorithm, kid));
            let signature = signing.sign(&random, b"claims").unwrap();
            for (_, other, _) in KEYS {
                assert_eq!(key(other).public().verifies(b"claims", &signature), other == pem, "{algorithm}");
            }
            assert!(!public.verifies(b"others", &signature), "{algorithm}");
            assert!(!public.verifies(b"claims", &signature[1..]) && !public.verifies(b"claims", b""), "{algorithm}");
        }
    }

    #[test]
    fn a_seed_gives_one_key_and_one_signature() {
        let key = |seed| SigningKey::seeded(&Random::from_seed(seed));
        let (one, same, other) = (key(7), key(7), key(8));
        let random = SystemRandom::new();
        let signature = one.sign(&random, b"claims").unwrap();
        assert_eq!(same.sign(&random, b"claims").unwrap(), signature);
        assert_eq!((one.public().algorithm(), one.public().id()), ("ES256", same.public().id()));
        assert!(same.public().verifies(b"claims", &signature) && !same.public().verifies(b"others", &signature));
        assert!(!other.public().verifies(b"claims", &signature));
        assert_ne!(other.public().id(), one.public().id());
    }
}
