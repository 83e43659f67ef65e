use async_trait::async_trait;
use coracle_meta::{
    FieldError, GroupResource, GroupVersionKind, GroupVersionResource, Object, Status, format_time, go_quote,
};
use coracle_registry::{Action, BodyKind, GetOptions, Registry, Request, Subresource, Verb};
use coracle_release::Release;
use serde_json::{Map, Value, json};

use crate::bound::Reference;
use crate::{Issuer, service_account_name};

/// The lifetime of a token in seconds: minimum, default and maximum.
const SECONDS: (i64, i64, i64) = (600, 3600, 1 << 32);
/// The requested lifetime that identifies the tokens of pods. In Kubernetes: `WarnOnlyBoundTokenExpirationSeconds`.
const EXTENDED_FROM: i64 = 60 * 60 + 7;
/// The extended lifetime of such a token. In Kubernetes: `ExpirationExtensionSeconds`.
const EXTENDED_TO: i64 = 365 * 24 * 60 * 60;

const GROUP: &str = "authentication.k8s.io";

/// The lifetimes of tokens. The names are those of kube-apiserver's flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenLifetimes {
    /// `--service-account-max-token-expiration`, in seconds: longer requested lifetimes are shortened to it.
    pub most: Option<i64>,
    /// `--service-account-extend-token-expiration`: whether the tokens of pods are valid for a year, for programs that
    /// read them only once.
    pub extend: bool,
}

impl Default for TokenLifetimes {
    fn default() -> Self {
        Self { most: None, extend: true }
    }
}

/// Issues tokens: the subresource `serviceaccounts/token`. In Kubernetes: `TokenRequest`.
#[derive(Clone, Debug)]
pub struct TokenRequests {
    release: Release,
    issuer: Issuer,
    lifetimes: TokenLifetimes,
}

impl TokenRequests {
    /// Issues tokens of this issuer.
    pub fn new(release: &Release, issuer: Issuer, lifetimes: TokenLifetimes) -> Self {
        Self { release: release.clone(), issuer, lifetimes }
    }

    /// The subresource `token` of service accounts.
    pub fn into_subresource(self) -> (GroupVersionResource, Subresource) {
        (GroupVersionResource::new("", "v1", "serviceaccounts"), Subresource::Action(std::sync::Arc::new(self)))
    }

    /// The validated spec of the request, with defaults.
    fn spec(&self, body: &Object) -> Result<Spec, Status> {
        let mut audiences = body.texts("spec.audiences");
        if audiences.is_empty() {
            audiences = self.issuer.audiences().to_vec();
        }
        let seconds = body.number("spec.expirationSeconds").unwrap_or(SECONDS.1);
        let mut errors = Vec::new();
        if seconds < SECONDS.0 {
            let detail = "may not specify a duration less than 10 minutes";
            errors.push(FieldError::invalid("spec.expirationSeconds", seconds, detail));
        }
        if seconds > SECONDS.2 {
            let detail = "may not specify a duration larger than 2^32 seconds";
            errors.push(FieldError::invalid("spec.expirationSeconds", seconds, detail));
        }
        let attestations = body.field("spec.attestations").cloned().unwrap_or_default();
        if attestations.as_object().is_some_and(|all| !all.is_empty()) {
            let detail = "attestations may only be specified with a webhook bound object reference";
            errors = vec![FieldError::invalid("spec.attestations", attestations, detail)];
        }
        if errors.is_empty() { Ok(Spec { audiences, seconds }) } else { Err(invalid("", &errors)) }
    }

    /// The object that the token is bound to, as claims.
    async fn bound(&self, registry: &Registry, request: &Request, body: &Object) -> Result<Binding, Status> {
        let Some(reference) = body.field("spec.boundObjectRef").filter(|value| value.is_object()) else {
            return Ok(Binding::default());
        };
        let text = |name: &str| reference.get(name).and_then(Value::as_str).unwrap_or("");
        let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
        let (claim, plural) = match (group, text("kind")) {
            ("", "Pod") => ("pod", "pods"),
            ("", "Secret") => ("secret", "secrets"),
            ("", "Node") => ("node", "nodes"),
            (group, kind) => {
                let message = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
                return Err(Status::bad_request(message));
            }
        };
        let namespace = if plural == "nodes" { "" } else { request.at.namespace.as_str() };
        let resource = GroupVersionResource::new("", "v1", plural);
        let about = request.about(Verb::Get, resource, namespace, text("name"));
        let found = registry.get(&about, &GetOptions::default()).await?.object();
        let mut claims = Map::new();
        if claim == "pod" {
            if found.text("spec.serviceAccountName") != request.at.name {
                let account = go_quote(&request.at.name);
                return Err(Status::bad_request(format!(
                    "cannot bind token for serviceaccount {account} to pod running with different serviceaccount name."
                )));
            }
            if let Some(node) = node_of(registry, request, &found).await? {
                claims.insert("node".into(), node.claim());
            }
        }
        if !text("uid").is_empty() && text("uid") != found.uid() {
            let why = format!(
                "the UID in the bound object reference ({}) does not match the UID in record. The object might have been deleted and then recreated",
                text("uid")
            );
            return Err(Status::conflict(&GroupResource::new("", text("kind")), text("name"), &why));
        }
        claims.insert(claim.into(), Reference::to(&found).claim());
        Ok(Binding { claims, is_pod: claim == "pod" })
    }

    /// The lifetime of a token in seconds, and the number of seconds after which clients should have read a new one.
    fn lifetime(&self, spec: &Spec, is_pod: bool) -> (i64, Option<i64>) {
        let is_ours = spec.audiences.iter().all(|audience| self.issuer.audiences().contains(audience));
        if self.lifetimes.extend && is_pod && spec.seconds == EXTENDED_FROM && is_ours {
            (EXTENDED_TO, Some(spec.seconds))
        } else {
            (spec.seconds, None)
        }
    }
}

/// The object that a token is bound to.
#[derive(Default)]
struct Binding {
    claims: Map<String, Value>,
    is_pod: bool,
}

/// The node of a pod; a missing node has only a name.
async fn node_of(registry: &Registry, request: &Request, pod: &Object) -> Result<Option<Reference>, Status> {
    let name = pod.text("spec.nodeName");
    if name.is_empty() {
        return Ok(None);
    }
    let about = request.about(Verb::Get, GroupVersionResource::new("", "v1", "nodes"), "", name);
    match registry.get(&about, &GetOptions::default()).await {
        Ok(found) => Ok(Some(Reference::to(&found.object()))),
        Err(status) if status.is_not_found() => Ok(Some(Reference { name: name.to_owned(), uid: String::new() })),
        Err(status) => Err(Status::internal(status.message)),
    }
}

/// Refuses a body with another account than in the path.
fn check_names(request: &Request, body: &Object) -> Result<(), Status> {
    for (field, ours) in [("name", &request.at.name), ("namespace", &request.at.namespace)] {
        let given = body.text(&["metadata", field]);
        if !given.is_empty() && given != ours {
            let detail = format!("must match the service account {field} if specified");
            let error = FieldError::invalid(format!("metadata.{field}"), given, detail);
            return Err(invalid(&request.at.name, &[error]));
        }
    }
    Ok(())
}

/// Refuses a body with the uid of an earlier account of this name.
fn check_uid(body: &Object, account: &Object) -> Result<(), Status> {
    if !body.uid().is_empty() && body.uid() != account.uid() {
        let why = format!(
            "the UID in the token request ({}) does not match the UID of the service account ({})",
            body.uid(),
            account.uid()
        );
        return Err(Status::conflict(&GroupResource::new(GROUP, "TokenRequest"), account.name(), &why));
    }
    Ok(())
}

fn invalid(name: &str, errors: &[FieldError]) -> Status {
    Status::invalid(&GroupVersionKind::new(GROUP, "v1", "TokenRequest"), name, errors)
}

struct Spec {
    audiences: Vec<String>,
    seconds: i64,
}

#[async_trait]
impl Action for TokenRequests {
    fn name(&self) -> &str {
        "token"
    }

    fn body(&self) -> BodyKind {
        BodyKind::of(&self.release, GROUP, "v1", "TokenRequest")
    }

    fn keeps_system_fields(&self) -> bool {
        true
    }

    fn set_defaults(&self, body: &mut Object) {
        if body.number("spec.expirationSeconds").is_none() {
            body.set("spec.expirationSeconds", SECONDS.1);
        }
    }

    fn check(&self, request: &Request, body: &Object) -> Result<(), Status> {
        check_names(request, body)
    }

    async fn create(&self, registry: &Registry, request: &Request, mut body: Object) -> Result<Object, Status> {
        let resource = GroupVersionResource::new("", "v1", "serviceaccounts");
        let about = request.about(Verb::Get, resource, &request.at.namespace, &request.at.name);
        let account = registry.get(&about, &GetOptions::default()).await?.object();
        check_uid(&body, &account)?;
        let mut spec = self.spec(&body)?;
        let binding = self.bound(registry, request, &body).await?;
        if let Some(most) = self.lifetimes.most.filter(|most| spec.seconds > *most) {
            let asked = spec.seconds;
            request.warnings.add(format!("requested expiration of {asked} seconds shortened to {most} seconds"));
            spec.seconds = most;
        }
        let (lasts, warn_after) = self.lifetime(&spec, binding.is_pod);

        let now = request.now.as_second();
        let is_bound = !binding.claims.is_empty();
        let mut own = binding.claims;
        own.insert("namespace".into(), account.namespace().into());
        own.insert("serviceaccount".into(), Reference::to(&account).claim());
        if let Some(after) = warn_after {
            own.insert("warnafter".into(), (now + after).into());
        }
        let claims = json!({
            "aud": spec.audiences, "exp": now + lasts, "iat": now, "nbf": now, "iss": self.issuer.name(),
            "jti": request.random(registry.ambient(), "token", account.name()).uuid(), "kubernetes.io": own,
            "sub": service_account_name(account.namespace(), account.name()),
        });
        let token = self.issuer.sign(&claims).map_err(Status::internal)?;

        for (name, value) in [("name", account.name()), ("namespace", account.namespace()), ("uid", account.uid())] {
            body.set(&["metadata", name], value);
        }
        body.set("metadata.creationTimestamp", format_time(request.now));
        body.set("spec.audiences", spec.audiences);
        body.set("spec.expirationSeconds", spec.seconds);
        if !is_bound {
            body.set("spec.boundObjectRef", Value::Null);
        }
        let end =
            coracle_ambient::Timestamp::from_second(now.saturating_add(spec.seconds)).map_err(Status::internal)?;
        body.set("status", json!({"token": token, "expirationTimestamp": format_time(end)}));
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(lifetimes: TokenLifetimes) -> TokenRequests {
        TokenRequests::new(&Release::default(), Issuer::generate("https://ours").unwrap(), lifetimes)
    }

    fn lifetime(requests: &TokenRequests, audience: &str, seconds: i64, is_pod: bool) -> (i64, Option<i64>) {
        requests.lifetime(&Spec { audiences: vec![audience.to_owned()], seconds }, is_pod)
    }

    #[test]
    fn only_tokens_in_pods_for_this_server_last_a_year() {
        let requests = requests(TokenLifetimes::default());
        assert_eq!(lifetime(&requests, "https://ours", 3607, true), (31_536_000, Some(3607)));
        assert_eq!(lifetime(&requests, "https://ours", 3607, false), (3607, None));
        assert_eq!(lifetime(&requests, "https://ours", 3600, true), (3600, None));
        assert_eq!(lifetime(&requests, "vault", 3607, true), (3607, None));
    }

    #[test]
    fn tokens_are_not_extended_where_that_is_off() {
        let requests = requests(TokenLifetimes { extend: false, ..TokenLifetimes::default() });
        assert_eq!(lifetime(&requests, "https://ours", 3607, true), (3607, None));
    }
}
