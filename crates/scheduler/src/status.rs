//! The status that the scheduler writes to pods.

use coracle_ambient::Timestamp;
use coracle_api::core_v1::{Pod, PodCondition};
use coracle_client::Patch;
use coracle_meta::format_time;
use serde_json::{Value, json};

/// The patch with the reason why a pod was not scheduled; `None` if it is already set. `nominated` is the nominated
/// node.
///
/// In Kubernetes: `updatePod` of `schedule_one.go`.
pub(crate) fn unscheduled_patch(
    pod: &Pod,
    reason: &str,
    message: &str,
    nominated: Option<&str>,
    now: Timestamp,
) -> Option<Patch> {
    let condition = condition(pod, "PodScheduled", "False", reason, message, now);
    let same_condition = pod.condition("PodScheduled") == Some(&condition);
    let same_node = nominated.is_none_or(|node| node == pod.status.nominated_node_name);
    if same_condition && same_node {
        return None;
    }
    let mut patch = patch(pod, &condition);
    if let Some(node) = nominated {
        patch["status"]["nominatedNodeName"] = node.into();
    }
    Some(Patch::Strategic(patch))
}

/// The patch with the condition that a pod is preempted.
pub(crate) fn disruption_patch(pod: &Pod, scheduler: &str, now: Timestamp) -> Patch {
    let message = format!("{scheduler}: preempting to accommodate a higher priority pod");
    let condition = condition(pod, "DisruptionTarget", "True", "PreemptionByScheduler", &message, now);
    Patch::Strategic(patch(pod, &condition))
}

fn condition(pod: &Pod, type_: &str, status: &str, reason: &str, message: &str, now: Timestamp) -> PodCondition {
    let before = pod.condition(type_).filter(|before| before.status == status);
    PodCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: pod.metadata.generation.unwrap_or(0),
        last_transition_time: before
            .and_then(|before| before.last_transition_time.clone())
            .or_else(|| Some(format_time(now))),
        ..PodCondition::default()
    }
}

fn patch(pod: &Pod, condition: &PodCondition) -> Value {
    json!({"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [condition]}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::parse_time;

    #[test]
    fn the_same_reason_is_not_written_twice() {
        let now = parse_time("2026-01-01T00:00:00Z").unwrap();
        let mut pod = Pod::default();
        pod.metadata.generation = Some(2);
        let first = unscheduled_patch(&pod, "Unschedulable", "no", None, now).unwrap();
        let condition = first.body()["status"]["conditions"][0].clone();
        assert_eq!(condition["observedGeneration"], 2);
        pod.status.conditions = vec![serde_json::from_value(condition).unwrap()];
        let later = parse_time("2026-01-01T00:01:00Z").unwrap();
        assert!(unscheduled_patch(&pod, "Unschedulable", "no", None, later).is_none());
        assert!(unscheduled_patch(&pod, "Unschedulable", "still no", None, later).is_some());
        let nominated = unscheduled_patch(&pod, "Unschedulable", "no", Some("a"), later).unwrap();
        assert_eq!(nominated.body()["status"]["nominatedNodeName"], "a");
    }
}
