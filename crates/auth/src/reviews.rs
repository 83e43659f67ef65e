//! The kinds that are asked instead of stored: who am I, whose token is this, may somebody do that.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::{
    FieldError, FieldRequirement, FieldSelector, GroupVersionKind, GroupVersionResource, LabelSelector, Object,
    ResourcePath, Status, format_time,
};
use coracle_registry::{
    Attributes, Authenticator, Computed, Credentials, Decision, PathRule, Registry, Request, ResourceRule, Target, User,
};
use serde_json::{Map, Value, json};

const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";

/// All reviews, to be given to the registry. `authenticator` says whose a token is, `audiences` for whom by default.
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

/// `SelfSubjectReview`: who am I.
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

/// `TokenReview`: whose token is this.
struct TokenReview {
    authenticator: Arc<dyn Authenticator>,
    audiences: Vec<String>,
}

/// What is said of a token that is nobody's, or not meant for whom it is asked about.
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
                // A credential that does not say for whom it is meant is meant for this server.
                let meant = if found.audiences.is_empty() { self.audiences.clone() } else { found.audiences };
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

/// The reviews of one access: the asker's own, anybody's, and anybody's in one namespace.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AccessReview {
    OfOneself,
    OfSomebody,
    Local,
}

#[async_trait]
impl Computed for AccessReview {
    async fn create(&self, registry: &Registry, request: &Request, mut body: Object) -> Result<Object, Status> {
        self.check(&body, request)?;
        let user = match self {
            Self::OfOneself => Arc::clone(&request.user),
            Self::OfSomebody | Self::Local => Arc::new(subject(&body)),
        };
        let attributes = attributes(&body, user);
        let status = match registry.authorize(&attributes).await {
            Ok(Decision::Allow(why)) => told(json!({"allowed": true}), &why),
            Ok(Decision::Deny(why)) => told(json!({"allowed": false, "denied": true}), &why),
            Ok(Decision::NoOpinion(why)) => told(json!({"allowed": false}), &why),
            Err(status) => json!({"allowed": false, "evaluationError": status.message}),
        };
        body.set("status", status);
        Ok(body)
    }
}

fn told(mut status: Value, why: &str) -> Value {
    if !why.is_empty() {
        status["reason"] = why.into();
    }
    status
}

impl AccessReview {
    fn check(self, body: &Object, request: &Request) -> Result<(), Status> {
        let mut errors = Vec::new();
        let given = |name: &str| body.field(&["spec", name]).is_some_and(Value::is_object);
        match (given("resourceAttributes"), given("nonResourceAttributes")) {
            (true, true) => {
                let detail = "cannot be specified in combination with resourceAttributes";
                let value = body.field("spec.nonResourceAttributes").cloned().unwrap_or_default();
                errors.push(FieldError::invalid("spec.nonResourceAttributes", value, detail));
            }
            (false, false) => {
                let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
                errors.push(FieldError::invalid("spec.resourceAttributes", Value::Null, detail));
            }
            _ => {}
        }
        let nobody = body.text("spec.user").is_empty() && body.texts("spec.groups").is_empty();
        if self != Self::OfOneself && nobody {
            let detail = "at least one of user or group must be specified";
            errors.push(FieldError::invalid("spec.user", "", detail));
        }
        if self == Self::Local {
            let namespace = body.text("spec.resourceAttributes.namespace");
            if namespace != request.at.namespace {
                let message =
                    format!("spec.resourceAttributes.namespace must match namespace: {}", request.at.namespace);
                return Err(Status::bad_request(message));
            }
        }
        match errors.is_empty() {
            true => Ok(()),
            false => Err(Status::invalid(&GroupVersionKind::new(AUTHORIZATION, "v1", ""), "", &errors)),
        }
    }
}

/// Who a review asks about.
fn subject(body: &Object) -> User {
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (key, values) in body.field("spec.extra").and_then(Value::as_object).into_iter().flatten() {
        let values = values.as_array().into_iter().flatten().filter_map(Value::as_str);
        extra.insert(key.to_ascii_lowercase(), values.map(str::to_owned).collect());
    }
    let user = User::new(body.text("spec.user"), body.texts("spec.groups"));
    User { uid: body.text("spec.uid").to_owned(), extra, ..user }
}

/// What a review asks about.
fn attributes(body: &Object, user: Arc<User>) -> Attributes {
    let text = |part: &str, name: &str| body.text(&["spec", part, name]).to_owned();
    if body.field("spec.nonResourceAttributes").is_some_and(Value::is_object) {
        let part = "nonResourceAttributes";
        return Attributes::new(&user, &text(part, "verb"), Target::Path(text(part, "path")));
    }
    let part = "resourceAttributes";
    let at = ResourcePath {
        resource: GroupVersionResource::new(text(part, "group"), text(part, "version"), text(part, "resource")),
        subresource: text(part, "subresource"),
        namespace: text(part, "namespace"),
        name: text(part, "name"),
    };
    Attributes {
        field_selector: field_selector(body),
        label_selector: label_selector(body),
        ..Attributes::of_resource(&user, &text(part, "verb"), at)
    }
}

/// Those requirements that a selector can say: one value that has to be, or must not be.
fn field_selector(body: &Object) -> FieldSelector {
    let requirements = body.field("spec.resourceAttributes.fieldSelector.requirements");
    let requirements = requirements.and_then(Value::as_array).into_iter().flatten().filter_map(|requirement| {
        let equal = match requirement.get("operator")?.as_str()? {
            "In" => true,
            "NotIn" => false,
            _ => return None,
        };
        let value = match requirement.get("values")?.as_array()?.as_slice() {
            [value] => value.as_str()?.to_owned(),
            _ => return None,
        };
        Some(FieldRequirement { field: requirement.get("key")?.as_str()?.to_owned(), equal, value })
    });
    FieldSelector { requirements: requirements.collect() }
}

fn label_selector(body: &Object) -> LabelSelector {
    let requirements = body.field("spec.resourceAttributes.labelSelector.requirements");
    let selector = json!({"matchExpressions": requirements.cloned().unwrap_or_default()});
    LabelSelector::from_json(Some(&selector)).unwrap_or_default()
}

/// `SelfSubjectRulesReview`: what may I do in a namespace.
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

    fn body(spec: Value) -> Object {
        Object::from_value(json!({"kind": "SubjectAccessReview", "spec": spec})).unwrap()
    }

    #[test]
    fn a_review_names_a_resource_or_a_path_and_not_neither() {
        let request = Request::new(
            coracle_registry::Verb::Create,
            GroupVersionResource::default(),
            coracle_ambient::Timestamp::UNIX_EPOCH,
        );
        let neither = AccessReview::OfOneself.check(&body(json!({})), &request).unwrap_err();
        assert_eq!(
            neither.message,
            ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified"
        );
        let path = body(json!({"nonResourceAttributes": {"path": "/x", "verb": "get"}}));
        assert!(AccessReview::OfOneself.check(&path, &request).is_ok());
        assert!(AccessReview::OfSomebody.check(&path, &request).is_err());
    }

    #[test]
    fn the_target_of_a_review_carries_its_selectors() {
        let asked = body(json!({"resourceAttributes": {
            "verb": "list", "resource": "pods", "namespace": "shop",
            "fieldSelector": {"requirements": [{"key": "spec.nodeName", "operator": "In", "values": ["a"]}]}
        }}));
        let attributes = attributes(&asked, Arc::new(User::system()));
        let Target::Resource(at) = &attributes.target else { panic!("a resource was named") };
        assert_eq!((attributes.verb.as_str(), at.resource.resource.as_str()), ("list", "pods"));
        assert_eq!(attributes.field_selector.exact("spec.nodeName"), Some("a"));
    }

    #[test]
    fn a_user_is_told_without_what_is_empty() {
        assert_eq!(user_info(&User::new("ann", ["devs"])), json!({"username": "ann", "groups": ["devs"]}));
    }
}
