/// Why a key cannot be made or used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The type is one of Kubernetes, but no key of it can be made here.
    #[error("keyType {0:?} is not supported by simulated nodes; use ECDSAP256, ECDSAP384, ECDSAP521 or ED25519")]
    Unsupported(String),
    /// Kubernetes has no such type.
    #[error("unknown key type {0:?}")]
    Unknown(String),
    /// The operating system gave no randomness.
    #[error("the operating system gave no randomness")]
    NoRandomness,
    /// The library could not sign.
    #[error("the key could not sign")]
    Signing,
}
