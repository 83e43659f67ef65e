//! The access reviews: whether a user may do something.

mod selectors;

use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::{FieldError, GroupVersionKind, GroupVersionResource, Object, ResourcePath, Status};
use coracle_registry::{Attributes, Computed, Decision, Registry, Request, Target, User};
use coracle_release::Release;
use serde_json::{Value, json};

use self::selectors::Keys;

/// The access reviews: for the requesting user, for any user, and for any user in one namespace.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessReview {
    OfOneself,
    OfSomebody,
    Local,
}

#[async_trait]
impl Computed for AccessReview {
    async fn create(&self, registry: &Registry, request: &Request, mut body: Object) -> Result<Object, Status> {
        self.check(&body, &request.at.namespace, registry.release())?;
        let user = match self {
            Self::OfOneself => Arc::clone(&request.user),
            Self::OfSomebody | Self::Local => Arc::new(subject(&body)),
        };
        let (attributes, complaints) = attributes(&body, user);
        let (mut status, why, error) = match registry.authorize(&attributes).await {
            Ok(Decision::Allow(why)) => (json!({"allowed": true}), why, None),
            Ok(Decision::Deny(why)) => (json!({"allowed": false, "denied": true}), why, None),
            Ok(Decision::NoOpinion(why)) => (json!({"allowed": false}), why, None),
            Err(status) => (json!({"allowed": false}), String::new(), Some(status.message)),
        };
        let errors: Vec<String> = error.into_iter().chain(complaints).collect();
        for (name, text) in [("reason", why), ("evaluationError", errors.join("; "))] {
            if !text.is_empty() {
                status[name] = text.into();
            }
        }
        body.set("status", status);
        Ok(body)
    }
}

const ONE: &str = "exactly one of nonResourceAttributes or resourceAttributes must be specified";

impl AccessReview {
    /// In Kubernetes: `ValidateSubjectAccessReview` and its siblings.
    fn check(self, body: &Object, namespace: &str, release: &Release) -> Result<(), Status> {
        let mut errors = Vec::new();
        let is_of_spec = release.has("AccessReviewUnion");
        let given = |name: &str| body.field(&["spec", name]).is_some_and(Value::is_object);
        let path = || body.field("spec.nonResourceAttributes").cloned().unwrap_or_default();
        match (given("resourceAttributes"), given("nonResourceAttributes")) {
            (true, true) if is_of_spec => errors.push(FieldError::invalid("spec", path(), ONE)),
            (true, true) => {
                let detail = "cannot be specified in combination with resourceAttributes";
                errors.push(FieldError::invalid("spec.nonResourceAttributes", path(), detail));
            }
            (false, false) => {
                let at = if is_of_spec { "spec" } else { "spec.resourceAttributes" };
                errors.push(FieldError::invalid(at, Value::Null, ONE));
            }
            _ => {}
        }
        let nobody = body.text("spec.user").is_empty() && body.texts("spec.groups").is_empty();
        if self != Self::OfOneself && nobody {
            let detail = "at least one of user or group must be specified";
            errors.push(FieldError::invalid("spec.user", "", detail));
        }
        for (name, keys) in [("fieldSelector", Keys::Fields), ("labelSelector", Keys::Labels)] {
            if let Some(selector) = body.field(&["spec", "resourceAttributes", name]) {
                errors.extend(selectors::check(selector, &format!("spec.resourceAttributes.{name}"), keys));
            }
        }
        if self == Self::Local && given("resourceAttributes") {
            let asked = body.text("spec.resourceAttributes.namespace");
            if asked != namespace {
                let at = "spec.resourceAttributes.namespace";
                errors.push(FieldError::invalid(at, asked, "must match metadata.namespace"));
            }
        }
        if self == Self::Local && given("nonResourceAttributes") {
            let detail = "disallowed on this kind of request";
            errors.push(FieldError::invalid("spec.nonResourceAttributes", path(), detail));
        }
        if errors.is_empty() {
            Ok(())
        } else {
            Err(Status::invalid(&GroupVersionKind::new("authorization.k8s.io", "v1", ""), "", &errors))
        }
    }
}

/// The user of a review.
fn subject(body: &Object) -> User {
    let extra = body.field("spec.extra").and_then(Value::as_object).into_iter().flatten();
    let extra = extra.map(|(key, values)| {
        let values = values.as_array().into_iter().flatten().filter_map(Value::as_str);
        (key.clone(), values.map(str::to_owned).collect())
    });
    let user = User::new(body.text("spec.user"), body.texts("spec.groups"));
    User { uid: body.text("spec.uid").to_owned(), extra: extra.collect(), ..user }
}

/// The attributes of a review, and the errors of its selectors. In Kubernetes: `ResourceAttributesFrom`.
fn attributes(body: &Object, user: Arc<User>) -> (Attributes, Vec<String>) {
    let text = |part: &str, name: &str| body.text(&["spec", part, name]).to_owned();
    if body.field("spec.nonResourceAttributes").is_some_and(Value::is_object) {
        let part = "nonResourceAttributes";
        return (Attributes::new(&user, &text(part, "verb"), Target::Path(text(part, "path"))), Vec::new());
    }
    let part = "resourceAttributes";
    let version = Some(text(part, "version")).filter(|version| !version.is_empty());
    let version = version.unwrap_or_else(|| "*".to_owned());
    let at = ResourcePath {
        resource: GroupVersionResource::new(text(part, "group"), version, text(part, "resource")),
        subresource: text(part, "subresource"),
        namespace: text(part, "namespace"),
        name: text(part, "name"),
    };
    let selector = |name: &str| body.field(&["spec", part, name]).unwrap_or(&Value::Null);
    let (fields, labels) = (selectors::fields(selector("fieldSelector")), selectors::labels(selector("labelSelector")));
    let complaints = fields.complaint("fieldSelector").into_iter().chain(labels.complaint("labelSelector")).collect();
    let attributes = Attributes {
        field_selector: fields.selector,
        label_selector: labels.selector,
        ..Attributes::of_resource(&user, &text(part, "verb"), at)
    };
    (attributes, complaints)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(spec: Value) -> Object {
        Object::from_value(json!({"kind": "SubjectAccessReview", "spec": spec})).unwrap()
    }

    fn check(review: AccessReview, spec: Value, release: &str) -> Result<(), Status> {
        review.check(&body(spec), "", &Release::named(release).unwrap())
    }

    #[test]
    fn a_review_names_a_resource_or_a_path() {
        let neither = check(AccessReview::OfOneself, json!({}), "1.35").unwrap_err();
        let message = |error: Status| error.message;
        assert_eq!(
            message(neither),
            ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified"
        );
        let revised = check(AccessReview::OfOneself, json!({}), "1.37").unwrap_err();
        assert!(message(revised).contains(" spec: Invalid value: null: exactly one of"));
        let path = || json!({"nonResourceAttributes": {"path": "/x", "verb": "get"}});
        assert!(check(AccessReview::OfOneself, path(), "1.35").is_ok());
        assert!(check(AccessReview::OfSomebody, path(), "1.35").is_err());
    }

    #[test]
    fn a_local_review_asks_about_its_own_namespace() {
        let asked = |spec: Value| {
            AccessReview::Local.check(&body(spec), "shop", &Release::default()).map_err(|status| status.message)
        };
        assert!(asked(json!({"user": "ann", "resourceAttributes": {"namespace": "shop"}})).is_ok());
        let other = asked(json!({"user": "ann", "resourceAttributes": {"namespace": "other"}})).unwrap_err();
        assert!(
            other.ends_with(
                "spec.resourceAttributes.namespace: Invalid value: \"other\": must match metadata.namespace"
            ),
            "{other}"
        );
        let path = asked(json!({"user": "ann", "nonResourceAttributes": {"path": "/x"}})).unwrap_err();
        assert!(path.ends_with("disallowed on this kind of request"), "{path}");
    }

    #[test]
    fn the_target_of_a_review_carries_its_selectors() {
        let asked = body(json!({"resourceAttributes": {
            "verb": "list", "resource": "pods", "namespace": "shop",
            "fieldSelector": {"requirements": [{"key": "spec.nodeName", "operator": "In", "values": ["a"]}]},
            "labelSelector": {"rawSelector": "a in (b"}
        }}));
        let (attributes, complaints) = attributes(&asked, Arc::new(User::system()));
        let Target::Resource(at) = &attributes.target else { panic!("a resource was named") };
        assert_eq!((attributes.verb.as_str(), at.resource.resource.as_str()), ("list", "pods"));
        assert_eq!(at.resource.version, "*");
        assert_eq!(attributes.field_selector.exact("spec.nodeName"), Some("a"));
        assert_eq!(complaints, ["spec.resourceAttributes.labelSelector ignored due to parse error"]);
    }
}
