use async_trait::async_trait;
use coracle_meta::{FieldError, GroupVersionKind, GroupVersionResource, Object, Status, format_time};
use coracle_registry::{Action, BodyKind, GetOptions, Registry, Request, Subresource, Verb};
use serde_json::{Map, Value, json};

use crate::service_account_tokens::Reference;
use crate::{Issuer, service_account_name};

/// How long a token may be valid, in seconds: the least, what is given if nothing is asked for, and the most.
const SECONDS: (i64, i64, i64) = (600, 3600, 1 << 32);

/// Hands out tokens: `serviceaccounts/token`. In Kubernetes: `TokenRequest`.
#[derive(Clone, Debug)]
pub struct TokenRequests {
    issuer: Issuer,
}

impl TokenRequests {
    /// Hands out tokens of this issuer.
    pub fn new(issuer: Issuer) -> Self {
        Self { issuer }
    }

    /// This, as the subresource `token` of service accounts.
    pub fn into_subresource(self) -> (GroupVersionResource, Subresource) {
        (GroupVersionResource::new("", "v1", "serviceaccounts"), Subresource::Action(std::sync::Arc::new(self)))
    }

    /// What the request asks for, checked, with its defaults filled in.
    fn spec(&self, body: &Object) -> Result<Spec, Status> {
        let mut audiences = body.texts("spec.audiences");
        if audiences.is_empty() {
            audiences = vec![self.issuer.name().to_owned()];
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
        if !errors.is_empty() {
            let kind = GroupVersionKind::new("authentication.k8s.io", "v1", "TokenRequest");
            return Err(Status::invalid(&kind, body.name(), &errors));
        }
        Ok(Spec { audiences, seconds })
    }

    /// The object that the token is bound to, and the claims that say so.
    async fn bound(
        &self,
        registry: &Registry,
        request: &Request,
        body: &Object,
    ) -> Result<Option<(&'static str, Object)>, Status> {
        let Some(reference) = body.field("spec.boundObjectRef").filter(|value| value.is_object()) else {
            return Ok(None);
        };
        let text = |name: &str| reference.get(name).and_then(Value::as_str).unwrap_or("");
        let (claim, plural) = match (text("apiVersion"), text("kind")) {
            ("v1" | "", "Pod") => ("pod", "pods"),
            ("v1" | "", "Secret") => ("secret", "secrets"),
            ("v1" | "", "Node") => ("node", "nodes"),
            (version, kind) => {
                let message = format!("cannot bind token for serviceaccount to object of type {version}, Kind={kind}");
                return Err(Status::bad_request(message));
            }
        };
        let namespace = if plural == "nodes" { "" } else { request.at.namespace.as_str() };
        let resource = GroupVersionResource::new("", "v1", plural);
        let found = registry
            .get(&request.about(Verb::Get, resource.clone(), namespace, text("name")), &GetOptions::default())
            .await?
            .object();
        if !text("uid").is_empty() && text("uid") != found.uid() {
            let why = format!(
                "the UID in the bound object reference ({}) does not match the UID in record. The object might have been deleted and then recreated",
                text("uid")
            );
            return Err(Status::conflict(&resource.group_resource(), text("name"), &why));
        }
        Ok(Some((claim, Object::clone(&found))))
    }
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
        BodyKind::built_in("authentication.k8s.io", "v1", "TokenRequest")
    }

    async fn create(&self, registry: &Registry, request: &Request, mut body: Object) -> Result<Object, Status> {
        let resource = GroupVersionResource::new("", "v1", "serviceaccounts");
        let about = request.about(Verb::Get, resource, &request.at.namespace, &request.at.name);
        let account = registry.get(&about, &GetOptions::default()).await?.object();
        let Spec { audiences, seconds } = self.spec(&body)?;
        let bound = self.bound(registry, request, &body).await?;

        let now = request.now.as_second();
        let mut own = Map::new();
        own.insert("namespace".into(), account.namespace().into());
        own.insert("serviceaccount".into(), Reference::to(&account).claim());
        if let Some((claim, object)) = &bound {
            own.insert((*claim).into(), Reference::to(object).claim());
        }
        let claims = json!({
            "aud": audiences, "exp": now + seconds, "iat": now, "nbf": now, "iss": self.issuer.name(),
            "jti": registry.ambient().random.uuid(), "kubernetes.io": own,
            "sub": service_account_name(account.namespace(), account.name()),
        });
        let token = self.issuer.sign(&claims).map_err(Status::internal)?;

        for (name, value) in [("name", account.name()), ("namespace", account.namespace()), ("uid", account.uid())] {
            body.set(&["metadata", name], value);
        }
        body.set("metadata.creationTimestamp", format_time(request.now));
        body.set("spec.audiences", audiences);
        body.set("spec.expirationSeconds", seconds);
        if bound.is_none() {
            body.set("spec.boundObjectRef", Value::Null);
        }
        let end = coracle_ambient::Timestamp::from_second(now + seconds).map_err(Status::internal)?;
        body.set("status", json!({"token": token, "expirationTimestamp": format_time(end)}));
        Ok(body)
    }
}
