use crate::Error;

/// A type of key that can be made.
///
/// Unlike Kubernetes: no RSA. The maintained library for RSA keys has an open advisory (RUSTSEC-2023-0071), and ring
/// makes none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyType {
    /// `ECDSAP256`
    EcdsaP256,
    /// `ECDSAP384`
    EcdsaP384,
    /// `ECDSAP521`
    EcdsaP521,
    /// `ED25519`
    Ed25519,
}

impl KeyType {
    /// The type with this name in the API.
    ///
    /// # Errors
    /// If no key of this type can be made.
    pub fn named(name: &str) -> Result<Self, Error> {
        match name {
            "ECDSAP256" => Ok(Self::EcdsaP256),
            "ECDSAP384" => Ok(Self::EcdsaP384),
            "ECDSAP521" => Ok(Self::EcdsaP521),
            "ED25519" => Ok(Self::Ed25519),
            "RSA3072" | "RSA4096" => Err(Error::Unsupported(name.to_owned())),
            _ => Err(Error::Unknown(name.to_owned())),
        }
    }

    /// The object identifiers of the key in a `SubjectPublicKeyInfo`: the algorithm, and the curve if it has one.
    pub(crate) fn key_identifiers(self) -> &'static [&'static [u64]] {
        const EC: &[u64] = &[1, 2, 840, 10045, 2, 1];
        match self {
            Self::EcdsaP256 => &[EC, &[1, 2, 840, 10045, 3, 1, 7]],
            Self::EcdsaP384 => &[EC, &[1, 3, 132, 0, 34]],
            Self::EcdsaP521 => &[EC, &[1, 3, 132, 0, 35]],
            Self::Ed25519 => &[&[1, 3, 101, 112]],
        }
    }

    /// The object identifier of its signatures.
    pub(crate) fn signature_identifier(self) -> &'static [u64] {
        match self {
            Self::EcdsaP256 => &[1, 2, 840, 10045, 4, 3, 2],
            Self::EcdsaP384 => &[1, 2, 840, 10045, 4, 3, 3],
            Self::EcdsaP521 => &[1, 2, 840, 10045, 4, 3, 4],
            Self::Ed25519 => &[1, 3, 101, 112],
        }
    }
}
