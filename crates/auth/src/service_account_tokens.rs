use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use coracle_ambient::Timestamp;
use coracle_meta::{GroupVersionResource, Object, Status};
use coracle_registry::{Authenticated, Authenticator, Credentials, GetOptions, Registry, Request, User, Verb};
use serde_json::{Map, Value};

use crate::invalidated::{is_gone, refused};
use crate::issuer::LEGACY;
use crate::{Issuer, TokenError, secret_tokens, service_account_name};

/// Service accounts by their tokens. The account has to exist, and so has what the token is bound to.
///
/// In Kubernetes: `pkg/serviceaccount`.
#[derive(Clone, Debug)]
pub struct ServiceAccountTokens {
    issuer: Issuer,
}

impl ServiceAccountTokens {
    /// Accepts the tokens of this issuer.
    pub fn new(issuer: Issuer) -> Self {
        Self { issuer }
    }

    /// Accepts claims that are meant for one of `targets`.
    async fn accept(
        &self,
        registry: &Registry,
        claims: &Map<String, Value>,
        targets: &[String],
    ) -> Result<Authenticated, Status> {
        let now = registry.ambient().clock.now();
        check_times(claims, now)?;
        let own = audiences(claims);
        let audiences: Vec<_> = targets.iter().filter(|target| own.contains(target)).cloned().collect();
        if audiences.is_empty() {
            let (own, targets) = (quoted(&own), quoted(targets));
            return Err(refused(&format!("token audiences {own} is invalid for the target audiences {targets}")));
        }
        let bound = Bound::read(claims).ok_or_else(|| refused("the token has no claims of Kubernetes"))?;
        self.check_object(registry, now, &bound.namespace, "serviceaccounts", &bound.account).await?;
        for (plural, reference) in [("pods", &bound.pod), ("secrets", &bound.secret)] {
            if let Some(reference) = reference {
                self.check_object(registry, now, &bound.namespace, plural, reference).await?;
            }
        }
        let id = claims.get("jti").and_then(Value::as_str);
        Ok(Authenticated { user: Arc::new(bound.user(id)), audiences, warnings: Vec::new() })
    }

    /// The object has to exist, with the uid of the claims, and not have been deleting for long.
    async fn check_object(
        &self,
        registry: &Registry,
        now: Timestamp,
        namespace: &str,
        plural: &str,
        reference: &Reference,
    ) -> Result<(), Status> {
        let resource = GroupVersionResource::new("", "v1", plural);
        let request = Request::new(Verb::Get, resource, now).object(namespace, &reference.name);
        // What is at hand mostly does; only where it does not, the newest state decides.
        for version in ["0", ""] {
            match registry.get(&request, &GetOptions { resource_version: version.to_owned() }).await {
                Ok(found) if is_alive(&found.object(), reference, now) => return Ok(()),
                Err(status) if !status.is_not_found() => return Err(status),
                _ => {}
            }
        }
        Err(refused("service account token has been invalidated"))
    }
}

fn is_alive(object: &Object, reference: &Reference, now: Timestamp) -> bool {
    object.uid() == reference.uid && !is_gone(object, now)
}

#[async_trait]
impl Authenticator for ServiceAccountTokens {
    async fn authenticate(
        &self,
        registry: &Registry,
        credentials: &Credentials,
    ) -> Result<Option<Authenticated>, Status> {
        let Some(token) = &credentials.bearer_token else { return Ok(None) };
        let this_server = [self.issuer.name().to_owned()];
        let targets = if credentials.audiences.is_empty() { &this_server } else { credentials.audiences.as_slice() };
        match self.issuer.verify(token) {
            Ok(claims) if claims.get("iss").is_some_and(|issuer| issuer == LEGACY) => {
                let audiences = targets.iter().filter(|target| this_server.contains(target)).cloned().collect();
                secret_tokens::accept(registry, &claims, token, audiences).await.map(Some)
            }
            Ok(claims) => self.accept(registry, &claims, targets).await.map(Some),
            Err(TokenError::Foreign) => Ok(None),
            Err(error @ TokenError::Signature) => Err(refused(&error.to_string())),
        }
    }
}

/// Texts as Go prints a list of them.
fn quoted(texts: &[String]) -> String {
    let texts: Vec<_> = texts.iter().map(|text| format!("{text:?}")).collect();
    format!("[{}]", texts.join(" "))
}

fn check_times(claims: &Map<String, Value>, now: Timestamp) -> Result<(), Status> {
    let time = |name: &str| claims.get(name).and_then(Value::as_i64);
    if time("exp").is_none_or(|end| now.as_second() > end) {
        return Err(refused("service account token has expired"));
    }
    if time("nbf").is_some_and(|start| now.as_second() < start) {
        return Err(refused("service account token is not valid yet"));
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

/// An object by name and uid, as tokens refer to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) name: String,
    pub(crate) uid: String,
}

impl Reference {
    fn read(value: Option<&Value>) -> Option<Self> {
        let text = |name: &str| value?.get(name)?.as_str().map(str::to_owned);
        Some(Self { name: text("name")?, uid: text("uid").unwrap_or_default() })
    }

    /// The reference to an object.
    pub(crate) fn to(object: &Object) -> Self {
        Self { name: object.name().to_owned(), uid: object.uid().to_owned() }
    }

    /// As claims carry it.
    pub(crate) fn claim(&self) -> Value {
        serde_json::json!({"name": self.name, "uid": self.uid})
    }
}

/// What a token is bound to.
struct Bound {
    namespace: String,
    account: Reference,
    pod: Option<Reference>,
    secret: Option<Reference>,
    node: Option<Reference>,
}

impl Bound {
    fn read(claims: &Map<String, Value>) -> Option<Self> {
        let own = claims.get("kubernetes.io")?;
        Some(Self {
            namespace: own.get("namespace")?.as_str()?.to_owned(),
            account: Reference::read(own.get("serviceaccount"))?,
            pod: Reference::read(own.get("pod")),
            secret: Reference::read(own.get("secret")),
            node: Reference::read(own.get("node")),
        })
    }

    fn user(&self, token_id: Option<&str>) -> User {
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut put = |name: &str, value: String| {
            extra.insert(format!("authentication.kubernetes.io/{name}"), vec![value]);
        };
        if let Some(id) = token_id {
            put("credential-id", format!("JTI={id}"));
        }
        for (kind, reference) in [("pod", &self.pod), ("node", &self.node)] {
            if let Some(Reference { name, uid }) = reference {
                put(&format!("{kind}-name"), name.clone());
                put(&format!("{kind}-uid"), uid.clone());
            }
        }
        let groups = ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{}", self.namespace)];
        let user = User::new(service_account_name(&self.namespace, &self.account.name), groups);
        User { uid: self.account.uid.clone(), extra, ..user }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_token_bound_to_a_pod_says_so_in_the_users_extra() {
        let claims = json!({"kubernetes.io": {
            "namespace": "shop", "serviceaccount": {"name": "robot", "uid": "u1"}, "pod": {"name": "p", "uid": "u2"}
        }});
        let user = Bound::read(claims.as_object().unwrap()).unwrap().user(Some("id"));
        assert_eq!(user.name, "system:serviceaccount:shop:robot");
        assert_eq!(user.uid, "u1");
        assert_eq!(user.groups, ["system:serviceaccounts", "system:serviceaccounts:shop"]);
        assert_eq!(user.extra["authentication.kubernetes.io/pod-name"], ["p"]);
        assert_eq!(user.extra["authentication.kubernetes.io/credential-id"], ["JTI=id"]);
    }

    #[test]
    fn a_token_counts_from_its_beginning_to_its_end() {
        let claims = |nbf: i64, exp: i64| json!({"nbf": nbf, "exp": exp}).as_object().unwrap().clone();
        let now = Timestamp::from_second(100).unwrap();
        assert!(check_times(&claims(100, 100), now).is_ok());
        assert!(check_times(&claims(101, 200), now).is_err());
        assert!(check_times(&claims(0, 99), now).is_err());
        assert!(check_times(&Map::new(), now).is_err());
    }
}
