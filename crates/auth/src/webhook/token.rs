use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use coracle_meta::Status;
use coracle_registry::{Authenticated, Authenticator, Credentials, Registry, User};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::ReviewWebhook;
use super::remembered::Remembered;
use super::review::ReviewRequest;
use crate::invalidated::refused;
use crate::or_default::or_default;

/// The timeout of a request for all attempts together. In Kubernetes: `sharedLookupTimeout`.
const PATIENCE: Duration = Duration::from_secs(30);
/// The maximum number of cached tokens.
const MOST: usize = 32 * 1024;

type Outcome = Result<Option<Authenticated>, Status>;
type Lookup = Shared<BoxFuture<'static, Outcome>>;
/// The hash that represents a token.
type Key = [u8; 32];

/// The token webhook. Concurrent requests with the same token share one call. Responses are cached, errors are not.
///
/// In Kubernetes: `plugin/pkg/authenticator/token/webhook` behind `pkg/authentication/token/cache`.
#[derive(Clone)]
pub struct TokenWebhook {
    inner: Arc<Inner>,
}

struct Inner {
    webhook: ReviewWebhook,
    /// The audiences of this API server.
    audiences: Vec<String>,
    holds: Duration,
    known: Remembered<Key, Option<Authenticated>>,
    asked: Mutex<BTreeMap<Key, WeakShared<BoxFuture<'static, Outcome>>>>,
}

impl TokenWebhook {
    /// An authenticator that calls `webhook`, and caches responses for `holds`; `audiences` are those of this API
    /// server.
    pub fn new(webhook: ReviewWebhook, audiences: &[String], holds: Duration) -> Self {
        let (known, asked) = (Remembered::new(MOST), Mutex::default());
        Self { inner: Arc::new(Inner { webhook, audiences: audiences.to_vec(), holds, known, asked }) }
    }

    /// The running call for this token, or a new one.
    fn lookup(&self, registry: &Registry, key: Key, token: &str, wanted: &[String]) -> Lookup {
        let mut asked = self.inner.asked.lock();
        if let Some(lookup) = asked.get(&key).and_then(WeakShared::upgrade) {
            return lookup;
        }
        // No request waits for these calls.
        asked.retain(|_, lookup| lookup.upgrade().is_some());
        let (inner, registry) = (Arc::clone(&self.inner), registry.clone());
        let (token, wanted) = (token.to_owned(), wanted.to_vec());
        let lookup = async move {
            let outcome = inner.ask(&registry, &token, &wanted).await;
            if let Ok(known) = &outcome {
                inner.known.put(key, known.clone(), inner.holds);
            }
            inner.asked.lock().remove(&key);
            outcome
        };
        let lookup = lookup.boxed().shared();
        asked.extend(lookup.downgrade().map(|weak| (key, weak)));
        lookup
    }
}

impl Inner {
    async fn ask(&self, registry: &Registry, token: &str, wanted: &[String]) -> Outcome {
        let mut spec = Map::from_iter([("token".to_owned(), Value::from(token))]);
        if !wanted.is_empty() {
            spec.insert("audiences".to_owned(), wanted.into());
        }
        let request = ReviewRequest {
            group: "authentication.k8s.io",
            kind: "TokenReview",
            spec: Value::Object(spec),
            status: json!({"user": {}}),
        };
        let status = self.webhook.review(registry, request, token);
        let status = tokio::time::timeout(PATIENCE, status).await;
        let status: TokenStatus =
            status.unwrap_or_else(|_| Err("context deadline exceeded".to_owned())).map_err(|why| refused(&why))?;
        status.outcome(wanted, &self.audiences).map_err(|why| refused(&why))
    }
}

#[async_trait]
impl Authenticator for TokenWebhook {
    async fn authenticate(&self, registry: &Registry, credentials: &Credentials) -> Outcome {
        let Some(token) = &credentials.bearer_token else { return Ok(None) };
        let wanted = match credentials.audiences.as_slice() {
            [] => &self.inner.audiences,
            named => named,
        };
        let key = key(token, wanted);
        match self.inner.known.get(&key) {
            Some(known) => Ok(known),
            None => self.lookup(registry, key, token, wanted).await,
        }
    }
}

/// In Kubernetes: `keyFunc`. Each text is preceded by its length, so that different lists have different keys.
fn key(token: &str, audiences: &[String]) -> Key {
    let mut hash = Sha256::new();
    for text in [token].into_iter().chain(audiences.iter().map(String::as_str)) {
        hash.update(text.len().to_be_bytes());
        hash.update(text);
    }
    hash.finalize().into()
}

/// `TokenReviewStatus`
#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenStatus {
    #[serde(deserialize_with = "or_default")]
    authenticated: bool,
    #[serde(deserialize_with = "or_default")]
    user: UserInfo,
    #[serde(deserialize_with = "or_default")]
    audiences: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    error: String,
}

/// `UserInfo`
#[derive(Default, Deserialize)]
#[serde(default)]
struct UserInfo {
    #[serde(deserialize_with = "or_default")]
    username: String,
    #[serde(deserialize_with = "or_default")]
    uid: String,
    #[serde(deserialize_with = "or_default")]
    groups: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    extra: BTreeMap<String, Option<Vec<String>>>,
}

impl TokenStatus {
    /// The user; `None` if the token is for none of the `wanted` audiences. A response without audiences means those of
    /// this API server.
    fn outcome(self, wanted: &[String], own: &[String]) -> Result<Option<Authenticated>, String> {
        let meant = if self.audiences.is_empty() { own } else { &self.audiences };
        let meant: BTreeSet<&String> = meant.iter().collect();
        let audiences: Vec<String> = wanted.iter().filter(|audience| meant.contains(audience)).cloned().collect();
        if !wanted.is_empty() && audiences.is_empty() {
            return Ok(None);
        }
        if !self.authenticated {
            return if self.error.is_empty() { Ok(None) } else { Err(self.error) };
        }
        let UserInfo { username, uid, groups, extra } = self.user;
        let extra = extra.into_iter().map(|(key, values)| (key, values.unwrap_or_default())).collect();
        let user = User { uid, extra, ..User::new(username, groups) };
        Ok(Some(Authenticated { user: Arc::new(user), audiences, warnings: Vec::new() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(status: Value, wanted: &[&str]) -> Result<Option<String>, String> {
        let status: TokenStatus = serde_json::from_value(status).unwrap();
        let wanted: Vec<String> = wanted.iter().map(|&audience| audience.to_owned()).collect();
        let outcome = status.outcome(&wanted, &["here".to_owned()]);
        outcome.map(|found| found.map(|found| format!("{} for {}", found.user.name, found.audiences.join(","))))
    }

    #[test]
    fn a_tokens_audiences_are_the_webhooks_or_the_servers_own() {
        let ann =
            |audiences: Value| json!({"authenticated": true, "user": {"username": "ann"}, "audiences": audiences});
        let known = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(outcome(ann(Value::Null), &["here"]), known("ann for here"));
        assert_eq!(outcome(ann(Value::Null), &["there"]), Ok(None));
        assert_eq!(outcome(ann(json!(["there", "b"])), &["a", "there"]), known("ann for there"));
        assert_eq!(outcome(ann(json!(["there"])), &["here"]), Ok(None));
        assert_eq!(outcome(ann(json!(["there"])), &[]), known("ann for "));
    }

    #[test]
    fn an_unauthenticated_token_has_no_user_and_an_error_is_returned() {
        assert_eq!(outcome(json!({}), &["here"]), Ok(None));
        assert_eq!(outcome(json!({"authenticated": false, "user": {"username": "ann"}}), &["here"]), Ok(None));
        assert_eq!(outcome(json!({"error": "no such token"}), &["here"]), Err("no such token".to_owned()));
        assert!(serde_json::from_value::<TokenStatus>(json!({"authenticated": "true"})).is_err());
    }

    #[test]
    fn different_requests_have_different_cache_keys() {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        assert_eq!(key("a", &texts(&["b"])), key("a", &texts(&["b"])));
        assert_ne!(key("ab", &[]), key("a", &texts(&["b"])));
        assert_ne!(key("a", &texts(&["bc"])), key("a", &texts(&["b", "c"])));
    }
}
