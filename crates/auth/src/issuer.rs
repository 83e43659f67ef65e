use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use coracle_ambient::Random;
use ring::rand::SystemRandom;
use serde_json::{Map, Value, json};

use crate::keys::{PublicKey, SigningKey, private_key, public_keys};

/// The issuer of tokens in Secrets. In Kubernetes: `serviceaccount.LegacyIssuer`.
pub(crate) const LEGACY: &str = "kubernetes/serviceaccount";

/// The issuers and keys of service account tokens. The names are those of kube-apiserver's flags.
#[derive(Clone, Default)]
pub struct IssuerSpec {
    /// `--service-account-issuer`: new tokens name the first one, and tokens of all of them are accepted.
    pub names: Vec<String>,
    /// `--api-audiences`: the audiences of which a token must have one; the issuers if empty.
    pub audiences: Vec<String>,
    /// The content of `--service-account-signing-key-file`; `None` for a new key that lives as long as the process.
    pub signing_key: Option<String>,
    /// The source of a new key and of its signatures; `None` for the operating system. A program that knows the seed
    /// knows the key: only for virtual time, in which a cluster has no clients outside of its process.
    pub seed: Option<Random>,
    /// The contents of `--service-account-key-file`: the keys that verify tokens; the signing key if empty. A generated
    /// signing key always verifies its own tokens.
    pub keys: Vec<String>,
}

/// Keys are not shown.
impl std::fmt::Debug for IssuerSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IssuerSpec").field("names", &self.names).field("audiences", &self.audiences).finish()
    }
}

/// Signs and verifies service account tokens: JWTs with RS256, ES256, ES384 or ES512. Clones share the keys.
///
/// In Kubernetes: `JWTTokenGenerator` and `JWTTokenAuthenticator` of `pkg/serviceaccount`.
/// Unlike Kubernetes: a key verifies only tokens of one algorithm, while an RSA key in Kubernetes also accepts RS384
/// and PS256.
#[derive(Clone)]
pub struct Issuer {
    inner: Arc<Inner>,
}

struct Inner {
    names: Vec<String>,
    audiences: Vec<String>,
    key: SigningKey,
    key_id: String,
    accepted: Vec<AcceptedKey>,
    random: SystemRandom,
}

struct AcceptedKey {
    id: String,
    key: PublicKey,
}

/// A key that cannot be used for tokens.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It cannot sign.
    #[error("service account signing key: {0}")]
    Signing(String),
    /// It cannot verify.
    #[error("service account key: {0}")]
    Verifying(String),
}

/// Why a token is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The token is not of this issuer.
    #[error("the token is not of this issuer")]
    Foreign,
    /// The token names an unknown key.
    #[error("invalid signature, no keys found")]
    UnknownKey,
    /// The token names this issuer, but its signature is invalid.
    #[error("go-jose/go-jose: error in cryptographic primitive")]
    Signature,
}

/// A document for a fixed path: the path, the `Content-Type` and the content.
pub type PublicDocument = (String, String, Vec<u8>);

impl Issuer {
    /// An issuer from its configuration.
    ///
    /// # Errors
    /// If a key cannot be read or its type is not supported for tokens.
    pub fn new(spec: &IssuerSpec) -> Result<Self, KeyError> {
        let random = SystemRandom::new();
        let key = match (&spec.signing_key, &spec.seed) {
            (Some(pem), _) => {
                let key = private_key(pem).map_err(|error| KeyError::Signing(error.to_string()))?;
                SigningKey::from_pkcs8(&key)
            }
            (None, Some(seed)) => Ok(SigningKey::seeded(&seed.split("signing key"))),
            (None, None) => SigningKey::generate(&random).and_then(|key| SigningKey::from_pkcs8(&key)),
        };
        let key = key.map_err(KeyError::Signing)?;
        let mut accepted = Vec::new();
        for pem in &spec.keys {
            accepted.extend(public_keys(pem).map_err(KeyError::Verifying)?);
        }
        if spec.keys.is_empty() || spec.signing_key.is_none() {
            accepted.push(key.public());
        }
        let audiences = if spec.audiences.is_empty() { &spec.names } else { &spec.audiences };
        let accepted = accepted.into_iter().map(|key| AcceptedKey { id: key.id(), key }).collect();
        let (names, audiences, key_id) = (spec.names.clone(), audiences.clone(), key.public().id());
        Ok(Self { inner: Arc::new(Inner { names, audiences, key, key_id, accepted, random }) })
    }

    /// An issuer with a generated key, which lives as long as the process.
    ///
    /// # Errors
    /// If the system gives no randomness.
    pub fn generate(name: &str) -> Result<Self, KeyError> {
        Self::new(&IssuerSpec { names: vec![name.to_owned()], ..IssuerSpec::default() })
    }

    /// The issuer's name in new tokens.
    pub fn name(&self) -> &str {
        self.inner.names.first().map_or("", String::as_str)
    }

    /// The audiences of the API server itself.
    pub fn audiences(&self) -> &[String] {
        &self.inner.audiences
    }

    /// Signs a token with these claims.
    ///
    /// # Errors
    /// If the system gives no randomness.
    pub fn sign(&self, claims: &Value) -> Result<String, KeyError> {
        let header = json!({"alg": self.inner.key.public().algorithm(), "kid": self.inner.key_id});
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(&header), encode(claims));
        let signature = self.inner.key.sign(&self.inner.random, signed.as_bytes()).map_err(KeyError::Signing)?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// Verifies the signature and returns the claims of a token of this issuer. Times and audiences are not checked.
    ///
    /// # Errors
    /// If the token is of another issuer, or not signed by one of the keys.
    pub fn verify(&self, token: &str) -> Result<Map<String, Value>, TokenError> {
        let parts: Vec<&str> = token.split('.').collect();
        let [header, claims, signature] = parts.as_slice() else { return Err(TokenError::Foreign) };
        let claims = members(claims).ok_or(TokenError::Foreign)?;
        let issuer = claims.get("iss").and_then(Value::as_str).ok_or(TokenError::Foreign)?;
        if issuer != LEGACY && !self.inner.names.iter().any(|name| name == issuer) {
            return Err(TokenError::Foreign);
        }
        let header = members(header).ok_or(TokenError::Foreign)?;
        let text = |name: &str| header.get(name).and_then(Value::as_str).unwrap_or("");
        let (algorithm, key_id) = (text("alg"), text("kid"));
        // Extensions that a token marks as critical must be supported, and none are.
        if header.contains_key("crit") {
            return Err(TokenError::Signature);
        }
        let mut keys = self.inner.accepted.iter().filter(|key| key_id.is_empty() || key.id == key_id).peekable();
        keys.peek().ok_or(TokenError::UnknownKey)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| TokenError::Signature)?;
        let signed = &token.as_bytes()[..token.rfind('.').unwrap_or(0)];
        // The key decides the algorithm of its tokens, not the token.
        if keys.any(|AcceptedKey { key, .. }| key.algorithm() == algorithm && key.verifies(signed, &signature)) {
            Ok(claims)
        } else {
            Err(TokenError::Signature)
        }
    }

    /// The OpenID documents with which other programs verify tokens. The API server serves them at `url`; `keys_url`
    /// (`--service-account-jwks-uri`) overrides the location of the keys. Empty if the issuer's name is not a URL for
    /// them.
    ///
    /// In Kubernetes: `NewOpenIDMetadataProvider`.
    pub fn documents(&self, url: &str, keys_url: Option<&str>) -> Vec<PublicDocument> {
        if !self.name().starts_with("https://") || self.name().contains(['?', '#']) {
            return Vec::new();
        }
        let published = |AcceptedKey { id, key }: &AcceptedKey| {
            let mut published = json!({"use": "sig", "kid": id, "alg": key.algorithm()});
            for (name, value) in key.parameters() {
                published[name] = value.into();
            }
            published
        };
        let keys: Vec<Value> = self.inner.accepted.iter().map(published).collect();
        let mut algorithms: Vec<&str> = self.inner.accepted.iter().map(|accepted| accepted.key.algorithm()).collect();
        algorithms.sort_unstable();
        algorithms.dedup();
        let keys_url = keys_url.map_or_else(|| format!("{}/openid/v1/jwks", url.trim_end_matches('/')), str::to_owned);
        let configuration = json!({
            "issuer": self.name(), "jwks_uri": keys_url,
            "response_types_supported": ["id_token"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": algorithms,
        });
        let document = |path: &str, media_type: &str, value: &Value| {
            (path.to_owned(), media_type.to_owned(), value.to_string().into_bytes())
        };
        vec![
            document("/.well-known/openid-configuration", "application/json", &configuration),
            document("/openid/v1/jwks", "application/jwk-set+json", &json!({"keys": keys})),
        ]
    }
}

/// The members of the JSON object in a part of a token.
fn members(part: &str) -> Option<Map<String, Value>> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

/// The key is not shown.
impl std::fmt::Debug for Issuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Issuer").field("names", &self.inner.names).field("key_id", &self.inner.key_id).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const P384: &str = include_str!("../tests/keys/p384.pem");
    const RSA: &str = include_str!("../tests/keys/rsa.pem");

    fn issuer(signing_key: &str, keys: &[&str]) -> Issuer {
        let names = vec!["https://ours".to_owned(), "https://before".to_owned()];
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        let signing_key = Some(signing_key.to_owned());
        Issuer::new(&IssuerSpec { names, keys, signing_key, ..IssuerSpec::default() }).unwrap()
    }

    /// A token with another header, and the signature of the old one.
    fn with_header(token: &str, header: &Value) -> String {
        let (_, rest) = token.split_once('.').unwrap();
        format!("{}.{rest}", URL_SAFE_NO_PAD.encode(header.to_string()))
    }

    #[test]
    fn only_its_issuer_verifies_a_token() {
        let ours = Issuer::generate("https://ours").unwrap();
        let theirs = Issuer::generate("https://ours").unwrap();
        let token = ours.sign(&json!({"iss": "https://ours", "sub": "x"})).unwrap();
        assert_eq!(ours.verify(&token).unwrap()["sub"], "x");
        assert_eq!(theirs.verify(&token), Err(TokenError::UnknownKey));
        let foreign = ours.sign(&json!({"iss": "https://else"})).unwrap();
        assert_eq!(ours.verify(&foreign), Err(TokenError::Foreign));
        let (head, _) = token.rsplit_once('.').unwrap();
        assert_eq!(ours.verify(&format!("{head}.AAAA")), Err(TokenError::Signature));
        assert_eq!(ours.verify("nonsense"), Err(TokenError::Foreign));
    }

    #[test]
    fn one_seed_signs_the_same_token_and_the_system_never_does() {
        let seeded = |seed: u64| {
            let (names, seed) = (vec!["https://ours".to_owned()], Some(Random::from_seed(seed)));
            Issuer::new(&IssuerSpec { names, seed, ..IssuerSpec::default() }).unwrap()
        };
        let claims = json!({"iss": "https://ours", "sub": "x"});
        let token = seeded(7).sign(&claims).unwrap();
        assert_eq!(seeded(7).sign(&claims).unwrap(), token);
        assert!(seeded(7).verify(&token).is_ok());
        assert_eq!(seeded(8).verify(&token), Err(TokenError::UnknownKey));
        let [one, other] = [(); 2].map(|()| Issuer::generate("https://ours").unwrap().sign(&claims).unwrap());
        assert_ne!(one, other);
    }

    #[test]
    fn keys_can_be_rotated_and_every_configured_issuer_is_accepted() {
        let (before, after) = (issuer(P384, &[]), issuer(RSA, &[P384, RSA]));
        let old = before.sign(&json!({"iss": "https://before"})).unwrap();
        let new = after.sign(&json!({"iss": "https://ours"})).unwrap();
        assert!(after.verify(&old).is_ok() && after.verify(&new).is_ok());
        assert_eq!(before.verify(&new), Err(TokenError::UnknownKey));
    }

    #[test]
    fn a_signing_key_that_is_not_a_verifying_key_is_not_accepted() {
        let issuer = issuer(RSA, &[P384]);
        let token = issuer.sign(&json!({"iss": "https://ours"})).unwrap();
        assert_eq!(issuer.verify(&token), Err(TokenError::UnknownKey));
    }

    #[test]
    fn without_the_name_of_a_key_every_key_is_tried() {
        let issuer = issuer(RSA, &[P384, RSA]);
        let header = json!({"alg": "RS256"});
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(&header), encode(&json!({"iss": "https://ours"})));
        let signature = issuer.inner.key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        assert!(issuer.verify(&format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))).is_ok());
    }

    #[test]
    fn a_header_that_was_changed_is_refused_whatever_it_says() {
        let issuer = issuer(RSA, &[P384, RSA]);
        let token = issuer.sign(&json!({"iss": "https://ours"})).unwrap();
        let kid = issuer.inner.key_id.as_str();
        for header in [
            json!({"alg": "none"}),
            json!({"alg": "none", "kid": kid}),
            json!({"alg": "HS256", "kid": kid}),
            json!({"alg": "ES384", "kid": kid}),
            json!({"alg": "rs256", "kid": kid}),
            json!({"alg": "RS256", "kid": kid, "crit": ["exp"]}),
            json!({"kid": kid}),
            json!({}),
        ] {
            assert_eq!(issuer.verify(&with_header(&token, &header)), Err(TokenError::Signature), "{header}");
        }
    }

    #[test]
    fn a_key_in_pem_is_read_and_another_is_refused() {
        let spec = |key: &str| IssuerSpec { signing_key: Some(key.to_owned()), ..IssuerSpec::default() };
        let key = rcgen::KeyPair::generate().unwrap();
        assert!(Issuer::new(&spec(&key.serialize_pem())).is_ok());
        for text in ["", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
            assert!(matches!(Issuer::new(&spec(text)), Err(KeyError::Signing(_))), "{text}");
            let keys = IssuerSpec { keys: vec![text.to_owned()], ..IssuerSpec::default() };
            assert!(matches!(Issuer::new(&keys), Err(KeyError::Verifying(_))), "{text}");
        }
    }

    #[test]
    fn every_key_that_verifies_is_published_with_its_algorithm() {
        let issuer = issuer(RSA, &[RSA, P384]);
        let documents = issuer.documents("https://localhost:6443/", None);
        let configuration: Value = serde_json::from_slice(&documents[0].2).unwrap();
        assert_eq!(configuration["issuer"], "https://ours");
        assert_eq!(configuration["jwks_uri"], "https://localhost:6443/openid/v1/jwks");
        assert_eq!(configuration["id_token_signing_alg_values_supported"], json!(["ES384", "RS256"]));
        let keys: Value = serde_json::from_slice(&documents[1].2).unwrap();
        assert_eq!(keys["keys"][0]["kid"], issuer.inner.key_id);
        assert_eq!((&keys["keys"][0]["kty"], &keys["keys"][0]["e"]), (&json!("RSA"), &json!("AQAB")));
        assert_eq!((&keys["keys"][1]["crv"], &keys["keys"][1]["alg"]), (&json!("P-384"), &json!("ES384")));
        let elsewhere = issuer.documents("https://localhost", Some("https://keys"));
        let configuration: Value = serde_json::from_slice(&elsewhere[0].2).unwrap();
        assert_eq!(configuration["jwks_uri"], "https://keys");
    }

    #[test]
    fn an_issuer_without_a_url_is_not_published() {
        assert!(Issuer::generate("me").unwrap().documents("https://localhost", None).is_empty());
    }

    proptest! {
        #[test]
        fn no_token_panics(token in "[a-zA-Z0-9._=-]{0,60}") {
            let issuer = Issuer::generate("x").unwrap();
            prop_assert!(issuer.verify(&token).is_err());
        }
    }
}
