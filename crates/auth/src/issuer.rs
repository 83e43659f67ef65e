use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey,
};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::{self, PemObject};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// What an uncompressed P-256 point begins with in DER (`SubjectPublicKeyInfo`).
const PUBLIC_KEY_HEAD: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// The issuer that tokens in Secrets name. In Kubernetes: `serviceaccount.LegacyIssuer`.
pub(crate) const LEGACY: &str = "kubernetes/serviceaccount";

/// Signs and verifies the tokens of service accounts: JWTs with ES256, in the name of one issuer. Clones are the same.
///
/// In Kubernetes: `--service-account-issuer` and `--service-account-signing-key-file`.
#[derive(Clone)]
pub struct Issuer {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    key: EcdsaKeyPair,
    key_id: String,
    random: SystemRandom,
}

/// A key that cannot be used to sign tokens.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("service account signing key: {0}")]
pub struct KeyError(String);

/// Why a token is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It is no token of this issuer: perhaps one of somebody else's.
    #[error("the token is not of this issuer")]
    Foreign,
    /// It says that it is of this issuer, and its signature is not.
    #[error("the token's signature is wrong")]
    Signature,
}

/// A document to be served at a fixed path: the path, the `Content-Type` and the content.
pub type PublicDocument = (String, String, Vec<u8>);

impl Issuer {
    /// An issuer with a new key, which lives as long as the process.
    pub fn generate(name: &str) -> Result<Self, KeyError> {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
        let key = key.map_err(|_| KeyError("the system gave no randomness".to_owned()))?;
        Self::from_pkcs8(name, key.as_ref())
    }

    /// An issuer with the P-256 key of a PEM file (`BEGIN PRIVATE KEY`, that is PKCS#8).
    pub fn from_pem(name: &str, pem: &str) -> Result<Self, KeyError> {
        let key = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes()).map_err(|error| match error {
            pem::Error::NoItemsFound => KeyError("no PEM block PRIVATE KEY (PKCS#8)".to_owned()),
            error => KeyError(error.to_string()),
        })?;
        Self::from_pkcs8(name, key.secret_pkcs8_der())
    }

    /// An issuer with a P-256 key in PKCS#8.
    pub fn from_pkcs8(name: &str, der: &[u8]) -> Result<Self, KeyError> {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &random);
        let key = key.map_err(|error| KeyError(format!("not a P-256 key in PKCS#8: {error}")))?;
        let public = [PUBLIC_KEY_HEAD.as_slice(), key.public_key().as_ref()].concat();
        let key_id = URL_SAFE_NO_PAD.encode(Sha256::digest(public));
        Ok(Self { inner: Arc::new(Inner { name: name.to_owned(), key, key_id, random }) })
    }

    /// The issuer's name, which is also the audience of the API server itself.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// A token with these claims.
    pub fn sign(&self, claims: &Value) -> Result<String, KeyError> {
        let header = json!({"alg": "ES256", "kid": self.inner.key_id});
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(&header), encode(claims));
        let signature = self.inner.key.sign(&self.inner.random, signed.as_bytes());
        let signature = signature.map_err(|_| KeyError("the system gave no randomness".to_owned()))?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// The claims of a token of this issuer. Says nothing of times and audiences.
    pub fn verify(&self, token: &str) -> Result<Map<String, Value>, TokenError> {
        let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Foreign)?;
        let claims = signed.split('.').nth(1).and_then(|claims| URL_SAFE_NO_PAD.decode(claims).ok());
        let claims: Value =
            claims.and_then(|claims| serde_json::from_slice(&claims).ok()).ok_or(TokenError::Foreign)?;
        let Value::Object(claims) = claims else { return Err(TokenError::Foreign) };
        if !claims.get("iss").and_then(Value::as_str).is_some_and(|name| name == self.name() || name == LEGACY) {
            return Err(TokenError::Foreign);
        }
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| TokenError::Signature)?;
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.inner.key.public_key().as_ref());
        public.verify(signed.as_bytes(), &signature).map_err(|_| TokenError::Signature)?;
        Ok(claims)
    }

    /// The documents by which others verify tokens, to be served by the API server reachable at `url`.
    pub fn documents(&self, url: &str) -> Vec<PublicDocument> {
        let point = self.inner.key.public_key().as_ref();
        let (x, y) = point[1..].split_at(32);
        let keys = json!({"keys": [{
            "use": "sig", "kty": "EC", "kid": self.inner.key_id, "crv": "P-256", "alg": "ES256",
            "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
        }]});
        let configuration = json!({
            "issuer": self.name(), "jwks_uri": format!("{}/openid/v1/jwks", url.trim_end_matches('/')),
            "response_types_supported": ["id_token"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        });
        let document = |path: &str, media_type: &str, value: &Value| {
            (path.to_owned(), media_type.to_owned(), value.to_string().into_bytes())
        };
        vec![
            document("/.well-known/openid-configuration", "application/json", &configuration),
            document("/openid/v1/jwks", "application/jwk-set+json", &keys),
        ]
    }
}

/// The key is not shown.
impl std::fmt::Debug for Issuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Issuer").field("name", &self.inner.name).field("key_id", &self.inner.key_id).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_token_is_verified_by_its_issuer_alone() {
        let ours = Issuer::generate("https://ours").unwrap();
        let theirs = Issuer::generate("https://ours").unwrap();
        let token = ours.sign(&json!({"iss": "https://ours", "sub": "x"})).unwrap();
        assert_eq!(ours.verify(&token).unwrap()["sub"], "x");
        assert_eq!(theirs.verify(&token), Err(TokenError::Signature));
        let foreign = ours.sign(&json!({"iss": "https://else"})).unwrap();
        assert_eq!(ours.verify(&foreign), Err(TokenError::Foreign));
        let (head, _) = token.rsplit_once('.').unwrap();
        assert_eq!(ours.verify(&format!("{head}.AAAA")), Err(TokenError::Signature));
        assert_eq!(ours.verify("nonsense"), Err(TokenError::Foreign));
    }

    #[test]
    fn a_key_in_pem_is_read_and_another_is_refused() {
        let key = rcgen::KeyPair::generate().unwrap();
        assert!(Issuer::from_pem("x", &key.serialize_pem()).is_ok());
        assert!(Issuer::from_pem("x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n").is_err());
        assert!(Issuer::from_pem("x", "").is_err());
    }

    #[test]
    fn the_published_key_is_the_one_that_signs() {
        let issuer = Issuer::generate("https://ours").unwrap();
        let documents = issuer.documents("https://localhost:6443/");
        let configuration: Value = serde_json::from_slice(&documents[0].2).unwrap();
        assert_eq!(configuration["jwks_uri"], "https://localhost:6443/openid/v1/jwks");
        let keys: Value = serde_json::from_slice(&documents[1].2).unwrap();
        assert_eq!(keys["keys"][0]["kid"], issuer.inner.key_id);
    }

    proptest! {
        #[test]
        fn no_token_panics(token in "[a-zA-Z0-9._=-]{0,60}") {
            let issuer = Issuer::generate("x").unwrap();
            prop_assert!(issuer.verify(&token).is_err());
        }
    }
}
