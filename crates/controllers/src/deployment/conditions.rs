//! The conditions of a Deployment.

use coracle_ambient::Timestamp;
use coracle_api::apps_v1::{Deployment, DeploymentCondition, ReplicaSetCondition};
use coracle_meta::format_time;

pub(super) const AVAILABLE: &str = "Available";
pub(super) const PROGRESSING: &str = "Progressing";
pub(super) const REPLICA_FAILURE: &str = "ReplicaFailure";

pub(super) const NEW_SET_AVAILABLE: &str = "NewReplicaSetAvailable";
pub(super) const TIMED_OUT: &str = "ProgressDeadlineExceeded";
pub(super) const PAUSED: &str = "DeploymentPaused";

/// A condition with the current time.
pub(super) fn condition(
    type_: &str,
    status: &str,
    reason: &str,
    message: impl Into<String>,
    now: Timestamp,
) -> DeploymentCondition {
    DeploymentCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.into(),
        last_update_time: Some(format_time(now)),
        last_transition_time: Some(format_time(now)),
        unknown: None,
    }
}

/// A ReplicaSet's failure condition, copied to the Deployment.
pub(super) fn repeated(condition: &ReplicaSetCondition) -> DeploymentCondition {
    DeploymentCondition {
        type_: condition.type_.clone(),
        status: condition.status.clone(),
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        last_update_time: condition.last_transition_time.clone(),
        last_transition_time: condition.last_transition_time.clone(),
        unknown: None,
    }
}

/// After how many seconds without progress the Deployment reports a failure; `None` if it never does.
pub(super) fn progress_deadline(deployment: &Deployment) -> Option<i64> {
    deployment.spec.progress_deadline_seconds.filter(|seconds| *seconds != i32::MAX).map(i64::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::append;
    use coracle_meta::parse_time;

    #[test]
    fn a_changed_condition_moves_to_the_end_and_keeps_its_transition_time_while_its_status_stays() {
        let at = |text| parse_time(text).unwrap();
        let (then, now) = (at("2026-01-01T00:00:00Z"), at("2026-01-01T00:01:00Z"));
        let mut conditions = vec![
            condition(PROGRESSING, "True", "NewReplicaSetCreated", "", then),
            condition(AVAILABLE, "False", "x", "", then),
        ];
        append(&mut conditions, condition(PROGRESSING, "True", "NewReplicaSetCreated", "other", now));
        assert_eq!(conditions[0].message, "", "the same reason again changes nothing");
        append(&mut conditions, condition(PROGRESSING, "True", NEW_SET_AVAILABLE, "", now));
        assert_eq!(conditions[1].type_, PROGRESSING);
        assert_eq!(conditions[1].last_transition_time.as_deref(), Some("2026-01-01T00:00:00Z"));
        assert_eq!(conditions[1].last_update_time.as_deref(), Some("2026-01-01T00:01:00Z"));
    }
}
