//! The keys of tokens: signing keys, verifying keys, and their files.
//!
//! ```text
//! PEM --private_key--> PKCS#8 --> SigningKey --public--> PublicKey --> kid, JSON Web Key, verifies
//! PEM --------------------public_keys------------->
//! ```

mod curve;
mod der;
mod key_file;
mod private_key;
mod public_key;
mod signing_key;

pub(crate) use key_file::public_keys;
pub use private_key::{NoPrivateKey, private_key};
pub(crate) use public_key::PublicKey;
pub(crate) use signing_key::SigningKey;
