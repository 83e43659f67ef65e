//! In-place resize: what a node does and records when the resources of a running pod change.
//!
//! In Kubernetes: `canResizePod` of `pkg/kubelet/allocation`, and `pkg/kubelet/events/resize.go`. Unlike Kubernetes: a
//! resize that fits completes immediately.

use coracle_api::core_v1::{Container, ContainerStatus, Node, Pod};
use coracle_meta::Quantity;
use serde_json::{Value, json};

use crate::pod::refusal::{Share, Taken, insufficient};

/// The condition of a pod whose resize has to wait.
pub(crate) const PENDING: &str = "PodResizePending";

/// Why a resize is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PendingResize {
    /// `Infeasible` or `Deferred`.
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

/// Whether the resources of created containers differ from their spec.
pub(crate) fn is_wanted(pod: &Pod) -> bool {
    let differs = |(own, status): (&Container, &ContainerStatus)| {
        status.resources.as_ref().is_some_and(|given| **given != own.resources)
    };
    !pod.is_finished() && made(pod).any(differs)
}

fn made(pod: &Pod) -> impl Iterator<Item = (&Container, &ContainerStatus)> {
    let statuses = || pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses);
    let containers = pod.spec.containers.iter().chain(&pod.spec.init_containers);
    containers.filter_map(move |own| Some((own, statuses().find(|status| status.name == own.name)?)))
}

/// Why the node cannot resize a pod now; none if it can. `taken` is what all other pods take.
pub(crate) fn pending_resize(pod: &Pod, node: &Node, taken: &Taken) -> Option<PendingResize> {
    let allocatable = |resource: &str| node.status.allocatable.get(resource).copied().unwrap_or_default();
    let requests = pod.requests();
    let asked = |resource: &str| requests.get(resource).copied().unwrap_or_default();
    for resource in ["memory", "cpu"] {
        let amount = |of: Quantity| if resource == "cpu" { of.milli_value() } else { of.value() };
        let (requested, capacity) = (amount(asked(resource)), amount(allocatable(resource)));
        if requested > capacity {
            let why = format!("{resource}, requested: {requested}, capacity: {capacity}");
            return Some(PendingResize {
                reason: "Infeasible",
                message: format!("Node didn't have enough capacity: {why}"),
            });
        }
    }
    let (_, message) = insufficient(&Share::of(pod), node, taken)?;
    Some(PendingResize { reason: "Deferred", message })
}

/// The events of a resize: reason and message.
pub(crate) fn resize_events(pod: &Pod, held: Option<&PendingResize>) -> Vec<(&'static str, String)> {
    match held {
        Some(PendingResize { reason, message }) => {
            let event = if *reason == "Deferred" { "ResizeDeferred" } else { "ResizeInfeasible" };
            vec![(event, format!("Pod resize {reason}: {}", summary(pod, message)))]
        }
        None => {
            let summary = summary(pod, "");
            let completed = ("ResizeCompleted", format!("Pod resize completed: {summary}"));
            vec![("ResizeStarted", format!("Pod resize started: {summary}")), completed]
        }
    }
}

/// In Kubernetes: `makeResourceSummaryFromSpec`.
fn summary(pod: &Pod, error: &str) -> String {
    let list = |containers: &[Container]| -> Vec<Value> {
        let one = |own: &Container| json!({"name": own.name, "resources": own.resources});
        containers.iter().map(one).collect()
    };
    let mut parts: Vec<String> = Vec::new();
    for (name, containers) in [("initContainers", &pod.spec.init_containers), ("containers", &pod.spec.containers)] {
        if !containers.is_empty() {
            parts.push(format!("\"{name}\":{}", Value::from(list(containers))));
        }
    }
    parts.push(format!("\"generation\":{}", pod.metadata.generation.unwrap_or(0)));
    if !error.is_empty() {
        parts.push(format!("\"error\":{}", Value::from(error)));
    }
    format!("{{{}}}", parts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(cpu: &str, given: &str) -> Pod {
        let resources = |cpu: &str| json!({"requests": {"cpu": cpu}});
        serde_json::from_value(json!({
            "metadata": {"name": "p", "generation": 2},
            "spec": {"containers": [{"name": "c", "resources": resources(cpu)}]},
            "status": {"containerStatuses": [{"name": "c", "resources": resources(given)}]},
        }))
        .unwrap()
    }

    #[test]
    fn a_resize_is_done_deferred_or_infeasible() {
        let node = json!({"status": {"allocatable": {"cpu": "4", "memory": "1Gi", "pods": "9"}}});
        let node: Node = serde_json::from_value(node).unwrap();
        let mut taken = Taken::default();
        taken.add(&Share::of(&pod("2", "2")));
        assert!(!is_wanted(&pod("1", "1")) && is_wanted(&pod("2", "1")));
        assert_eq!(pending_resize(&pod("2", "1"), &node, &taken), None);
        let deferred = pending_resize(&pod("3", "1"), &node, &taken).unwrap();
        let why = "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000";
        assert_eq!((deferred.reason, deferred.message.as_str()), ("Deferred", why));
        let never = pending_resize(&pod("5", "1"), &node, &taken).unwrap();
        let why = "Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000";
        assert_eq!((never.reason, never.message.as_str()), ("Infeasible", why));
        let events = resize_events(&pod("5", "1"), Some(&never));
        let expected = format!(
            r#"Pod resize Infeasible: {{"containers":[{{"name":"c","resources":{{"requests":{{"cpu":"5"}}}}}}],"generation":2,"error":"{why}"}}"#
        );
        assert_eq!(events, [("ResizeInfeasible", expected)]);
    }
}
