use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{Object, Status};
use coracle_registry::{Admission, Operation, Review};

use crate::lookup::{core, get};
use crate::refusal::forbidden;

/// `NodeDeclaredFeatureValidator`: the node of a pod must have the features that a change of the pod needs.
pub(crate) struct NodeDeclaredFeatureValidator;

#[async_trait]
impl Admission for NodeDeclaredFeatureValidator {
    fn name(&self) -> &'static str {
        "NodeDeclaredFeatureValidator"
    }

    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Update
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        let Some((new, old)) = bound_pod(review, &["", "resize"]) else { return Ok(()) };
        if !review.registry.release().enabled("NodeDeclaredFeatures") {
            return Ok(());
        }
        let needed = needed_features(new, old);
        if needed.is_empty() {
            return Ok(());
        }
        let node = node_of(review, new).await?;
        let declared = node.texts("status.declaredFeatures");
        let missing: Vec<&str> =
            needed.into_iter().filter(|needed| !declared.iter().any(|name| name == needed)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let missing = missing.join(", ");
        let why = format!("pod update requires features {missing} which are not available on node {:?}", node.name());
        Err(forbidden(review, why))
    }
}

/// The new and the old pod of a change of the spec of a bound pod, through one of these subresources.
pub(crate) fn bound_pod<'r>(review: &'r Review<'_>, subresources: &[&str]) -> Option<(&'r Object, &'r Object)> {
    let is_asked =
        review.is_about_any_part("", "pods") && subresources.contains(&review.request.at.subresource.as_str());
    let (new, old) = (review.object().filter(|_| is_asked)?, review.old?);
    let is_changed = new.int("metadata.generation") != old.int("metadata.generation");
    (is_changed && !new.text("spec.nodeName").is_empty()).then_some((new, old))
}

/// The node of a pod.
///
/// # Errors
/// 403 if it does not exist.
pub(crate) async fn node_of(review: &Review<'_>, pod: &Object) -> Result<std::sync::Arc<Object>, Status> {
    let name = pod.text("spec.nodeName");
    let node = get(review, core("nodes"), "", name).await?;
    node.ok_or_else(|| forbidden(review, format!("node {name:?} not found")))
}

/// The features that a change of a pod needs, in the order of their names. In Kubernetes: `InferForPodUpdate`.
fn needed_features(new: &Object, old: &Object) -> Vec<&'static str> {
    let mut needed = Vec::new();
    if new.at("spec.resources") != old.at("spec.resources") {
        needed.push("InPlacePodLevelResourcesVerticalScaling");
    }
    let containers = old.list("spec.initContainers").iter().zip(new.list("spec.initContainers"));
    let mut plain = containers.filter(|(old, _)| old.text("restartPolicy") != "Always");
    if plain.any(|(old, new)| old.at("resources") != new.at("resources")) {
        needed.push("InPlacePodVerticalScalingInitContainers");
    }
    needed
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn needed(new: Value, old: Value) -> Vec<&'static str> {
        let pod = |spec: Value| Object::from_value(json!({ "spec": spec })).unwrap();
        needed_features(&pod(new), &pod(old))
    }

    #[test]
    fn resources_of_the_pod_and_of_init_containers_need_features() {
        let cpu = |amount: &str| json!({"requests": {"cpu": amount}});
        assert_eq!(needed(json!({}), json!({})), [""; 0]);
        let pod = needed(json!({"resources": cpu("2")}), json!({"resources": cpu("1")}));
        assert_eq!(pod, ["InPlacePodLevelResourcesVerticalScaling"]);
        let init = |amount: &str| json!({"initContainers": [{"name": "a", "resources": cpu(amount)}]});
        assert_eq!(needed(init("2"), init("1")), ["InPlacePodVerticalScalingInitContainers"]);
        let sidecar = |amount: &str| json!({"initContainers": [{"name": "a", "restartPolicy": "Always", "resources": cpu(amount)}]});
        assert_eq!(needed(sidecar("2"), sidecar("1")), [""; 0]);
    }
}
