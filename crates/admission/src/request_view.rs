//! The request for webhooks, policies and their conditions.

use std::sync::Arc;

use coracle_meta::{GroupVersionKind, GroupVersionResource, Object, Status};
use coracle_registry::{DeleteOptions, Operation, Preconditions, Request, Review, Verb, WriteParameters};
use serde_json::{Value, json};

use crate::lookup::{self, core};

/// Whether objects of this resource configure admission. No webhook applies to them, so that they can always be removed.
/// In Kubernetes: `rules.IsExemptAdmissionConfigurationResource`.
pub(crate) fn is_exempt(resource: &GroupVersionResource) -> bool {
    let webhooks = ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"];
    let is_webhook = resource.group == "admissionregistration.k8s.io" && webhooks.contains(&resource.resource.as_str());
    is_webhook || is_policy(resource)
}

/// Whether objects of this resource are policies or their bindings. No policy applies to them.
/// In Kubernetes: `admissionResources` of `policy/generic`.
pub(crate) fn is_policy(resource: &GroupVersionResource) -> bool {
    let policies = [
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
    ];
    resource.group == "admissionregistration.k8s.io" && policies.contains(&resource.resource.as_str())
}

/// Whether this is a review kind, which is not stored.
pub(crate) fn is_review(resource: &GroupVersionResource) -> bool {
    let of_reviews = ["authentication.k8s.io", "authorization.k8s.io"];
    of_reviews.contains(&resource.group.as_str()) && resource.resource.ends_with("reviews")
}

/// Whether this is a review kind that the release does not send to webhooks.
pub(crate) fn is_unsent_review(review: &Review<'_>) -> bool {
    review.registry.release().enabled("ExcludeAdmissionWebhookVirtualResources")
        && is_review(&review.request.at.resource)
}

/// The namespace of the request; for a Namespace object, itself.
pub(crate) async fn namespace_of(review: &Review<'_>) -> Result<Option<Arc<Object>>, Status> {
    if review.is_about_any_part("", "namespaces") {
        return Ok(review.object().or(review.old).cloned().map(Arc::new));
    }
    match review.request.at.namespace.as_str() {
        "" => Ok(None),
        name => lookup::get(review, core("namespaces"), "", name).await,
    }
}

/// The kind of the body, which differs from the object's for some subresources.
pub(crate) fn kind_of(review: &Review<'_>) -> GroupVersionKind {
    let own = &review.strategy.spec().row.kind;
    let Some(body) = review.object().filter(|_| !review.request.at.subresource.is_empty()) else { return own.clone() };
    match (body.api_version(), body.text("kind")) {
        ("", _) | (_, "") => own.clone(),
        (version, kind) => {
            let (group, version) = version.split_once('/').unwrap_or(("", version));
            GroupVersionKind::new(group, version, kind)
        }
    }
}

/// The request as one for `resource` and `kind`. In Kubernetes: `admission/v1.AdmissionRequest`.
pub(crate) fn admission_request(
    review: &Review<'_>,
    resource: &GroupVersionResource,
    kind: &GroupVersionKind,
) -> Value {
    let request = review.request;
    let user = &request.user;
    let asked_kind = kind_of(review);
    // The name in the URL counts, whatever name the body of a subresource has.
    let name = match request.at.name.as_str() {
        // As in Kubernetes, a deletion of a collection has no name.
        _ if request.verb == Verb::DeleteCollection => "",
        "" => review.object().map_or("", Object::name),
        name => name,
    };
    let is_namespace = review.is_about_any_part("", "namespaces");
    let mut shown = json!({
        "kind": show_kind(kind), "resource": show_resource(resource),
        "requestKind": show_kind(&asked_kind), "requestResource": show_resource(&request.at.resource),
        "operation": review.operation.as_str(), "dryRun": request.dry_run, "userInfo": {}, "options": options(review),
    });
    // Empty values are omitted, as in Go.
    let mut show = |path: &[&str], value: Value| {
        let is_empty = match &value {
            Value::String(text) => text.is_empty(),
            Value::Array(list) => list.is_empty(),
            Value::Object(map) => map.is_empty(),
            _ => false,
        };
        if !is_empty {
            let place = path.iter().fold(&mut shown, |place, name| &mut place[*name]);
            *place = value;
        }
    };
    show(&["name"], name.into());
    show(&["namespace"], if is_namespace { name } else { &request.at.namespace }.into());
    show(&["subResource"], request.at.subresource.as_str().into());
    show(&["requestSubResource"], request.at.subresource.as_str().into());
    show(&["userInfo", "username"], user.name.as_str().into());
    show(&["userInfo", "uid"], user.uid.as_str().into());
    show(&["userInfo", "groups"], json!(user.groups));
    show(&["userInfo", "extra"], json!(user.extra));
    shown
}

fn show_kind(kind: &GroupVersionKind) -> Value {
    json!({"group": kind.group, "version": kind.version, "kind": kind.kind})
}

fn show_resource(resource: &GroupVersionResource) -> Value {
    json!({"group": resource.group, "version": resource.version, "resource": resource.resource})
}

/// The options of the performed write, independently of the request's verb.
fn options(review: &Review<'_>) -> Value {
    let request = review.request;
    let kind = match review.operation {
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
        Operation::Delete => "DeleteOptions",
        Operation::Connect => return Value::Null,
    };
    let mut shown = json!({"apiVersion": "meta.k8s.io/v1", "kind": kind});
    if request.dry_run {
        shown["dryRun"] = json!(["All"]);
    }
    match review.delete_options {
        Some(options) => show_delete_options(&mut shown, options),
        None => show_write_options(&mut shown, request),
    }
    shown
}

fn show_write_options(shown: &mut Value, request: &Request) {
    let WriteParameters { field_manager, field_validation } = &request.said;
    for (name, said) in [("fieldManager", field_manager), ("fieldValidation", field_validation)] {
        if !said.is_empty() {
            shown[name] = said.as_str().into();
        }
    }
}

fn show_delete_options(shown: &mut Value, options: &DeleteOptions) {
    if let Some(seconds) = options.grace_period_seconds {
        shown["gracePeriodSeconds"] = seconds.into();
    }
    let Preconditions { uid, resource_version, .. } = &options.preconditions;
    if let Some(uid) = uid {
        shown["preconditions"]["uid"] = uid.as_str().into();
    }
    if let Some(version) = resource_version {
        shown["preconditions"]["resourceVersion"] = version.as_str().into();
    }
    if let Some(orphan) = options.orphan_dependents {
        shown["orphanDependents"] = orphan.into();
    }
    if let Some(propagation) = options.propagation {
        shown["propagationPolicy"] = propagation.as_str().into();
    }
}
