use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::fields::{Fields, FieldsMut, edit_spec};
use coracle_meta::{GroupVersionResource, JsonKey, Object, Status};
use coracle_registry::{Admission, Operation, Review};
use serde_json::{Value, json};

use crate::lookup::get;
use crate::refusal::forbidden;

/// `RuntimeClass`: a pod gets overhead and scheduling constraints from its RuntimeClass.
pub(crate) struct RuntimeClass;

#[async_trait]
impl Admission for RuntimeClass {
    fn name(&self) -> &'static str {
        "RuntimeClass"
    }

    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        if !review.is_about("", "pods") {
            return Ok(());
        }
        let Some(class) = class_of(review).await? else { return Ok(()) };
        let overhead = class.at("overhead.podFixed").clone();
        let given = review.object().map_or(&Value::Null, |pod| pod.at("spec.overhead"));
        let has_own = given.as_object().is_some_and(|own| !own.is_empty());
        if !overhead.is_null() && has_own && *given != overhead {
            return Err(forbidden(
                review,
                "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
            ));
        }
        if let Some(pod) = review.object_mut()
            && !overhead.is_null()
        {
            pod.set("spec.overhead", overhead);
        }
        place(review, class.at("scheduling"))
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        let (true, Some(pod)) = (review.is_about("", "pods"), review.object()) else { return Ok(()) };
        let class = class_of(review).await?;
        let defined = class.as_ref().map_or(&Value::Null, |class| class.at("overhead.podFixed"));
        let own = pod.at("spec.overhead");
        match (defined.is_null(), own.is_null()) {
            (true, true) => Ok(()),
            (true, false) => Err(forbidden(
                review,
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
            )),
            (false, _) if own == defined => Ok(()),
            (false, _) => {
                Err(forbidden(review, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"))
            }
        }
    }
}

async fn class_of(review: &Review<'_>) -> Result<Option<Arc<Object>>, Status> {
    let name = review.object().and_then(|pod| pod.at("spec.runtimeClassName").as_str());
    let Some(name) = name else { return Ok(None) };
    let classes = GroupVersionResource::new("node.k8s.io", "v1", "runtimeclasses");
    match get(review, classes, "", name).await? {
        Some(class) => Ok(Some(class)),
        None => Err(forbidden(review, format!("pod rejected: RuntimeClass {name:?} not found"))),
    }
}

/// Adds the node selector and the tolerations of the class.
fn place(review: &mut Review<'_>, scheduling: &Value) -> Result<(), Status> {
    for (key, value) in scheduling.entries("nodeSelector") {
        let own = review.object().map_or(&Value::Null, |pod| pod.at("spec.nodeSelector").field_named(key));
        if !own.is_null() && own != value {
            let (wanted, own) = (value.as_str().unwrap_or_default(), own.as_str().unwrap_or_default());
            return Err(forbidden(
                review,
                format!(
                    "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {wanted}; pod.spec.nodeSelector[{key}] = {own}"
                ),
            ));
        }
        if let Some(pod) = review.object_mut() {
            pod.set(&["spec", "nodeSelector", key], value.clone());
        }
    }
    let added = scheduling.list("tolerations").to_vec();
    if let (Some(pod), false) = (review.object_mut(), added.is_empty()) {
        edit_spec(pod, |spec| {
            spec.fill("tolerations", json!([]));
            if let Some(Value::Array(tolerations)) = spec.get_mut("tolerations") {
                let known: BTreeSet<_> = tolerations.iter().map(JsonKey).collect();
                let is_new = |added: &Value| !known.contains(&JsonKey(added));
                let new: Vec<Value> = added.into_iter().filter(is_new).collect();
                tolerations.extend(new);
            }
        });
    }
    Ok(())
}
