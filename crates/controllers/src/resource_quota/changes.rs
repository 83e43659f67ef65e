//! Which changes of an object reduce the usage of a quota, so that it must be recalculated.
//!
//! In Kubernetes: `quota/install.DefaultUpdateFilter`.

use coracle_ambient::Timestamp;
use coracle_api::core_v1::{ContainerStatus, PersistentVolumeClaim, Pod, Service};
use coracle_api::quota_usage;
use serde_json::json;

/// It finished, its scope changed, or the resources of its containers changed.
pub(super) fn of_pod(old: &Pod, new: &Pod, now: Timestamp) -> bool {
    let has_deadline = |pod: &Pod| pod.spec.active_deadline_seconds.is_some_and(|seconds| seconds >= 0);
    let resized = |old: &[ContainerStatus], new: &[ContainerStatus]| {
        old.iter().any(|old| new.iter().any(|new| new.name == old.name && new.resources != old.resources))
    };
    let ends = ending(old) != ending(new) && counts(old, now) && !counts(new, now);
    has_deadline(old) != has_deadline(new)
        || ends
        || resized(&old.status.container_statuses, &new.status.container_statuses)
        || resized(&old.status.init_container_statuses, &new.status.init_container_statuses)
}

/// The fields that end a pod's counting, except time.
fn ending(pod: &Pod) -> (&str, Option<&str>, Option<i64>) {
    let meta = &pod.metadata;
    (pod.phase(), meta.deletion_timestamp.as_deref(), meta.deletion_grace_period_seconds)
}

fn counts(pod: &Pod, now: Timestamp) -> bool {
    let ended_or_deleted = json!({
        "metadata": {
            "deletionTimestamp": pod.metadata.deletion_timestamp,
            "deletionGracePeriodSeconds": pod.metadata.deletion_grace_period_seconds,
        },
        "status": {"phase": pod.status.phase},
    });
    quota_usage::pod_counts(&ended_or_deleted, now)
}

/// Its type changed to or from one that is counted.
pub(super) fn of_service(old: &Service, new: &Service) -> bool {
    let counted = |service: &Service| match service.spec.type_.as_str() {
        "NodePort" => 1,
        "LoadBalancer" => 2,
        _ => 0,
    };
    counted(old) != counted(new)
}

/// Its size or its attributes changed.
pub(super) fn of_claim(old: &PersistentVolumeClaim, new: &PersistentVolumeClaim) -> bool {
    let classes = |claim: &PersistentVolumeClaim| {
        let (spec, status) = (&claim.spec, &claim.status);
        let target =
            status.modify_volume_status.as_ref().map(|modify| modify.target_volume_attributes_class_name.clone());
        (spec.volume_attributes_class_name.clone(), status.current_volume_attributes_class_name.clone(), target)
    };
    old.status.allocated_resources != new.status.allocated_resources || classes(old) != classes(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_matters_when_it_ends_and_not_when_it_starts() {
        let in_phase = |phase: &str| {
            let mut pod = Pod::default();
            phase.clone_into(&mut pod.status.phase);
            pod
        };
        let now = Timestamp::UNIX_EPOCH;
        assert!(of_pod(&in_phase("Running"), &in_phase("Succeeded"), now));
        assert!(!of_pod(&in_phase("Pending"), &in_phase("Running"), now));
        assert!(!of_pod(&in_phase("Succeeded"), &in_phase("Succeeded"), now));
    }

    #[test]
    fn a_service_matters_when_its_type_begins_or_ceases_to_count() {
        let of_type = |type_: &str| {
            let mut service = Service::default();
            type_.clone_into(&mut service.spec.type_);
            service
        };
        assert!(of_service(&of_type("NodePort"), &of_type("ClusterIP")));
        assert!(!of_service(&of_type("ClusterIP"), &of_type("ExternalName")));
    }
}
