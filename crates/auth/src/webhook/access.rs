use std::time::Duration;

use async_trait::async_trait;
use coracle_meta::{FieldSelector, LabelOperator, LabelSelector, Status, reason};
use coracle_registry::{Attributes, Authorizer, Decision, Registry, Rules, Target, User};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::remembered::Remembered;
use super::review::ReviewRequest;
use super::{ReviewVersion, ReviewWebhook};
use crate::or_default::or_default;

/// The maximum number of cached responses. In Kubernetes: `cache.NewLRUExpireCache(8192)`.
const MOST: usize = 8192;
/// The maximum size of the attributes that a client controls, for a response to be cached. In Kubernetes:
/// `maxControlledAttrCacheSize`.
const LONGEST_REMEMBERED_BYTES: usize = 10_000;

/// The authorization webhook. Its responses are cached. If it does not respond, it has no opinion, and the error is
/// returned if no other authorizer allows the request.
///
/// In Kubernetes: the authorization mode `Webhook`, `plugin/pkg/authorizer/webhook`.
pub struct AccessWebhook {
    webhook: ReviewWebhook,
    allowed_holds: Duration,
    refused_holds: Duration,
    known: Remembered<String, AccessStatus>,
}

impl AccessWebhook {
    /// An authorizer that calls `webhook`. It caches allowed responses for `allowed_holds`, and others for
    /// `refused_holds`.
    pub fn new(webhook: ReviewWebhook, allowed_holds: Duration, refused_holds: Duration) -> Self {
        Self { webhook, allowed_holds, refused_holds, known: Remembered::new(MOST) }
    }

    async fn status(&self, registry: &Registry, attributes: &Attributes) -> Result<AccessStatus, Status> {
        let spec = spec(attributes, self.webhook.version);
        let key = spec.to_string();
        if let Some(known) = self.known.get(&key) {
            return Ok(known);
        }
        let request = ReviewRequest {
            group: "authorization.k8s.io",
            kind: "SubjectAccessReview",
            spec,
            status: json!({"allowed": false}),
        };
        let status = self.webhook.review(registry, request, "").await;
        let status: AccessStatus = status.map_err(|why| Status::failure(500, reason::INTERNAL_ERROR, why))?;
        if chosen_bytes(attributes) < LONGEST_REMEMBERED_BYTES {
            let holds = if status.allowed { self.allowed_holds } else { self.refused_holds };
            self.known.put(key, status.clone(), holds);
        }
        Ok(status)
    }
}

#[async_trait]
impl Authorizer for AccessWebhook {
    /// Unlike Kubernetes: a response that both allows and denies leads to a 403 that says so, not to a 500.
    async fn authorize(&self, registry: &Registry, attributes: &Attributes) -> Result<Decision, Status> {
        let status = self.status(registry, attributes).await?;
        Ok(match (status.denied, status.allowed) {
            (true, true) => {
                Decision::Deny("webhook subject access review returned both allow and deny response".to_owned())
            }
            (true, false) => Decision::Deny(status.reason),
            (false, true) => Decision::Allow(status.reason),
            (false, false) => Decision::NoOpinion(status.reason),
        })
    }

    async fn rules(&self, _registry: &Registry, _user: &User, _namespace: &str) -> Result<Rules, Status> {
        let evaluation_error = "webhook authorizer does not support user rule resolution".to_owned();
        Ok(Rules { incomplete: true, evaluation_error, ..Rules::default() })
    }
}

/// `SubjectAccessReviewStatus`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct AccessStatus {
    #[serde(deserialize_with = "or_default")]
    allowed: bool,
    #[serde(deserialize_with = "or_default")]
    denied: bool,
    #[serde(deserialize_with = "or_default")]
    reason: String,
}

/// `SubjectAccessReviewSpec` without empty fields.
fn spec(attributes: &Attributes, version: ReviewVersion) -> Value {
    let user = &attributes.user;
    let mut spec = Map::new();
    match &attributes.target {
        Target::Resource(at) => {
            let mut asked = texts(&[
                ("namespace", &at.namespace),
                ("verb", &attributes.verb),
                ("group", &at.resource.group),
                ("version", &at.resource.version),
                ("resource", &at.resource.resource),
                ("subresource", &at.subresource),
                ("name", &at.name),
            ]);
            let selectors = [
                ("fieldSelector", field_requirements(&attributes.field_selector)),
                ("labelSelector", label_requirements(&attributes.label_selector)),
            ];
            for (name, requirements) in selectors.into_iter().filter(|(_, requirements)| !requirements.is_empty()) {
                asked.insert(name.to_owned(), json!({"requirements": requirements}));
            }
            spec.insert("resourceAttributes".to_owned(), asked.into());
        }
        Target::Path(path) => {
            let asked = texts(&[("path", path), ("verb", &attributes.verb)]);
            spec.insert("nonResourceAttributes".to_owned(), asked.into());
        }
    }
    spec.extend(texts(&[("user", &user.name), ("uid", &user.uid)]));
    if !user.groups.is_empty() {
        let name = if version == ReviewVersion::V1 { "groups" } else { "group" };
        spec.insert(name.to_owned(), user.groups.clone().into());
    }
    if !user.extra.is_empty() {
        spec.insert("extra".to_owned(), json!(user.extra));
    }
    spec.into()
}

fn texts(all: &[(&str, &String)]) -> Map<String, Value> {
    let given = all.iter().filter(|(_, text)| !text.is_empty());
    given.map(|(name, text)| ((*name).to_owned(), Value::from(text.as_str()))).collect()
}

/// In Kubernetes: `fieldSelectorToAuthorizationAPI`.
fn field_requirements(selector: &FieldSelector) -> Vec<Value> {
    let told = selector.requirements.iter().map(|requirement| {
        let operator = if requirement.equal { "In" } else { "NotIn" };
        json!({"key": requirement.field, "operator": operator, "values": [requirement.value]})
    });
    told.collect()
}

/// In Kubernetes: `labelSelectorToAuthorizationAPI`. Requirements that a review cannot express are left out, which
/// makes the review wider.
fn label_requirements(selector: &LabelSelector) -> Vec<Value> {
    let told = selector.requirements.iter().filter_map(|requirement| {
        let operator = match requirement.operator {
            LabelOperator::In => "In",
            LabelOperator::NotIn => "NotIn",
            LabelOperator::Exists => "Exists",
            LabelOperator::DoesNotExist => "DoesNotExist",
            LabelOperator::GreaterThan | LabelOperator::LessThan => return None,
        };
        let mut told = Map::from_iter([
            ("key".to_owned(), Value::from(requirement.key.as_str())),
            ("operator".to_owned(), operator.into()),
        ]);
        if !requirement.values.is_empty() {
            told.insert("values".to_owned(), requirement.values.clone().into());
        }
        Some(Value::Object(told))
    });
    told.collect()
}

/// The size of the attributes that the client controls, in bytes.
fn chosen_bytes(attributes: &Attributes) -> usize {
    let target = match &attributes.target {
        Target::Path(path) => path.len(),
        Target::Resource(at) => {
            let resource = &at.resource;
            let parts = [&at.namespace, &at.name, &at.subresource, &resource.group, &resource.version];
            parts.iter().map(|part| part.len()).sum::<usize>() + resource.resource.len()
        }
    };
    attributes.verb.len() + target
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use coracle_meta::{GroupVersionResource, ResourcePath};

    use super::*;

    #[test]
    fn a_review_says_what_is_asked_and_leaves_out_what_is_empty() {
        let user = User { extra: [("scopes".to_owned(), vec!["a".to_owned()])].into(), ..User::new("ann", ["devs"]) };
        let user = Arc::new(user);
        let at = ResourcePath::new(GroupVersionResource::new("apps", "v1", "deployments")).object("shop", "");
        let attributes = Attributes {
            field_selector: FieldSelector::parse("metadata.name=web,spec.x!=1").unwrap(),
            label_selector: LabelSelector::parse("app in (web,db),!gone,old,count>1").unwrap(),
            ..Attributes::of_resource(&user, "list", at)
        };
        let asked = json!({
            "user": "ann", "groups": ["devs"], "extra": {"scopes": ["a"]},
            "resourceAttributes": {
                "namespace": "shop", "verb": "list", "group": "apps", "version": "v1", "resource": "deployments",
                "fieldSelector": {"requirements": [
                    {"key": "metadata.name", "operator": "In", "values": ["web"]},
                    {"key": "spec.x", "operator": "NotIn", "values": ["1"]}
                ]},
                "labelSelector": {"requirements": [
                    {"key": "app", "operator": "In", "values": ["db", "web"]},
                    {"key": "gone", "operator": "DoesNotExist"},
                    {"key": "old", "operator": "Exists"}
                ]}
            }
        });
        let mut told = spec(&attributes, ReviewVersion::V1);
        let of_app =
            told.pointer_mut("/resourceAttributes/labelSelector/requirements").unwrap().as_array_mut().unwrap();
        of_app.sort_by_key(|requirement| requirement["key"].to_string());
        let values = of_app[0]["values"].as_array_mut().unwrap();
        values.sort_by_key(ToString::to_string);
        assert_eq!(told, asked);
        let path = Attributes::new(&user, "get", Target::Path("/healthz".to_owned()));
        let told = spec(&path, ReviewVersion::V1beta1);
        assert_eq!(told["nonResourceAttributes"], json!({"path": "/healthz", "verb": "get"}));
        assert_eq!((&told["group"], &told["groups"]), (&json!(["devs"]), &Value::Null));
    }
}
