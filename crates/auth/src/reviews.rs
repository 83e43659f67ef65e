//! The review kinds, which are computed and not stored: SelfSubjectReview, TokenReview and the access reviews.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::{GroupVersionKind, GroupVersionResource, Object, Status, format_time};
use coracle_registry::{Authenticator, Computed, Credentials, PathRule, Registry, Request, ResourceRule, User};
use serde_json::{Map, Value, json};

use crate::access_review::AccessReview;

const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";

/// All review kinds, for the registry. `authenticator` authenticates tokens; `audiences` are the default audiences.
pub fn reviews(
    authenticator: Arc<dyn Authenticator>,
    audiences: &[String],
) -> Vec<(GroupVersionResource, Arc<dyn Computed>)> {
    let of = |group: &str, plural: &str| GroupVersionResource::new(group, "v1", plural);
    let tokens = TokenReview { authenticator, audiences: audiences.to_vec() };
    vec![
        (of(AUTHENTICATION, "selfsubjectreviews"), Arc::new(SelfSubjectReview)),
        (of(AUTHENTICATION, "tokenreviews"), Arc::new(tokens)),
        (of(AUTHORIZATION, "localsubjectaccessreviews"), Arc::new(AccessReview::Local)),
        (of(AUTHORIZATION, "selfsubjectaccessreviews"), Arc::new(AccessReview::OfOneself)),
        (of(AUTHORIZATION, "selfsubjectrulesreviews"), Arc::new(RulesReview)),
        (of(AUTHORIZATION, "subjectaccessreviews"), Arc::new(AccessReview::OfSomebody)),
    ]
}

/// `SelfSubjectReview`: the requesting user.
struct SelfSubjectReview;

#[async_trait]
impl Computed for SelfSubjectReview {
    async fn create(&self, _registry: &Registry, request: &Request, _body: Object) -> Result<Object, Status> {
        let mut answer = Object::of_kind(&GroupVersionKind::new(AUTHENTICATION, "v1", "SelfSubjectReview"));
        answer.set("metadata.creationTimestamp", format_time(request.now));
        answer.set("status.userInfo", user_info(&request.user));
        Ok(answer)
    }
}

/// `authenticationv1.UserInfo`.
fn user_info(user: &User) -> Value {
    let mut info = Map::new();
    let mut put = |name: &str, value: Value, is_empty: bool| {
        if !is_empty {
            info.insert(name.to_owned(), value);
        }
    };
    put("username", user.name.as_str().into(), user.name.is_empty());
    put("uid", user.uid.as_str().into(), user.uid.is_empty());
    put("groups", user.groups.clone().into(), user.groups.is_empty());
    put("extra", json!(user.extra), user.extra.is_empty());
    Value::Object(info)
}

/// `TokenReview`: the user of a token.
struct TokenReview {
    authenticator: Arc<dyn Authenticator>,
    audiences: Vec<String>,
}

/// The error of an unknown token, or of a token for other audiences.
const INVALID_TOKEN: &str = "invalid bearer token";

#[async_trait]
impl Computed for TokenReview {
    async fn create(&self, registry: &Registry, _request: &Request, mut body: Object) -> Result<Object, Status> {
        let token = body.text("spec.token").to_owned();
        if token.is_empty() {
            return Err(Status::bad_request("token is required for TokenReview in authentication"));
        }
        let mut wanted = body.texts("spec.audiences");
        if wanted.is_empty() {
            wanted.clone_from(&self.audiences);
        }
        let credentials =
            Credentials { bearer_token: Some(token), audiences: wanted.clone(), ..Credentials::default() };
        let status = match self.authenticator.authenticate(registry, &credentials).await {
            Ok(Some(found)) => {
                // A credential without audiences is valid for this API server.
                let meant = if found.audiences.is_empty() { &self.audiences } else { &found.audiences };
                let meant: BTreeSet<&String> = meant.iter().collect();
                wanted.retain(|audience| meant.contains(audience));
                if wanted.is_empty() {
                    json!({"user": {}, "error": INVALID_TOKEN})
                } else {
                    let mut user = User::clone(&found.user);
                    user.groups.push("system:authenticated".to_owned());
                    json!({"authenticated": true, "user": user_info(&user), "audiences": wanted})
                }
            }
            Ok(None) => json!({"user": {}, "error": INVALID_TOKEN}),
            Err(status) if status.code == 401 => {
                json!({"user": {}, "error": format!("[{INVALID_TOKEN}, {}]", status.message)})
            }
            Err(status) => return Err(status),
        };
        body.set("status", status);
        Ok(body)
    }
}

/// `SelfSubjectRulesReview`: the permissions of the requesting user in a namespace.
struct RulesReview;

#[async_trait]
impl Computed for RulesReview {
    async fn create(&self, registry: &Registry, request: &Request, body: Object) -> Result<Object, Status> {
        let namespace = body.text("spec.namespace");
        if namespace.is_empty() {
            return Err(Status::bad_request("no namespace on request"));
        }
        let rules = registry.rules(&request.user, namespace).await?;
        let mut answer = Object::of_kind(&GroupVersionKind::new(AUTHORIZATION, "v1", "SelfSubjectRulesReview"));
        answer.set("metadata", json!({}));
        answer.set("spec", json!({}));
        answer.set("status.resourceRules", rules.resources.iter().map(resource_rule).collect::<Value>());
        answer.set("status.nonResourceRules", rules.paths.iter().map(path_rule).collect::<Value>());
        answer.set("status.incomplete", rules.incomplete);
        if !rules.evaluation_error.is_empty() {
            answer.set("status.evaluationError", rules.evaluation_error);
        }
        Ok(answer)
    }
}

fn resource_rule(rule: &ResourceRule) -> Value {
    let mut told = json!({"verbs": rule.verbs, "apiGroups": rule.api_groups, "resources": rule.resources});
    if !rule.resource_names.is_empty() {
        told["resourceNames"] = rule.resource_names.clone().into();
    }
    told
}

fn path_rule(rule: &PathRule) -> Value {
    json!({"verbs": rule.verbs, "nonResourceURLs": rule.paths})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_returned_without_empty_fields() {
        assert_eq!(user_info(&User::new("ann", ["devs"])), json!({"username": "ann", "groups": ["devs"]}));
    }
}
