//! How many pods of a budget may be disrupted now.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::Pod;
use coracle_api::meta_v1::{Condition, LabelSelector};
use coracle_api::policy_v1::{PodDisruptionBudget, PodDisruptionBudgetStatus};
use coracle_meta::{IntOrString, Rounding, format_time, parse_time};
use jiff::SignedDuration;

use crate::conditions::put;

/// How long an eviction may take to become a deletion, and how long a pod may have the condition `DisruptionTarget`
/// before it is deleted. In Kubernetes: `DeletionTimeout` and `stalePodDisruptionTimeout`.
pub(super) const TIMEOUT: SignedDuration = SignedDuration::from_mins(2);

const ALLOWED: &str = "DisruptionAllowed";

/// The expected number of pods, and how many of them must be healthy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) pods: i32,
    pub(super) healthy: i32,
}

/// Whether the sizes of the pods' controllers are needed: `minAvailable` as a number does not need them.
pub(super) fn needs_scale(budget: &PodDisruptionBudget) -> bool {
    let spec = &budget.spec;
    spec.max_unavailable.is_some() || matches!(spec.min_available, Some(IntOrString::String(_)))
}

/// What a budget expects of this number of pods; `scale` is the sum of their controllers' sizes.
pub(super) fn expected(budget: &PodDisruptionBudget, pods: usize, scale: i32) -> Result<Expected, String> {
    let part = |of: &IntOrString| {
        let part = of.scaled(scale, Rounding::Up);
        part.ok_or_else(|| "invalid value for IntOrString: invalid type: string is not a percentage".to_owned())
    };
    Ok(match (&budget.spec.max_unavailable, &budget.spec.min_available) {
        (Some(most), _) => Expected { pods: scale, healthy: scale.saturating_sub(part(most)?).max(0) },
        (None, Some(IntOrString::Int(least))) => {
            Expected { pods: i32::try_from(pods).unwrap_or(i32::MAX), healthy: *least }
        }
        (None, Some(least)) => Expected { pods: scale, healthy: part(least)? },
        (None, None) => Expected::default(),
    })
}

/// The pods whose evictions are in progress.
#[derive(Debug, Default)]
pub(super) struct Disrupted {
    /// The time of each eviction, by pod name.
    pub(super) pods: BTreeMap<String, String>,
    /// Those that should have been deleted by now.
    pub(super) overdue: Vec<Arc<Pod>>,
    /// After how long the next one is overdue.
    pub(super) recheck: Option<SignedDuration>,
}

/// The pods of the budget's `disruptedPods` that are still to be deleted.
pub(super) fn disrupted(budget: &PodDisruptionBudget, pods: &[Arc<Pod>], now: Timestamp) -> Disrupted {
    let mut found = Disrupted::default();
    for pod in pods.iter().filter(|pod| !pod.is_terminating()) {
        let Some(since) = budget.status.disrupted_pods.get(pod.name()) else { continue };
        let left = parse_time(since).map(|since| TIMEOUT.saturating_sub(now.duration_since(since)));
        match left.filter(SignedDuration::is_positive) {
            None => found.overdue.push(pod.clone()),
            Some(left) => {
                found.recheck = Some(found.recheck.map_or(left, |before| before.min(left)));
                found.pods.insert(pod.name().to_owned(), since.clone());
            }
        }
    }
    found
}

/// The status for the observed state.
pub(super) fn status(
    budget: &PodDisruptionBudget,
    pods: &[Arc<Pod>],
    expected: Expected,
    disrupted: &Disrupted,
    now: Timestamp,
) -> PodDisruptionBudgetStatus {
    let is_healthy =
        |pod: &&Arc<Pod>| !pod.is_terminating() && pod.is_ready() && !disrupted.pods.contains_key(pod.name());
    let healthy = i32::try_from(pods.iter().filter(is_healthy).count()).unwrap_or(i32::MAX);
    // If no pods are expected none may be disrupted: the first ones may exist before the next status is written.
    let allowed = if expected.pods > 0 { healthy.saturating_sub(expected.healthy).max(0) } else { 0 };
    let mut status = PodDisruptionBudgetStatus {
        current_healthy: healthy,
        desired_healthy: expected.healthy,
        expected_pods: expected.pods,
        disruptions_allowed: allowed,
        disrupted_pods: disrupted.pods.clone(),
        observed_generation: budget.metadata.generation.unwrap_or(0),
        ..budget.status.clone()
    };
    let (value, reason) = if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
    put_condition(&mut status, value, reason, "", now);
    status
}

/// The status if the state could not be determined: no disruption is allowed.
pub(super) fn failed(budget: &PodDisruptionBudget, why: &str, now: Timestamp) -> PodDisruptionBudgetStatus {
    let mut status = PodDisruptionBudgetStatus { disruptions_allowed: 0, ..budget.status.clone() };
    put_condition(&mut status, "False", "SyncFailed", why, now);
    status
}

fn put_condition(status: &mut PodDisruptionBudgetStatus, value: &str, reason: &str, message: &str, now: Timestamp) {
    let condition = Condition {
        type_: ALLOWED.to_owned(),
        status: value.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: status.observed_generation,
        last_transition_time: Some(format_time(now)),
        ..Condition::default()
    };
    put(&mut status.conditions, condition);
}

/// The decision as a sentence, for the event log.
pub(super) fn sentence(status: &PodDisruptionBudgetStatus) -> String {
    let PodDisruptionBudgetStatus { current_healthy, desired_healthy, disruptions_allowed, .. } = status;
    format!("want {desired_healthy} healthy, see {current_healthy}: allow {disruptions_allowed}")
}

/// How long to wait for the deletion of a pod with the condition `DisruptionTarget`; `None` if it has no such
/// condition, or if the kubelet set it.
pub(super) fn stale_in(pod: &Pod, now: Timestamp) -> Option<SignedDuration> {
    let condition = pod.condition("DisruptionTarget").filter(|condition| condition.status == "True")?;
    if pod.is_terminating() || pod.is_finished() || condition.reason == "TerminationByKubelet" {
        return None;
    }
    let since = condition.last_transition_time.as_deref().and_then(parse_time);
    Some(since.map_or(SignedDuration::ZERO, |since| {
        TIMEOUT.saturating_sub(now.duration_since(since)).max(SignedDuration::ZERO)
    }))
}

/// The event about pods without a controller.
pub(super) fn unmanaged(budget: &PodDisruptionBudget) -> String {
    format!(
        "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status of \
         the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods \
         please set \".spec.minAvailable\" field of the PDB to an integer value.",
        LabelSelector::print(budget.spec.selector.as_deref())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_api::core_v1::PodCondition;
    use proptest::prelude::*;

    fn now() -> Timestamp {
        parse_time("2026-01-01T01:00:00Z").unwrap()
    }

    fn pod(name: &str, ready: bool) -> Arc<Pod> {
        let mut pod = Pod::default();
        pod.metadata.name = Some(name.to_owned());
        pod.status.conditions = vec![PodCondition {
            type_: "Ready".to_owned(),
            status: if ready { "True" } else { "False" }.to_owned(),
            ..PodCondition::default()
        }];
        Arc::new(pod)
    }

    fn budget(max_unavailable: Option<IntOrString>, min_available: Option<IntOrString>) -> PodDisruptionBudget {
        let mut budget = PodDisruptionBudget::default();
        (budget.spec.max_unavailable, budget.spec.min_available) = (max_unavailable, min_available);
        budget.metadata.generation = Some(3);
        budget
    }

    #[test]
    fn a_number_counts_pods_and_everything_else_the_sizes_of_their_controllers() {
        let of = |most: Option<IntOrString>, least: Option<IntOrString>| {
            let expected = expected(&budget(most, least), 5, 7).unwrap();
            (expected.pods, expected.healthy)
        };
        assert_eq!(of(None, Some(2.into())), (5, 2));
        assert_eq!(of(None, Some("30%".into())), (7, 3));
        assert_eq!(of(Some("30%".into()), None), (7, 4));
        assert_eq!(of(Some(9.into()), None), (7, 0));
        assert_eq!(of(None, None), (0, 0));
        assert!(expected(&budget(Some("many".into()), None), 5, 7).is_err());
    }

    #[test]
    fn an_eviction_under_way_counts_until_it_is_overdue() {
        let mut budget = budget(None, Some(1.into()));
        let evicted = [("a", "2026-01-01T00:59:00Z"), ("b", "2026-01-01T00:58:00Z"), ("c", "never"), ("gone", "x")];
        budget.status.disrupted_pods = evicted.map(|(name, since)| (name.to_owned(), since.to_owned())).into();
        let pods = ["a", "b", "c", "d"].map(|name| pod(name, true));
        let disrupted = disrupted(&budget, &pods, now());
        assert_eq!(disrupted.pods.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(disrupted.overdue.iter().map(|pod| pod.name()).collect::<Vec<_>>(), ["b", "c"]);
        assert_eq!(disrupted.recheck, Some(SignedDuration::from_mins(1)));
        let expected = expected(&budget, pods.len(), 0).unwrap();
        let status = status(&budget, &pods, expected, &disrupted, now());
        assert_eq!((status.current_healthy, status.disruptions_allowed, status.observed_generation), (3, 2, 3));
    }

    #[test]
    fn an_unknown_state_allows_no_disruption_and_has_a_reason() {
        let mut budget = budget(None, Some(1.into()));
        budget.status.disruptions_allowed = 4;
        let status = failed(&budget, "found no controllers", now());
        assert_eq!((status.disruptions_allowed, status.conditions[0].reason.as_str()), (0, "SyncFailed"));
        let again = PodDisruptionBudget { status: status.clone(), ..budget };
        assert_eq!(failed(&again, "found no controllers", now() + SignedDuration::from_secs(5)), status);
    }

    #[test]
    fn a_pod_said_to_be_disrupted_is_waited_for_unless_the_kubelet_said_it() {
        let said = |reason: &str, since: &str| {
            let mut pod = Pod::default();
            pod.status.conditions = vec![PodCondition {
                type_: "DisruptionTarget".to_owned(),
                status: "True".to_owned(),
                reason: reason.to_owned(),
                last_transition_time: Some(since.to_owned()),
                ..PodCondition::default()
            }];
            stale_in(&pod, now())
        };
        assert_eq!(said("EvictionByEvictionAPI", "2026-01-01T00:59:00Z"), Some(SignedDuration::from_mins(1)));
        assert_eq!(said("EvictionByEvictionAPI", "2025-01-01T00:59:00Z"), Some(SignedDuration::ZERO));
        assert_eq!(said("TerminationByKubelet", "2026-01-01T00:59:00Z"), None);
        assert_eq!(stale_in(&Pod::default(), now()), None);
    }

    #[test]
    fn selectors_are_printed_like_go() {
        let mut budget = budget(Some(1.into()), None);
        assert!(unmanaged(&budget).contains("(selector: nil)"));
        let selector = serde_json::json!({
            "matchLabels": {"app": "a"}, "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}],
        });
        budget.spec.selector = serde_json::from_value(selector).unwrap();
        let printed = "(selector: &LabelSelector{MatchLabels:map[string]string{app: a,},MatchExpressions:\
            []LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},})";
        assert!(unmanaged(&budget).contains(printed), "{}", unmanaged(&budget));
    }

    proptest! {
        #[test]
        fn never_more_may_go_than_leaves_as_many_as_are_wanted(
            ready in prop::collection::vec(any::<bool>(), 0..20), scale in any::<i32>(), most in any::<i32>(),
        ) {
            let pods: Vec<_> = ready.iter().enumerate().map(|(index, ready)| pod(&index.to_string(), *ready)).collect();
            let budget = budget(Some(most.into()), None);
            let expected = expected(&budget, pods.len(), scale).unwrap();
            let status = status(&budget, &pods, expected, &Disrupted::default(), now());
            let left = status.current_healthy - status.disruptions_allowed;
            prop_assert!(status.disruptions_allowed == 0 || left >= status.desired_healthy);
        }
    }
}
