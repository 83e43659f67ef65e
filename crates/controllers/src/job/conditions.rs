//! The conditions of a Job.

use coracle_ambient::Timestamp;
use coracle_api::batch_v1::{Job, JobCondition};
use coracle_meta::format_time;

use crate::conditions::is_true;

pub(super) const COMPLETE: &str = "Complete";
pub(super) const FAILED: &str = "Failed";
pub(super) const FAILURE_TARGET: &str = "FailureTarget";
pub(super) const SUCCESS_CRITERIA_MET: &str = "SuccessCriteriaMet";
pub(super) const SUSPENDED: &str = "Suspended";

/// How a Job ends, in two steps: an interim condition while its pods terminate, then the final one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) succeeded: bool,
    pub(super) reason: String,
    pub(super) message: String,
}

impl Ending {
    pub(super) fn failed(reason: &str, message: impl Into<String>) -> Self {
        Self { succeeded: false, reason: reason.to_owned(), message: message.into() }
    }

    pub(super) fn completed() -> Self {
        let message = "Reached expected number of succeeded pods";
        Self { succeeded: true, reason: "CompletionsReached".to_owned(), message: message.to_owned() }
    }

    /// The interim condition.
    pub(super) fn begun(&self, now: Timestamp) -> JobCondition {
        let type_ = if self.succeeded { SUCCESS_CRITERIA_MET } else { FAILURE_TARGET };
        condition(type_, "True", &self.reason, &self.message, now)
    }

    /// The final condition.
    pub(super) fn done(&self, now: Timestamp) -> JobCondition {
        let type_ = if self.succeeded { COMPLETE } else { FAILED };
        condition(type_, "True", &self.reason, &self.message, now)
    }
}

/// Whether a Job has finished. In Kubernetes: `IsJobFinished`.
pub(crate) fn is_finished(job: &Job) -> bool {
    is_true(&job.status.conditions, COMPLETE) || is_true(&job.status.conditions, FAILED)
}

pub(super) fn condition(type_: &str, status: &str, reason: &str, message: &str, now: Timestamp) -> JobCondition {
    JobCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_probe_time: Some(format_time(now)),
        last_transition_time: Some(format_time(now)),
        unknown: None,
    }
}

/// Replaces the condition of the same type, or appends it; true if that changed anything. `False` is written only
/// where the condition exists.
///
/// In Kubernetes: `ensureJobConditionStatus`.
pub(super) fn ensure(conditions: &mut Vec<JobCondition>, wanted: JobCondition) -> bool {
    match conditions.iter_mut().find(|condition| condition.type_ == wanted.type_) {
        Some(there) => {
            let differs =
                there.status != wanted.status || there.reason != wanted.reason || there.message != wanted.message;
            if differs {
                *there = wanted;
            }
            differs
        }
        None if wanted.status == "False" => false,
        None => {
            conditions.push(wanted);
            true
        }
    }
}
