//! Lists of conditions of any type.

use coracle_api::apps_v1::{DaemonSetCondition, DeploymentCondition, ReplicaSetCondition, StatefulSetCondition};
use coracle_api::autoscaling_v2::HorizontalPodAutoscalerCondition;
use coracle_api::batch_v1::JobCondition;
use coracle_api::core_v1::{NamespaceCondition, PersistentVolumeClaimCondition, PodCondition};
use coracle_api::meta_v1;

/// A condition of an object.
pub(crate) trait Condition: Clone + PartialEq {
    /// The condition's type.
    fn type_(&self) -> &str;
    /// `True`, `False` or `Unknown`.
    fn status(&self) -> &str;
    /// The machine-readable reason.
    fn reason(&self) -> &str;
    /// When the status last changed.
    fn last_transition_time(&mut self) -> &mut Option<String>;
}

macro_rules! conditions {
    ($($condition:ty),* $(,)?) => {$(
        impl Condition for $condition {
            fn type_(&self) -> &str {
                &self.type_
            }
            fn status(&self) -> &str {
                &self.status
            }
            fn reason(&self) -> &str {
                &self.reason
            }
            fn last_transition_time(&mut self) -> &mut Option<String> {
                &mut self.last_transition_time
            }
        }
    )*};
}

conditions!(
    DaemonSetCondition,
    DeploymentCondition,
    HorizontalPodAutoscalerCondition,
    JobCondition,
    meta_v1::Condition,
    NamespaceCondition,
    PersistentVolumeClaimCondition,
    PodCondition,
    ReplicaSetCondition,
    StatefulSetCondition,
);

/// The condition of this type.
pub(crate) fn find<'a, C: Condition>(conditions: &'a [C], type_: &str) -> Option<&'a C> {
    conditions.iter().find(|condition| condition.type_() == type_)
}

/// Whether a condition of this type exists and is true.
pub(crate) fn is_true<C: Condition>(conditions: &[C], type_: &str) -> bool {
    find(conditions, type_).is_some_and(|condition| condition.status() == "True")
}

/// Replaces the condition of the same type, and moves it to the end. The same status and reason change nothing.
///
/// In Kubernetes: `SetDeploymentCondition`, and those of sets.
pub(crate) fn append<C: Condition>(conditions: &mut Vec<C>, mut condition: C) {
    if let Some(before) = find(conditions, condition.type_()) {
        if before.status() == condition.status() && before.reason() == condition.reason() {
            return;
        }
        keep_time(before, &mut condition);
    }
    remove(conditions, condition.type_().to_owned().as_str());
    conditions.push(condition);
}

/// Replaces the condition of the same type in place, or appends it. In Kubernetes: `meta.SetStatusCondition`.
pub(crate) fn put<C: Condition>(conditions: &mut Vec<C>, mut condition: C) {
    match conditions.iter_mut().find(|before| before.type_() == condition.type_()) {
        Some(before) => {
            keep_time(before, &mut condition);
            *before = condition;
        }
        None => conditions.push(condition),
    }
}

/// Removes a condition.
pub(crate) fn remove<C: Condition>(conditions: &mut Vec<C>, type_: &str) {
    conditions.retain(|condition| condition.type_() != type_);
}

/// Keeps the transition time if the status stays the same.
fn keep_time<C: Condition>(before: &C, after: &mut C) {
    if before.status() == after.status() {
        let since = before.clone().last_transition_time().take();
        *after.last_transition_time() = since;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(type_: &str, status: &str, reason: &str, since: &str) -> JobCondition {
        JobCondition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            last_transition_time: Some(since.to_owned()),
            ..JobCondition::default()
        }
    }

    #[test]
    fn a_changed_condition_is_appended_or_stays_in_its_place_and_keeps_its_time_while_its_status_stays() {
        let start = vec![condition("A", "True", "x", "then"), condition("B", "False", "y", "then")];
        let types =
            |conditions: &[JobCondition]| -> Vec<_> { conditions.iter().map(|one| one.type_.clone()).collect() };

        let mut appended = start.clone();
        append(&mut appended, condition("A", "True", "x", "now"));
        assert_eq!(appended, start, "the same again changes nothing");
        append(&mut appended, condition("A", "True", "z", "now"));
        assert_eq!(types(&appended), ["B", "A"]);
        assert_eq!(appended[1].last_transition_time.as_deref(), Some("then"));

        let mut put_in = start.clone();
        put(&mut put_in, condition("A", "False", "z", "now"));
        put(&mut put_in, condition("C", "True", "z", "now"));
        assert_eq!(types(&put_in), ["A", "B", "C"]);
        assert_eq!(put_in[0].last_transition_time.as_deref(), Some("now"));
        assert!(is_true(&put_in, "C") && !is_true(&put_in, "A") && !is_true(&put_in, "D"));
    }
}
