//! Validates updates of a Job's status. In Kubernetes: `ValidateJobUpdateStatus`, with the options of
//! `getStatusValidationOptions`: most checks apply only to changes, so that existing errors do not block other updates.

use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, JsonKey, Object, parse_time};
use coracle_release::Release;
use serde_json::Value;

use super::index_intervals::{overlap, wrong_intervals};
use crate::cells::has_condition;
use crate::field_checks::{Wrong, not_negative, same};

const CONDITIONS: &str = "status.conditions";

/// The errors of a change of the status.
pub(super) fn wrong_status(new: &Object, old: &Object, release: &Release) -> Wrong {
    let change = Change { new, old, release };
    let mut wrong = wrong_counts(new);
    wrong.extend(change.wrong_end());
    wrong.extend(change.wrong_indexes());
    wrong.extend(change.wrong_pods());
    wrong.extend(change.wrong_success());
    wrong.extend(change.wrong_steps());
    wrong
}

/// Whether a condition of a Job is true.
fn is(job: &Object, condition: &str) -> bool {
    has_condition(job, condition, "True")
}

fn is_finished(job: &Object) -> bool {
    is(job, "Complete") || is(job, "Failed")
}

fn conditions(what: impl Into<String>) -> FieldError {
    FieldError::invalid_unprinted(CONDITIONS, what)
}

/// The counts, and the uncounted terminated pods.
fn wrong_counts(job: &Object) -> Wrong {
    let status = job.at("status");
    let counts = ["active", "succeeded", "failed", "ready", "terminating"];
    let mut wrong: Wrong = counts.iter().flat_map(|count| not_negative(status, count, "status")).collect();
    let mut seen = BTreeSet::new();
    for list in ["succeeded", "failed"] {
        for (at, uid) in status.at("uncountedTerminatedPods").list(list).iter().enumerate() {
            let path = format!("status.uncountedTerminatedPods.{list}[{at}]");
            if uid == "" {
                wrong.push(FieldError::invalid(path, "", "must not be empty"));
            } else if !seen.insert(JsonKey(uid)) {
                wrong.push(FieldError::duplicate(path, uid.clone()));
            }
        }
    }
    wrong
}

struct Change<'o> {
    new: &'o Object,
    release: &'o Release,
    old: &'o Object,
}

impl Change<'_> {
    fn of_field(&self, field: &str) -> bool {
        let path = format!("status.{field}");
        !same(self.new.at(&path), self.old.at(&path))
    }

    fn of_condition(&self, condition: &str) -> bool {
        is(self.new, condition) != is(self.old, condition)
    }

    fn of_finish(&self) -> bool {
        is_finished(self.new) != is_finished(self.old)
    }

    /// The end conditions and the completion time.
    fn wrong_end(&self) -> Wrong {
        const TIME: &str = "status.completionTime";
        let job = self.new;
        let (is_complete, is_failed) = (is(job, "Complete"), is(job, "Failed"));
        let ends_otherwise = self.of_condition("Complete");
        let mut wrong = Wrong::new();
        if (ends_otherwise || self.of_condition("Failed")) && is_complete && is_failed {
            wrong.push(conditions("cannot set Complete=True and Failed=true conditions"));
        }
        if (ends_otherwise || self.of_condition("FailureTarget")) && is_complete && is(job, "FailureTarget") {
            wrong.push(conditions("cannot set Complete=True and FailureTarget=true conditions"));
        }
        let time = job.at(TIME);
        if ends_otherwise || self.of_field("completionTime") {
            match (time.is_null(), is_complete) {
                (false, false) => {
                    let what = "cannot set completionTime when there is no Complete=True condition";
                    wrong.push(FieldError::invalid(TIME, time.clone(), what));
                }
                (true, true) => wrong.push(FieldError::required(TIME, "completionTime is required for Complete jobs")),
                _ => {}
            }
        }
        if self.of_field("startTime") || self.of_field("completionTime") {
            let moments = (parse_time(job.text("status.startTime")), parse_time(job.text(TIME)));
            if matches!(moments, (Some(start), Some(end)) if end < start) {
                wrong.push(FieldError::invalid(TIME, time.clone(), "must be equal to or after `startTime`"));
            }
        }
        if (self.of_condition("Failed") || self.of_field("failedIndexes")) && is_failed && !is(job, "FailureTarget") {
            wrong.push(conditions("cannot set Failed=True condition without the FailureTarget=true condition"));
        }
        if (ends_otherwise || self.of_condition("SuccessCriteriaMet")) && is_complete && !is(job, "SuccessCriteriaMet")
        {
            wrong.push(conditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition"));
        }
        if is_finished(job) {
            wrong.extend(self.wrong_rest());
        }
        wrong
    }

    /// The remaining pods of a finished Job.
    fn wrong_rest(&self) -> Wrong {
        let job = self.new;
        let ends = self.of_finish();
        let mut wrong = Wrong::new();
        let active = job.int("status.active");
        if (ends || self.of_field("active")) && active > 0 {
            wrong.push(FieldError::invalid("status.active", active, "active>0 is invalid for finished job"));
        }
        let never_ran = job.flag("spec.suspend") && job.int_if_set("spec.completions") == Some(0);
        if (ends || self.of_field("startTime")) && !never_ran && !job.has("status.startTime") {
            wrong.push(FieldError::required("status.startTime", "startTime is required for finished job"));
        }
        let uncounted = job.at("status.uncountedTerminatedPods");
        if (ends || self.of_field("uncountedTerminatedPods"))
            && uncounted.list("succeeded").len() + uncounted.list("failed").len() > 0
        {
            let list = |name: &str| match uncounted.at(name) {
                Value::Null => "null".to_owned(),
                list => list.to_string(),
            };
            let printed = format!("{{\"Succeeded\":{},\"Failed\":{}}}", list("succeeded"), list("failed"));
            let path = "status.uncountedTerminatedPods";
            let error = FieldError::invalid(path, uncounted.clone(), "must be empty for finished job");
            wrong.push(error.printed_as(printed));
        }
        wrong
    }

    /// The completed and failed indexes.
    fn wrong_indexes(&self) -> Wrong {
        const COMPLETED: &str = "status.completedIndexes";
        const FAILED: &str = "status.failedIndexes";
        let job = self.new;
        let completions = job.int_if_set("spec.completions");
        let (completed, failed) = (job.text(COMPLETED), job.at(FAILED).as_str());
        let (completes, fails) = (self.of_field("completedIndexes"), self.of_field("failedIndexes"));
        let mut wrong = Wrong::new();
        let mut refuse = |path: &str, value: &str, what: String| wrong.push(FieldError::invalid(path, value, what));
        if let (true, Some(completions)) = (completes, completions)
            && let Err(why) = wrong_intervals(completed, completions)
        {
            refuse(COMPLETED, completed, format!("error parsing completedIndexes: {why}"));
        }
        let has_limit = job.has("spec.backoffLimitPerIndex");
        if let (true, true, Some(completions), Some(failed)) = (fails, has_limit, completions, failed)
            && let Err(why) = wrong_intervals(failed, completions)
        {
            refuse(FAILED, failed, format!("error parsing failedIndexes: {why}"));
        }
        if completes && !completed.is_empty() && job.text("spec.completionMode") != "Indexed" {
            let what = "cannot set non-empty completedIndexes when non-indexed completion mode";
            refuse(COMPLETED, completed, what.to_owned());
        }
        if let (true, false, Some(failed)) = (fails, has_limit, failed) {
            let what = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
            refuse(FAILED, failed, what.to_owned());
        }
        if let (true, Some(completions), Some(failed)) = (completes || fails, completions, failed)
            && let Some(index) = overlap(completed, failed, completions)
        {
            refuse(FAILED, failed, format!("failedIndexes and completedIndexes overlap at index: {index}"));
        }
        wrong
    }

    /// The numbers of ready and terminating pods.
    fn wrong_pods(&self) -> Wrong {
        let job = self.new;
        let mut wrong = Wrong::new();
        let terminating = job.int("status.terminating");
        if (self.of_finish() || self.of_field("terminating")) && terminating > 0 && is_finished(job) {
            let what = "terminating>0 is invalid for finished job";
            wrong.push(FieldError::invalid("status.terminating", terminating, what));
        }
        let ready = job.int("status.ready");
        if (self.of_field("ready") || self.of_field("active")) && ready > job.int("status.active") {
            wrong.push(FieldError::invalid("status.ready", ready, "cannot set more ready pods than active"));
        }
        wrong
    }

    /// The consistency of success.
    fn wrong_success(&self) -> Wrong {
        let job = self.new;
        let mut wrong = Wrong::new();
        let is_met = is(job, "SuccessCriteriaMet");
        if is_met && is(job, "Failed") {
            wrong.push(conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions"));
        }
        if is_met && is(job, "FailureTarget") {
            wrong.push(conditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"));
        }
        if job.has("spec.successPolicy") && !is_met && is(job, "Complete") {
            let what = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
            wrong.push(conditions(what));
        }
        wrong
    }

    /// The changes that must not be reverted.
    fn wrong_steps(&self) -> Wrong {
        const TIME: &str = "status.completionTime";
        let Self { new, old, release } = *self;
        let mut wrong = Wrong::new();
        for condition in ["Failed", "Complete", "FailureTarget"] {
            if is(old, condition) && !is(new, condition) {
                wrong.push(conditions(format!("cannot disable the terminal {condition}=True condition")));
            }
        }
        let may_shrink =
            new.text("spec.completionMode") == "Indexed" && new.at("spec.completions") == new.at("spec.parallelism");
        for (count, may_shrink) in [("failed", false), ("succeeded", may_shrink)] {
            let path = format!("status.{count}");
            let value = new.int(&path);
            if !may_shrink && value < old.int(&path) {
                wrong.push(FieldError::invalid(path, value, format!("cannot decrease the {count} counter")));
            }
        }
        if new.has(TIME) && old.has(TIME) && self.of_field("completionTime") {
            wrong.push(FieldError::invalid(TIME, new.at(TIME).clone(), "field is immutable"));
        }
        let resumes = is(old, "Suspended") && has_condition(new, "Suspended", "False");
        if old.has("status.startTime") && self.of_field("startTime") && !resumes && !new.flag("spec.suspend") {
            wrong.push(wrong_start(new.at(START_TIME), release));
        }
        match (is(old, "SuccessCriteriaMet"), is(new, "SuccessCriteriaMet")) {
            (true, false) => wrong.push(conditions("cannot disable the SuccessCriteriaMet=True condition")),
            (false, true) if is(old, "Complete") => {
                let what = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
                wrong.push(conditions(what));
            }
            _ => {}
        }
        wrong
    }
}

const START_TIME: &str = "status.startTime";

fn wrong_start(value: &Value, release: &Release) -> FieldError {
    if release.has("StartTimesAreImmutable") {
        let what = "field is immutable for unsuspended job once set";
        return FieldError::invalid(START_TIME, value.clone(), what);
    }
    FieldError::required(START_TIME, "startTime cannot be removed for unsuspended job")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn job(spec: &Value, status: &Value) -> Object {
        Object::from_value(json!({"spec": spec, "status": status})).unwrap()
    }

    fn said(spec: &Value, old: &Value, new: &Value) -> Vec<String> {
        wrong_status(&job(spec, new), &job(spec, old), &Release::default()).iter().map(FieldError::message).collect()
    }

    fn hold(conditions: &[&str]) -> Value {
        conditions.iter().map(|condition| json!({"type": condition, "status": "True"})).collect()
    }

    const START: &str = "2024-01-01T00:00:00Z";
    const END: &str = "2024-01-01T00:01:00Z";

    #[test]
    fn a_job_completes_in_order() {
        let spec = json!({"completions": 1});
        let met = json!({"startTime": START, "conditions": hold(&["SuccessCriteriaMet"])});
        let complete = json!({"startTime": START, "completionTime": END, "succeeded": 1,
            "conditions": hold(&["SuccessCriteriaMet", "Complete"])});
        assert_eq!(said(&spec, &met, &complete), [""; 0]);
        let hasty = json!({"active": 1, "ready": 2, "terminating": 1, "conditions": hold(&["Complete"]),
            "uncountedTerminatedPods": {"succeeded": ["a", "a", ""]}});
        assert_eq!(
            said(&spec, &json!({}), &hasty),
            [
                "status.uncountedTerminatedPods.succeeded[1]: Duplicate value: \"a\"",
                "status.uncountedTerminatedPods.succeeded[2]: Invalid value: \"\": must not be empty",
                "status.completionTime: Required value: completionTime is required for Complete jobs",
                "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
                "status.active: Invalid value: 1: active>0 is invalid for finished job",
                "status.startTime: Required value: startTime is required for finished job",
                "status.uncountedTerminatedPods: Invalid value: {\"Succeeded\":[\"a\",\"a\",\"\"],\"Failed\":null}: must be empty for finished job",
                "status.terminating: Invalid value: 1: terminating>0 is invalid for finished job",
                "status.ready: Invalid value: 2: cannot set more ready pods than active",
            ]
        );
    }

    #[test]
    fn a_finished_job_stays_finished() {
        let complete = json!({"startTime": START, "completionTime": END, "succeeded": 2, "failed": 1,
            "conditions": hold(&["SuccessCriteriaMet", "Complete"])});
        assert_eq!(said(&json!({}), &complete, &complete), [""; 0]);
        assert_eq!(
            said(&json!({}), &complete, &json!({"startTime": START, "succeeded": 1})),
            [
                "status.conditions: Invalid value: cannot disable the terminal Complete=True condition",
                "status.failed: Invalid value: 0: cannot decrease the failed counter",
                "status.succeeded: Invalid value: 1: cannot decrease the succeeded counter",
                "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition",
            ]
        );
        let mut later = complete.clone();
        later["completionTime"] = "2024-01-01T00:02:00Z".into();
        assert_eq!(
            said(&json!({}), &complete, &later),
            ["status.completionTime: Invalid value: \"2024-01-01T00:02:00Z\": field is immutable"]
        );
    }

    #[test]
    fn a_job_does_not_fail_and_succeed() {
        let failed = json!({"startTime": START, "completionTime": END,
            "conditions": hold(&["Failed", "Complete", "SuccessCriteriaMet"])});
        assert_eq!(
            said(&json!({}), &json!({"startTime": START}), &failed),
            [
                "status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions",
                "status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition",
                "status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and Failed=true conditions",
            ]
        );
        let early =
            json!({"startTime": END, "completionTime": START, "conditions": hold(&["Complete", "SuccessCriteriaMet"])});
        assert_eq!(
            said(&json!({}), &json!({}), &early),
            ["status.completionTime: Invalid value: \"2024-01-01T00:00:00Z\": must be equal to or after `startTime`"]
        );
    }

    #[test]
    fn existing_errors_do_not_block_other_updates() {
        let old = json!({"active": 1, "conditions": hold(&["Complete"])});
        let mut new = old.clone();
        new["failed"] = 1.into();
        assert_eq!(said(&json!({}), &old, &new), [""; 0]);
    }

    #[test]
    fn indexes_are_those_of_an_indexed_job() {
        let indexed = json!({"completionMode": "Indexed", "completions": 5, "backoffLimitPerIndex": 1});
        assert_eq!(said(&indexed, &json!({}), &json!({"completedIndexes": "0-2,4", "failedIndexes": "3"})), [""; 0]);
        assert_eq!(
            said(&indexed, &json!({}), &json!({"completedIndexes": "0-2,9", "failedIndexes": "2-3"})),
            [
                "status.completedIndexes: Invalid value: \"0-2,9\": error parsing completedIndexes: too large index: \"9\"",
                "status.failedIndexes: Invalid value: \"2-3\": failedIndexes and completedIndexes overlap at index: 2",
            ]
        );
        assert_eq!(
            said(&json!({}), &json!({}), &json!({"completedIndexes": "0", "failedIndexes": ""})),
            [
                "status.completedIndexes: Invalid value: \"0\": cannot set non-empty completedIndexes when non-indexed completion mode",
                "status.failedIndexes: Invalid value: \"\": cannot set non-null failedIndexes when backoffLimitPerIndex is null",
            ]
        );
    }
}
