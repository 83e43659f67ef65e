use coracle_ambient::Timestamp;
use coracle_api::core_v1::{ContainerStatus, PersistentVolumeClaim, PersistentVolumeClaimCondition, Pod};
use coracle_meta::format_time;

/// The condition that no pod uses a claim.
const UNUSED: &str = "Unused";

/// Whether a claim has the condition.
pub(crate) fn has_unused(claim: &PersistentVolumeClaim) -> bool {
    claim.status.conditions.iter().any(|condition| condition.type_ == UNUSED)
}

/// The changed condition of a claim; `None` if it is right already.
pub(crate) fn unused(
    claim: &PersistentVolumeClaim,
    is_used: bool,
    now: Timestamp,
) -> Option<PersistentVolumeClaimCondition> {
    let before = claim.status.conditions.iter().find(|condition| condition.type_ == UNUSED);
    let was_unused = before.map(|condition| condition.status == "True");
    if was_unused == Some(!is_used) {
        return None;
    }
    let (status, reason, message) = if is_used {
        ("False", "PodUsingPVC", "A pod is currently referencing this PVC")
    } else {
        ("True", "NoPodsUsingPVC", "No pods are currently referencing this PVC")
    };
    Some(PersistentVolumeClaimCondition {
        type_: UNUSED.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition_time: Some(format_time(now)),
        ..PersistentVolumeClaimCondition::default()
    })
}

/// Whether a pod has ended, or is being deleted and no container runs. In Kubernetes: `IsPodTerminated`.
pub(crate) fn is_terminated(pod: &Pod) -> bool {
    let status = &pod.status;
    let all = [&status.init_container_statuses, &status.container_statuses, &status.ephemeral_container_statuses];
    let stands = |one: &ContainerStatus| one.state.terminated.is_some() || one.state.waiting.is_some();
    pod.is_finished() || (pod.is_terminating() && all.into_iter().flatten().all(stands))
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::parse_time;
    use serde_json::json;

    #[test]
    fn a_claim_is_unused_since_its_last_pod_has_gone() {
        let now = parse_time("2026-01-01T00:00:00Z").unwrap();
        let mut claim = PersistentVolumeClaim::default();
        let used = unused(&claim, true, now).unwrap();
        assert_eq!((used.status.as_str(), used.reason.as_str()), ("False", "PodUsingPVC"));
        claim.status.conditions = vec![used];
        assert_eq!(unused(&claim, true, now), None);
        let free = unused(&claim, false, now).unwrap();
        assert_eq!(
            (free.status.as_str(), free.last_transition_time.as_deref()),
            ("True", Some("2026-01-01T00:00:00Z"))
        );
    }

    #[test]
    fn a_deleted_pod_is_terminated_when_none_of_its_containers_runs() {
        let pod = |running: bool| -> Pod {
            let state = if running { json!({"running": {}}) } else { json!({"terminated": {"exitCode": 0}}) };
            let status = json!({"phase": "Running", "containerStatuses": [{"name": "c", "state": state}]});
            serde_json::from_value(json!({"status": status})).unwrap()
        };
        let deleted = |mut pod: Pod| {
            pod.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
            pod
        };
        assert!(!is_terminated(&pod(false)), "it may be restarted");
        assert!(is_terminated(&deleted(pod(false))) && !is_terminated(&deleted(pod(true))));
    }
}
