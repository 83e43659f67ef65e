//! `PodSecurity`: the pod security standards, as the labels of the namespace ask for them.

mod checks;
mod policy;

use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionKind, Object, Status};
use coracle_registry::{Admission, Operation, Review};
use serde_json::Value;

use crate::lookup::{core, get};
use crate::refusal::forbidden;
use policy::{Policy, Standard};

/// `PodSecurity`: refuses pods that the namespace does not want, and warns of templates that would make them.
pub(crate) struct PodSecurity;

/// Kinds that make pods, and where their templates stand.
const CONTROLLERS: [(&str, &str, &str); 8] = [
    ("", "podtemplates", "template"),
    ("", "replicationcontrollers", "spec.template"),
    ("apps", "deployments", "spec.template"),
    ("apps", "replicasets", "spec.template"),
    ("apps", "statefulsets", "spec.template"),
    ("apps", "daemonsets", "spec.template"),
    ("batch", "jobs", "spec.template"),
    ("batch", "cronjobs", "spec.jobTemplate.spec.template"),
];

/// Subresources of pods through which nothing changes that the standards speak of.
const IGNORED: [&str; 9] = ["exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status", "resize"];

#[async_trait]
impl Admission for PodSecurity {
    fn name(&self) -> &'static str {
        "PodSecurity"
    }

    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        let Some(object) = review.object() else { return Ok(()) };
        if review.is_about("", "namespaces") {
            return check_labels(review, object);
        }
        if review.is_about_any_part("", "pods") {
            let is_ignored = IGNORED.contains(&review.request.at.subresource.as_str());
            if is_ignored || review.old.is_some_and(|old| !is_significant(object, old)) {
                return Ok(());
            }
            let policy = policy_of(review).await?;
            let violations = checks::violations(policy.enforce.level, object.at("metadata"), object.at("spec"));
            if !violations.is_empty() {
                let why = format!("violates PodSecurity {:?}: {}", policy.enforce.to_string(), violations.join(", "));
                return Err(forbidden(review, why));
            }
            warn(review, &policy.warn, object.at("metadata"), object.at("spec"));
            return Ok(());
        }
        let controller = CONTROLLERS.iter().find(|(group, resource, _)| review.is_about(group, resource));
        if let Some((_, _, path)) = controller {
            let template = object.at(path);
            if !template.is_null() {
                let policy = policy_of(review).await?;
                warn(review, &policy.warn, template.at("metadata"), template.at("spec"));
            }
        }
        Ok(())
    }
}

async fn policy_of(review: &Review<'_>) -> Result<Policy, Status> {
    let namespace = get(review, core("namespaces"), "", &review.request.at.namespace).await?;
    Ok(namespace.map(|namespace| Policy::of(&namespace.labels()).0).unwrap_or_default())
}

fn warn(review: &Review<'_>, standard: &Standard, metadata: &Value, spec: &Value) {
    let violations = checks::violations(standard.level, metadata, spec);
    if !violations.is_empty() {
        let text = format!("would violate PodSecurity {:?}: {}", standard.to_string(), violations.join(", "));
        review.request.warnings.add(text);
    }
}

/// The labels of a namespace have to be readable, unless they were not before.
fn check_labels(review: &Review<'_>, namespace: &Object) -> Result<(), Status> {
    let (_, wrong) = Policy::of(&namespace.labels());
    let before = review.old.map(|old| Policy::of(&old.labels()).1).unwrap_or_default();
    if wrong.is_empty() || wrong == before {
        return Ok(());
    }
    Err(Status::invalid(&GroupVersionKind::new("", "v1", "Namespace"), namespace.name(), &wrong))
}

/// Whether an update touches anything that the standards look at: containers other than their images.
fn is_significant(new: &Object, old: &Object) -> bool {
    let without_image = |object: &Object, list: &str| -> Vec<Value> {
        let containers = object.at("spec").list(list).iter().cloned();
        containers
            .map(|mut container| {
                if let Some(tree) = container.as_object_mut() {
                    tree.remove("image");
                }
                container
            })
            .collect()
    };
    ["containers", "initContainers", "ephemeralContainers"]
        .iter()
        .any(|list| without_image(new, list) != without_image(old, list))
}
