//! The status of a DaemonSet.

use coracle_api::apps_v1::DaemonSetStatus;

use super::observed::ObservedDaemonSet;
use super::placement::Placement;

/// Copies the counts into a status.
pub(super) fn put(counted: &DaemonSetStatus, status: &mut DaemonSetStatus) {
    *status = DaemonSetStatus {
        collision_count: status.collision_count,
        conditions: std::mem::take(&mut status.conditions),
        unknown: status.unknown.take(),
        ..counted.clone()
    };
}

/// The counts; of several pods on a node only the first counts.
pub(super) fn counted(observed: &ObservedDaemonSet) -> DaemonSetStatus {
    let observed_generation = observed.set.metadata.generation.unwrap_or(0);
    let mut status = DaemonSetStatus { observed_generation, ..DaemonSetStatus::default() };
    for (node, placement) in &observed.placements {
        let first = observed.pods.get(node).and_then(|pods| pods.first());
        if *placement != Placement::Run {
            status.number_misscheduled += i32::from(first.is_some());
            continue;
        }
        status.desired_number_scheduled += 1;
        if let Some(pod) = first {
            status.current_number_scheduled += 1;
            status.number_ready += i32::from(pod.is_ready());
            status.number_available += i32::from(observed.is_available(pod));
            status.updated_number_scheduled += i32::from(observed.is_updated(pod));
        }
    }
    status.number_unavailable = status.desired_number_scheduled - status.number_available;
    status
}
