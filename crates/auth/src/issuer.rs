use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use serde_json::{Map, Value, json};

use crate::private_key::private_key;
use crate::token_key::TokenKey;

/// The issuer that tokens in Secrets name. In Kubernetes: `serviceaccount.LegacyIssuer`.
pub(crate) const LEGACY: &str = "kubernetes/serviceaccount";

/// Signs and verifies the tokens of service accounts: JWTs with ES256 or RS256, in the name of one issuer. Clones are the
/// same.
///
/// In Kubernetes: `--service-account-issuer` and `--service-account-signing-key-file`.
#[derive(Clone)]
pub struct Issuer {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    key: TokenKey,
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
        Self::from_pkcs8(name, &TokenKey::generate(&random).map_err(KeyError)?)
    }

    /// An issuer with the key of a PEM file: P-256 or RSA.
    pub fn from_pem(name: &str, pem: &str) -> Result<Self, KeyError> {
        Self::from_pkcs8(name, &private_key(pem).map_err(|error| KeyError(error.to_string()))?)
    }

    /// An issuer with a key in PKCS#8: P-256 or RSA.
    pub fn from_pkcs8(name: &str, der: &[u8]) -> Result<Self, KeyError> {
        let key = TokenKey::from_pkcs8(der).map_err(KeyError)?;
        let key_id = key.id();
        Ok(Self { inner: Arc::new(Inner { name: name.to_owned(), key, key_id, random: SystemRandom::new() }) })
    }

    /// The issuer's name, which is also the audience of the API server itself.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// A token with these claims.
    pub fn sign(&self, claims: &Value) -> Result<String, KeyError> {
        let header = json!({"alg": self.inner.key.algorithm(), "kid": self.inner.key_id});
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(&header), encode(claims));
        let signature = self.inner.key.sign(&self.inner.random, signed.as_bytes()).map_err(KeyError)?;
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
        match self.inner.key.verifies(signed.as_bytes(), &signature) {
            true => Ok(claims),
            false => Err(TokenError::Signature),
        }
    }

    /// The documents by which others verify tokens, to be served by the API server reachable at `url`.
    pub fn documents(&self, url: &str) -> Vec<PublicDocument> {
        let key = &self.inner.key;
        let mut published = json!({"use": "sig", "kid": self.inner.key_id, "alg": key.algorithm()});
        for (name, value) in key.parameters() {
            published[name] = value.into();
        }
        let keys = json!({"keys": [published]});
        let configuration = json!({
            "issuer": self.name(), "jwks_uri": format!("{}/openid/v1/jwks", url.trim_end_matches('/')),
            "response_types_supported": ["id_token"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [key.algorithm()],
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
