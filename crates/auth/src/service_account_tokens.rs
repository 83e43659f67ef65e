use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use coracle_ambient::Timestamp;
use coracle_meta::{GroupVersionResource, Status};
use coracle_registry::{Authenticated, Authenticator, Credentials, GetOptions, Registry, Request, Verb};
use serde_json::{Map, Value};

use crate::bound::{Bound, BoundObject};
use crate::invalidated::refused;
use crate::issuer::LEGACY;
use crate::{Issuer, TokenError, secret_tokens};

/// Authenticates service accounts by their tokens. The account and the objects that the token is bound to must exist.
///
/// In Kubernetes: `pkg/serviceaccount`.
/// Unlike Kubernetes: a token without an expiration is refused.
#[derive(Clone, Debug)]
pub struct ServiceAccountTokens {
    issuer: Issuer,
}

impl ServiceAccountTokens {
    /// Accepts the tokens of this issuer.
    pub fn new(issuer: Issuer) -> Self {
        Self { issuer }
    }

    /// Those of `targets` that are audiences of the token; a token without audiences is for this API server.
    fn audiences(&self, claims: &Map<String, Value>, targets: &[String]) -> Result<Vec<String>, Status> {
        let mut own = audiences(claims);
        if own.is_empty() {
            own = self.issuer.audiences().to_vec();
        }
        let known: BTreeSet<&String> = targets.iter().collect();
        let audiences: Vec<_> = own.iter().filter(|audience| known.contains(audience)).cloned().collect();
        if audiences.is_empty() && !self.issuer.audiences().is_empty() {
            let (own, targets) = (quoted(&own), quoted(targets));
            return Err(refused(&format!("token audiences {own} is invalid for the target audiences {targets}")));
        }
        Ok(audiences)
    }

    /// Checks the claims of a token with a valid signature. In Kubernetes: `validator.Validate` of `claims.go`.
    async fn accept(
        &self,
        registry: &Registry,
        claims: &Map<String, Value>,
        audiences: Vec<String>,
    ) -> Result<Authenticated, Status> {
        let now = registry.ambient().clock.now();
        check_times(claims, now)?;
        let bound = Bound::read(claims).ok_or_else(|| refused("the token has no claims of Kubernetes"))?;
        for object in bound.objects() {
            check_object(registry, now, &object).await?;
        }
        let id = claims.get("jti").and_then(Value::as_str);
        Ok(Authenticated { user: Arc::new(bound.user(id)), audiences, warnings: Vec::new() })
    }
}

async fn check_object(registry: &Registry, now: Timestamp, object: &BoundObject<'_>) -> Result<(), Status> {
    let resource = GroupVersionResource::new("", "v1", object.plural());
    let request = Request::new(Verb::Get, resource, now).object(object.namespace, &object.reference.name);
    let mut lapsed = String::new();
    // The cached state mostly suffices. If it makes the token invalid, the latest state decides.
    for version in ["0", ""] {
        let found = registry.find(&request, &GetOptions { resource_version: version.to_owned() }).await?;
        match object.why_lapsed(found.map(|found| found.object()).as_deref(), now) {
            None => return Ok(()),
            Some(why) => lapsed = why,
        }
    }
    Err(refused(&lapsed))
}

#[async_trait]
impl Authenticator for ServiceAccountTokens {
    async fn authenticate(
        &self,
        registry: &Registry,
        credentials: &Credentials,
    ) -> Result<Option<Authenticated>, Status> {
        let Some(token) = &credentials.bearer_token else { return Ok(None) };
        let claims = match self.issuer.verify(token) {
            Ok(claims) => claims,
            Err(TokenError::Foreign) => return Ok(None),
            Err(error) => return Err(refused(&error.to_string())),
        };
        let targets = match credentials.audiences.as_slice() {
            [] => self.issuer.audiences(),
            named => named,
        };
        let audiences = self.audiences(&claims, targets)?;
        match claims.get("iss").and_then(Value::as_str) {
            Some(LEGACY) => secret_tokens::accept(registry, &claims, token, audiences).await.map(Some),
            _ => self.accept(registry, &claims, audiences).await.map(Some),
        }
    }
}

/// A list of strings as Go prints it.
fn quoted(texts: &[String]) -> String {
    let texts: Vec<_> = texts.iter().map(|text| format!("{text:?}")).collect();
    format!("[{}]", texts.join(" "))
}

/// The permitted difference between the clocks of the issuer and the verifier, in seconds. In Kubernetes:
/// `jwt.DefaultLeeway`.
const LEEWAY_SECONDS: i64 = 60;

fn check_times(claims: &Map<String, Value>, now: Timestamp) -> Result<(), Status> {
    let time = |name: &str| claims.get(name).and_then(Value::as_f64).map(|time| time as i64);
    let now = now.as_second();
    if time("nbf").is_some_and(|start| now + LEEWAY_SECONDS < start) {
        return Err(refused("service account token is not valid yet"));
    }
    if time("exp").is_none_or(|end| now - LEEWAY_SECONDS > end) {
        return Err(refused("service account token has expired"));
    }
    if time("iat").is_some_and(|issued| now + LEEWAY_SECONDS < issued) {
        return Err(refused("service account token is issued in the future"));
    }
    Ok(())
}

fn audiences(claims: &Map<String, Value>) -> Vec<String> {
    match claims.get("aud") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(several)) => {
            several.iter().filter_map(|audience| audience.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_token_is_valid_from_its_start_to_its_expiration() {
        let claims = |nbf: i64, exp: i64| json!({"nbf": nbf, "exp": exp}).as_object().unwrap().clone();
        let now = Timestamp::from_second(100).unwrap();
        let refusal = |claims: &Map<String, Value>| check_times(claims, now).err().map(|status| status.message);
        assert_eq!(refusal(&claims(160, 40)), None, "clocks may be a minute apart");
        assert_eq!(refusal(&claims(161, 200)).unwrap(), "service account token is not valid yet");
        assert_eq!(refusal(&claims(0, 39)).unwrap(), "service account token has expired");
        assert_eq!(refusal(&Map::new()).unwrap(), "service account token has expired");
        let mut issued = claims(0, 200);
        issued.insert("iat".into(), 161.into());
        assert_eq!(refusal(&issued).unwrap(), "service account token is issued in the future");
    }
}
