//! A Job's pod failure policy and success policy.

use coracle_api::batch_v1::{Job, PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyOnPodConditionsPattern};
use coracle_api::core_v1::{ContainerStatus, Pod, PodCondition};

use super::indexes::Indexes;
use super::pod::completions;

/// What the failure policy decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FailurePolicyAction {
    /// It counts.
    Count,
    /// It does not.
    Ignore,
    /// Its index is not retried.
    FailIndex,
    /// The whole Job has failed, with this message.
    FailJob(String),
}

impl FailurePolicyAction {
    pub(super) fn counts(&self) -> bool {
        *self != Self::Ignore
    }
}

/// The first matching rule decides. In Kubernetes: `matchPodFailurePolicy`.
pub(super) fn verdict(job: &Job, pod: &Pod) -> FailurePolicyAction {
    let rules = job.spec.pod_failure_policy.as_deref().map(|policy| policy.rules.as_slice()).unwrap_or_default();
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let decided = rules.iter().enumerate().find_map(|(index, rule)| {
        let name = pod.name();
        let because = match rule.on_exit_codes.as_deref() {
            Some(codes) => {
                let (container, code) = exited(pod, codes)?;
                format!("Container {container} for pod {namespace}/{name} failed with exit code {code}")
            }
            None => {
                let condition = has_condition(pod, &rule.on_pod_conditions)?;
                format!("Pod {namespace}/{name} has condition {}", condition.type_)
            }
        };
        match rule.action.as_str() {
            "Ignore" => Some(FailurePolicyAction::Ignore),
            "FailIndex" => Some(FailurePolicyAction::FailIndex),
            "Count" => Some(FailurePolicyAction::Count),
            "FailJob" => {
                Some(FailurePolicyAction::FailJob(format!("{because} matching {} rule at index {index}", rule.action)))
            }
            _ => None,
        }
    });
    decided.unwrap_or(FailurePolicyAction::Count)
}

/// The container that exited with one of the codes, and the code.
fn exited<'a>(pod: &'a Pod, codes: &PodFailurePolicyOnExitCodesRequirement) -> Option<(&'a str, i32)> {
    let fits = |status: &'a ContainerStatus| {
        let code = status.state.terminated.as_deref()?.exit_code;
        let is_meant = codes.container_name.as_ref().is_none_or(|name| *name == status.name);
        let is_among = match codes.operator.as_str() {
            "In" => codes.values.contains(&code),
            "NotIn" => !codes.values.contains(&code),
            _ => false,
        };
        (code != 0 && is_meant && is_among).then_some((status.name.as_str(), code))
    };
    pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses).find_map(fits)
}

fn has_condition<'a>(pod: &'a Pod, patterns: &[PodFailurePolicyOnPodConditionsPattern]) -> Option<&'a PodCondition> {
    let fits = |condition: &&PodCondition| {
        patterns.iter().any(|pattern| pattern.type_ == condition.type_ && pattern.status == condition.status)
    };
    pod.status.conditions.iter().find(fits)
}

/// The message of the first rule that is met. In Kubernetes: `matchSuccessPolicy`.
pub(super) fn fulfilled(job: &Job, succeeded: &Indexes) -> Option<String> {
    let policy = job.spec.success_policy.as_deref().filter(|_| succeeded.total() > 0)?;
    let is_enough = |count: Option<i32>, number: u64| {
        count.is_some_and(|count| u64::try_from(count).is_ok_and(|count| number >= count))
    };
    let rule = policy.rules.iter().position(|rule| match &rule.succeeded_indexes {
        Some(text) => {
            let required = Indexes::parse(text, completions(job));
            let there = required.in_common(succeeded);
            required.total() > 0 && (there == required.total() || is_enough(rule.succeeded_count, there))
        }
        None => is_enough(rule.succeeded_count, succeeded.total()),
    })?;
    Some(format!("Matched rules at index {rule}"))
}
