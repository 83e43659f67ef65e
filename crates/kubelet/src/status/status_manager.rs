//! Reports the status of a pod to the API as a strategic merge patch. In Kubernetes: `pkg/kubelet/status`.

use coracle_api::core_v1::{Pod, PodStatus};
use coracle_client::{Error, Patch};
use coracle_controller_runtime::{Pass, ReconcileError};
use coracle_meta::ApiObject;
use serde_json::{Value, json};

use crate::node::agent::Agent;
use crate::pod::resize::PENDING;

/// The conditions that a node owns; it leaves all others as they are.
const OWN_CONDITIONS: [&str; 7] = [
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
    "DisruptionTarget",
    PENDING,
];

/// Patches the status of a pod if it differs from the one in the API; false if the API does not have the pod any more.
pub(crate) async fn report_status(
    node: &Agent,
    pass: &Pass,
    in_api: &Pod,
    status: &PodStatus,
) -> Result<bool, ReconcileError> {
    let Some(patch) = status_patch(in_api, status) else { return Ok(true) };
    match pass.api::<Pod>().patch_status_unread(&in_api.object_key(), &Patch::Strategic(patch)).await {
        // The pod is gone, or another pod has its name: the cache will show which.
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(false),
        // The node continues while it is partitioned, and reports when the partition heals.
        Err(Error::Transport { .. }) if node.machine.is_cut_off() => Ok(true),
        written => written.map(|()| true).map_err(Into::into),
    }
}

/// The strategic merge patch from the status in the API to this one; none if they are equal.
fn status_patch(pod: &Pod, status: &PodStatus) -> Option<Value> {
    if pod.status == *status {
        return None;
    }
    let before = serde_json::to_value(&pod.status).ok()?;
    let after = serde_json::to_value(status).ok()?;
    let mut patch = serde_json::Map::new();
    let (before, after) = (before.as_object()?, after.as_object()?);
    for (field, value) in after {
        if field != "conditions" && before.get(field) != Some(value) {
            let mut value = value.clone();
            // A strategic merge would keep addresses that the pod no longer has.
            let had = before.get(field).and_then(Value::as_array).is_some_and(|had| !had.is_empty());
            if had && let (Value::Array(addresses), "podIPs" | "hostIPs") = (&mut value, field.as_str()) {
                addresses.push(json!({"$patch": "replace"}));
            }
            patch.insert(field.clone(), value);
        }
    }
    for field in before.keys().filter(|field| !after.contains_key(*field)) {
        patch.insert(field.clone(), Value::Null);
    }
    let own = status.conditions.iter().filter(|condition| OWN_CONDITIONS.contains(&condition.type_.as_str()));
    let changed: Vec<Value> = own
        .filter(|condition| pod.condition(&condition.type_) != Some(condition))
        .filter_map(|condition| serde_json::to_value(condition).ok())
        .map(|condition| with_nulls(condition, pod))
        .collect();
    let is_said = |type_: &str| status.conditions.iter().any(|condition| condition.type_ == type_);
    let gone = OWN_CONDITIONS.iter().filter(|type_| pod.condition(type_).is_some() && !is_said(type_));
    let gone = gone.map(|type_| json!({"$patch": "delete", "type": type_}));
    let changed: Vec<Value> = changed.into_iter().chain(gone).collect();
    if !changed.is_empty() {
        let order: Vec<Value> = status.conditions.iter().map(|c| json!({"type": c.type_})).collect();
        patch.insert("$setElementOrder/conditions".to_owned(), order.into());
        patch.insert("conditions".to_owned(), changed.into());
    }
    Some(json!({"metadata": {"uid": pod.metadata.uid}, "status": patch}))
}

/// Conditions are merged, so the patch has to set each field to null that a condition no longer has.
fn with_nulls(mut condition: Value, pod: &Pod) -> Value {
    let before = condition["type"].as_str().and_then(|type_| pod.condition(type_));
    let before = before.and_then(|before| serde_json::to_value(before).ok()).unwrap_or_default();
    for field in ["reason", "message"] {
        if before.get(field).is_some() && condition.get(field).is_none() {
            condition[field] = Value::Null;
        }
    }
    condition
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_api::core_v1::PodCondition;

    fn condition(type_: &str, status: &str, reason: &str) -> PodCondition {
        PodCondition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            ..PodCondition::default()
        }
    }

    #[test]
    fn a_status_patch_contains_changes_and_removes_missing_fields() {
        let mut pod = Pod::default();
        pod.metadata.uid = Some("u".to_owned());
        pod.status.phase = "Pending".to_owned();
        pod.status.qos_class = "BestEffort".to_owned();
        pod.status.conditions =
            vec![condition("Ready", "False", "ContainersNotReady"), condition("PodScheduled", "True", "")];
        let mut status = pod.status.clone();
        assert_eq!(status_patch(&pod, &status), None);
        status.phase = "Running".to_owned();
        status.conditions[0] = condition("Ready", "True", "");
        assert_eq!(
            status_patch(&pod, &status).unwrap(),
            json!({"metadata": {"uid": "u"}, "status": {
                "phase": "Running",
                "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "PodScheduled"}],
                "conditions": [{"type": "Ready", "status": "True", "reason": null}],
            }})
        );
    }
}
