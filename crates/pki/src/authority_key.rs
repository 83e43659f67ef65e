use coracle_private_keys::PrivateKey;
use rcgen::{Error, KeyPair, PKCS_ECDSA_P256_SHA256, PublicKeyData, SignatureAlgorithm, SigningKey};

/// The key of an authority.
#[derive(Debug)]
pub(crate) enum AuthorityKey {
    /// From the operating system or a file. Signatures take randomness of the system.
    System(KeyPair),
    /// P-256, from a seed, with its public point. Signatures are deterministic.
    Seeded(PrivateKey, Vec<u8>),
}

impl PublicKeyData for AuthorityKey {
    fn der_bytes(&self) -> &[u8] {
        match self {
            Self::System(key) => key.der_bytes(),
            Self::Seeded(_, point) => point,
        }
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        match self {
            Self::System(key) => key.algorithm(),
            Self::Seeded(..) => &PKCS_ECDSA_P256_SHA256,
        }
    }
}

impl SigningKey for AuthorityKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        match self {
            Self::System(key) => key.sign(message),
            Self::Seeded(key, _) => key.sign(message).map_err(|_| Error::RingUnspecified),
        }
    }
}
