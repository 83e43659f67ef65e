use async_trait::async_trait;
use coracle_api::pod_resources::{amounts, of_pod};
use coracle_meta::fields::Fields;
use coracle_meta::{Object, Status, StatusCause};
use coracle_registry::{Admission, Operation, Review};

use crate::node_declared_features::{bound_pod, node_of};
use crate::refusal::forbidden;

/// `PodResizeValidator`: a resized pod has to fit on its node, which has to be a Linux node.
pub(crate) struct PodResizeValidator;

#[async_trait]
impl Admission for PodResizeValidator {
    fn name(&self) -> &'static str {
        "PodResizeValidator"
    }

    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Update
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        let Some((pod, _)) = bound_pod(review, &["resize"]) else { return Ok(()) };
        let node = node_of(review, pod).await?;
        let refusal = wrong_platform(&node).map(|why| ("UnsupportedPlatform", why));
        match refusal.or_else(|| too_large(pod, &node).map(|why| ("NodeCapacity", why))) {
            None => Ok(()),
            Some((reason, why)) => {
                let mut status = forbidden(review, why);
                let cause = StatusCause { reason: reason.to_owned(), ..StatusCause::default() };
                status.details.get_or_insert_default().causes.push(cause);
                Err(status)
            }
        }
    }
}

fn wrong_platform(node: &Object) -> Option<String> {
    let system = node.label("kubernetes.io/os").filter(|system| *system != "linux")?;
    Some(format!("pod resize is only supported on linux nodes, node {:?} is {system:?}", node.name()))
}

/// What of the pod does not fit on the node. In Kubernetes: `validateRequestsWithinAllocatable`.
fn too_large(pod: &Object, node: &Object) -> Option<String> {
    let requests = of_pod(pod.at("spec"), "requests");
    let allocatable = amounts(node.at("status.allocatable"));
    let amount =
        |amounts: &coracle_api::pod_resources::Amounts, name: &str| amounts.get(name).copied().unwrap_or_default();
    let mut parts = Vec::new();
    for name in ["cpu", "memory"] {
        let (requested, there) = (amount(&requests, name), amount(&allocatable, name));
        if requested > there {
            let number = |amount: coracle_meta::Quantity| match name {
                "cpu" => amount.milli_value(),
                _ => amount.value(),
            };
            parts.push(format!("{name}, requested: {}, allocatable: {}", number(requested), number(there)));
        }
    }
    let parts = parts.join("; ");
    (!parts.is_empty()).then(|| format!("node didn't have enough allocatable resources: {parts}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: serde_json::Value) -> Object {
        Object::from_value(value).unwrap()
    }

    #[test]
    fn a_pod_that_asks_for_more_than_its_node_has_is_too_large() {
        let node = object(json!({"status": {"allocatable": {"cpu": "2", "memory": "1Gi"}}}));
        let pod = |cpu: &str, memory: &str| {
            let requests = json!({"cpu": cpu, "memory": memory});
            object(json!({"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}}))
        };
        assert_eq!(too_large(&pod("2", "1Gi"), &node), None);
        assert_eq!(
            too_large(&pod("2500m", "2Gi"), &node).as_deref(),
            Some(
                "node didn't have enough allocatable resources: cpu, requested: 2500, allocatable: 2000; memory, \
                 requested: 2147483648, allocatable: 1073741824"
            )
        );
    }

    #[test]
    fn only_linux_nodes_resize_pods() {
        let node = |system: &str| object(json!({"metadata": {"name": "n", "labels": {"kubernetes.io/os": system}}}));
        assert_eq!(wrong_platform(&node("linux")), None);
        assert_eq!(wrong_platform(&object(json!({"metadata": {"name": "n"}}))), None);
        let what = "pod resize is only supported on linux nodes, node \"n\" is \"windows\"";
        assert_eq!(wrong_platform(&node("windows")).as_deref(), Some(what));
    }
}
