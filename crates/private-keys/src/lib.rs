//! Private keys of the types that `keyType` of a pod certificate names, and PKCS#10 requests that prove possession of
//! them.
//!
//! ```text
//! KeyType, Random --PrivateKey::generate--> PrivateKey --pem--> PKCS#8     --certificate_request--> PKCS#10
//!                                                      \--public_point, sign--> the key of an authority
//! ```
//! Start at [`PrivateKey`]. A seeded [`Random`](coracle_ambient::Random) gives the same key each time, and signatures
//! are deterministic (RFC 6979, Ed25519). With any other, keys come from the operating system.
//!
//! In Kubernetes: `generateKeyAndProof` and `pemEncodeKey` of `pkg/kubelet/podcertificate`.
//!
//! Not here: who signs a request (`pki`, `controllers`), keys of service account tokens (`auth`).

mod error;
mod key_type;
mod private_key;
mod secret_bytes;

pub use error::Error;
pub use key_type::KeyType;
pub use private_key::PrivateKey;
