//! The status of a Deployment.

use coracle_ambient::Timestamp;
use coracle_api::apps_v1::{Deployment, DeploymentStatus, ReplicaSet};
use coracle_meta::parse_time;
use jiff::SignedDuration;

use super::conditions::{
    AVAILABLE, NEW_SET_AVAILABLE, PROGRESSING, REPLICA_FAILURE, TIMED_OUT, condition, progress_deadline, repeated,
};
use super::revision::{Sets, size};
use super::rolling::Bounds;
use crate::conditions::{append, find, remove};

/// The counts, and the condition `Available`.
pub(super) fn counted(deployment: &Deployment, sets: &Sets, bounds: Bounds, now: Timestamp) -> DeploymentStatus {
    let sum = |count: &dyn Fn(&ReplicaSet) -> i32| sets.all().map(|set| count(set)).fold(0_i32, i32::saturating_add);
    let available = sum(&|set| set.status.available_replicas);
    let mut status = DeploymentStatus {
        observed_generation: deployment.metadata.generation.unwrap_or(0),
        replicas: sum(&|set| set.status.replicas),
        updated_replicas: sets.new.as_ref().map_or(0, |set| set.status.replicas),
        ready_replicas: sum(&|set| set.status.ready_replicas),
        available_replicas: available,
        unavailable_replicas: sum(&size).saturating_sub(available).max(0),
        terminating_replicas: terminating(sets),
        ..deployment.status.clone()
    };
    let enough = available >= bounds.replicas - bounds.unavailable;
    let said = if enough {
        condition(AVAILABLE, "True", "MinimumReplicasAvailable", "Deployment has minimum availability.", now)
    } else {
        let message = "Deployment does not have minimum availability.";
        condition(AVAILABLE, "False", "MinimumReplicasUnavailable", message, now)
    };
    append(&mut status.conditions, said);
    status
}

/// `None` while a set does not report how many of its pods are terminating; a set without a status has none.
fn terminating(sets: &Sets) -> Option<i32> {
    let counted =
        sets.all().filter(|set| set.status.observed_generation != 0 || set.status.terminating_replicas.is_some());
    counted.map(|set| set.status.terminating_replicas).try_fold(0_i32, |sum, own| Some(sum.saturating_add(own?)))
}

/// The status during a rollout: the counts, and the condition `Progressing`.
///
/// In Kubernetes: `syncRolloutStatus`.
pub(super) fn rolling_out(deployment: &Deployment, sets: &Sets, bounds: Bounds, now: Timestamp) -> DeploymentStatus {
    let mut status = counted(deployment, sets, bounds, now);
    let before = find(&deployment.status.conditions, PROGRESSING);
    let subject = match (&sets.new, &deployment.metadata.name) {
        (Some(new), _) => format!("ReplicaSet {:?}", new.metadata.name.as_deref().unwrap_or_default()),
        (None, name) => format!("Deployment {:?}", name.as_deref().unwrap_or_default()),
    };
    let rests = status.replicas == status.updated_replicas && before.is_some_and(|c| c.reason == NEW_SET_AVAILABLE);
    match progress_deadline(deployment) {
        None => remove(&mut status.conditions, PROGRESSING),
        Some(_) if rests => {}
        Some(_) if is_complete(deployment, &status) => {
            let message = format!("{subject} has successfully progressed.");
            append(&mut status.conditions, condition(PROGRESSING, "True", NEW_SET_AVAILABLE, message, now));
        }
        Some(_) if progresses(&deployment.status, &status) => {
            let message = format!("{subject} is progressing.");
            let mut next = condition(PROGRESSING, "True", "ReplicaSetUpdated", message, now);
            if let Some(before) = before.filter(|before| before.status == "True") {
                next.last_transition_time.clone_from(&before.last_transition_time);
            }
            // Removed first, so that the same reason again updates the time of the last progress.
            remove(&mut status.conditions, PROGRESSING);
            append(&mut status.conditions, next);
        }
        Some(_) if timed_out(deployment, now) => {
            let message = format!("{subject} has timed out progressing.");
            append(&mut status.conditions, condition(PROGRESSING, "False", TIMED_OUT, message, now));
        }
        Some(_) => {}
    }
    match failure(sets) {
        Some(failure) => append(&mut status.conditions, failure),
        None => remove(&mut status.conditions, REPLICA_FAILURE),
    }
    status
}

fn failure(sets: &Sets) -> Option<coracle_api::apps_v1::DeploymentCondition> {
    let of = |set: &ReplicaSet| set.status.conditions.iter().find(|c| c.type_ == REPLICA_FAILURE).map(repeated);
    sets.new.as_deref().and_then(of).or_else(|| sets.all().find_map(|set| of(set)))
}

/// Whether all pods have the new template and are available. In Kubernetes: `DeploymentComplete`.
pub(super) fn is_complete(deployment: &Deployment, status: &DeploymentStatus) -> bool {
    let replicas = deployment.spec.replicas.unwrap_or(1);
    status.updated_replicas == replicas
        && status.replicas == replicas
        && status.available_replicas == replicas
        && status.observed_generation >= deployment.metadata.generation.unwrap_or(0)
}

fn progresses(before: &DeploymentStatus, after: &DeploymentStatus) -> bool {
    let old = |status: &DeploymentStatus| status.replicas.saturating_sub(status.updated_replicas);
    after.updated_replicas > before.updated_replicas
        || old(after) < old(before)
        || after.ready_replicas > before.ready_replicas
        || after.available_replicas > before.available_replicas
}

/// How much time is left for progress; `None` without a deadline, or with nothing to wait for.
pub(super) fn time_left(deployment: &Deployment, now: Timestamp) -> Option<SignedDuration> {
    let deadline = SignedDuration::from_secs(progress_deadline(deployment)?);
    let progressing = find(&deployment.status.conditions, PROGRESSING)?;
    let last = progressing.last_update_time.as_deref().and_then(parse_time)?;
    (progressing.reason != TIMED_OUT).then(|| deadline.saturating_sub(now.duration_since(last)))
}

fn timed_out(deployment: &Deployment, now: Timestamp) -> bool {
    match find(&deployment.status.conditions, PROGRESSING) {
        Some(condition) if condition.reason == NEW_SET_AVAILABLE => false,
        Some(condition) if condition.reason == TIMED_OUT => true,
        _ => time_left(deployment, now).is_some_and(|left| left.is_negative()),
    }
}
