//! What a ReplicaSet or ReplicationController needs next.

use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::apps_v1::ReplicaSetCondition;
use coracle_api::core_v1::Pod;
use coracle_meta::{LabelSelector, format_time};
use jiff::SignedDuration;

use super::victims::victims;
use crate::pods::{Availability, availability};

/// How many pods one sync creates or deletes at most. In Kubernetes: `BurstReplicas`.
pub(super) const BURST: usize = 500;

/// The condition that pods could not be created or deleted.
const REPLICA_FAILURE: &str = "ReplicaFailure";

/// The observed state of a set and its pods.
#[derive(Clone, Debug)]
pub(super) struct ObservedReplicaSet {
    /// `spec.replicas`
    pub(super) replicas: i32,
    /// `spec.minReadySeconds`
    pub(super) min_ready_seconds: i32,
    /// The labels of the template.
    pub(super) template_labels: LabelSelector,
    /// `metadata.generation`
    pub(super) generation: i64,
    /// Whether the set is being deleted.
    pub(super) deleting: bool,
    /// Whether the cache shows the pods that the controller created and deleted.
    pub(super) shows_own_writes: bool,
    /// Its active pods.
    pub(super) pods: Vec<Arc<Pod>>,
    /// How many of its pods are being deleted and have not finished.
    pub(super) terminating: usize,
    /// The active pods of all sets with the same controller, including its own; read only if the set has too many
    /// pods.
    pub(super) related: Vec<Arc<Pod>>,
}

/// What to do about the number of pods.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Plan {
    /// Nothing.
    Keep,
    /// Create this many.
    Create(usize),
    /// Delete these.
    Delete(Vec<Arc<Pod>>),
}

/// The desired status of a set; the same for both kinds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SetStatus {
    pub(super) replicas: i32,
    pub(super) fully_labeled_replicas: i32,
    pub(super) ready_replicas: i32,
    pub(super) available_replicas: i32,
    /// `None` for a kind without this field.
    pub(super) terminating_replicas: Option<i32>,
    pub(super) observed_generation: i64,
    pub(super) conditions: Vec<ReplicaSetCondition>,
}

/// What to do about the number of pods.
pub(super) fn plan(observed: &ObservedReplicaSet, now: Timestamp) -> Plan {
    let (have, want) = (observed.pods.len(), usize::try_from(observed.replicas).unwrap_or(0));
    if observed.deleting || !observed.shows_own_writes || have == want {
        Plan::Keep
    } else if have < want {
        Plan::Create((want - have).min(BURST))
    } else {
        Plan::Delete(victims(&observed.pods, &observed.related, (have - want).min(BURST), now))
    }
}

/// The decision as a sentence, for the event log.
pub(super) fn sentence(observed: &ObservedReplicaSet, plan: &Plan) -> String {
    let ObservedReplicaSet { replicas, pods, .. } = observed;
    let deed = match plan {
        Plan::Keep if observed.deleting => "it is being deleted: nothing".to_owned(),
        Plan::Keep if !observed.shows_own_writes => "its own pods are expected: nothing".to_owned(),
        Plan::Keep => "nothing to do".to_owned(),
        Plan::Create(count) => format!("create {count}"),
        Plan::Delete(pods) => format!("delete {}", pods.len()),
    };
    format!("want {replicas}, see {}: {deed}", pods.len())
}

/// The status for the observed state; `failure` is the error of carrying out the plan.
pub(super) fn status(
    observed: &ObservedReplicaSet,
    before: &[ReplicaSetCondition],
    failure: Option<&str>,
    now: Timestamp,
) -> SetStatus {
    let (mut fully_labeled, mut ready, mut available) = (0, 0, 0);
    for pod in &observed.pods {
        fully_labeled += i32::from(observed.template_labels.matches(&pod.metadata.labels));
        match availability(pod, observed.min_ready_seconds, now) {
            Availability::NotReady => {}
            Availability::In(_) => ready += 1,
            Availability::Available => {
                ready += 1;
                available += 1;
            }
        }
    }
    SetStatus {
        replicas: observed.pods.len() as i32,
        fully_labeled_replicas: fully_labeled,
        ready_replicas: ready,
        available_replicas: available,
        terminating_replicas: Some(observed.terminating as i32),
        observed_generation: observed.generation,
        conditions: conditions(observed, before, failure, now),
    }
}

/// The message of the first failure stays until a sync succeeds.
fn conditions(
    observed: &ObservedReplicaSet,
    before: &[ReplicaSetCondition],
    failure: Option<&str>,
    now: Timestamp,
) -> Vec<ReplicaSetCondition> {
    let is_failure = |condition: &&ReplicaSetCondition| condition.type_ == REPLICA_FAILURE;
    match (failure, before.iter().find(is_failure)) {
        (Some(message), None) => {
            let too_few = (observed.pods.len() as i32) < observed.replicas;
            let condition = ReplicaSetCondition {
                type_: REPLICA_FAILURE.to_owned(),
                status: "True".to_owned(),
                last_transition_time: Some(format_time(now)),
                reason: if too_few { "FailedCreate" } else { "FailedDelete" }.to_owned(),
                message: message.to_owned(),
                ..ReplicaSetCondition::default()
            };
            before.iter().cloned().chain([condition]).collect()
        }
        (None, Some(_)) => before.iter().filter(|condition| !is_failure(condition)).cloned().collect(),
        _ => before.to_vec(),
    }
}

/// How long until the next ready pod becomes available; `None` without one.
pub(super) fn next_available(observed: &ObservedReplicaSet, now: Timestamp) -> Option<SignedDuration> {
    observed.pods.iter().filter_map(|pod| availability(pod, observed.min_ready_seconds, now).left()).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_api::core_v1::PodCondition;
    use coracle_meta::parse_time;
    use proptest::prelude::*;

    fn now() -> Timestamp {
        parse_time("2026-01-01T01:00:00Z").unwrap()
    }

    fn pod(index: usize, ready_since: Option<&str>) -> Arc<Pod> {
        let mut pod = Pod::default();
        pod.metadata.name = Some(format!("web-{index}"));
        pod.metadata.labels = [("app".to_owned(), "web".to_owned())].into();
        pod.status.conditions = vec![PodCondition {
            type_: "Ready".to_owned(),
            status: if ready_since.is_some() { "True" } else { "False" }.to_owned(),
            last_transition_time: ready_since.map(str::to_owned),
            ..PodCondition::default()
        }];
        Arc::new(pod)
    }

    fn observed(replicas: i32, pods: Vec<Arc<Pod>>) -> ObservedReplicaSet {
        ObservedReplicaSet {
            replicas,
            min_ready_seconds: 0,
            template_labels: LabelSelector::of_labels(&[("app".to_owned(), "web".to_owned())].into()),
            generation: 2,
            deleting: false,
            shows_own_writes: true,
            pods,
            terminating: 0,
            related: Vec::new(),
        }
    }

    #[test]
    fn a_set_that_is_being_deleted_makes_and_deletes_nothing_but_still_counts() {
        let deleting = ObservedReplicaSet { deleting: true, terminating: 2, ..observed(3, Vec::new()) };
        assert_eq!(plan(&deleting, now()), Plan::Keep);
        let status = status(&deleting, &[], None, now());
        assert_eq!((status.replicas, status.terminating_replicas, status.observed_generation), (0, Some(2), 2));
    }

    #[test]
    fn a_set_whose_own_pods_are_expected_makes_and_deletes_nothing_but_still_counts() {
        let stale = ObservedReplicaSet { shows_own_writes: false, ..observed(3, vec![pod(0, None)]) };
        assert_eq!(plan(&stale, now()), Plan::Keep);
        assert_eq!(sentence(&stale, &Plan::Keep), "want 3, see 1: its own pods are expected: nothing");
        assert_eq!(status(&stale, &[], None, now()).replicas, 1);
    }

    #[test]
    fn pods_count_as_available_after_the_rest_period() {
        let pods = vec![pod(0, Some("2026-01-01T00:59:50Z")), pod(1, Some("2026-01-01T00:00:00Z")), pod(2, None)];
        let observed = ObservedReplicaSet { min_ready_seconds: 30, ..observed(3, pods) };
        let status = status(&observed, &[], None, now());
        assert_eq!((status.replicas, status.ready_replicas, status.available_replicas), (3, 2, 1));
        assert_eq!(next_available(&observed, now()), Some(SignedDuration::from_secs(20)));
    }

    #[test]
    fn the_first_failure_stays_until_a_sync_succeeds() {
        let observed = observed(3, vec![pod(0, None)]);
        let first = status(&observed, &[], Some("first"), now()).conditions;
        assert_eq!((first[0].reason.as_str(), first[0].message.as_str()), ("FailedCreate", "first"));
        assert_eq!(status(&observed, &first, Some("second"), now()).conditions, first);
        assert!(status(&observed, &first, None, now()).conditions.is_empty());
    }

    proptest! {
        #[test]
        fn carrying_out_the_plan_gives_the_number_asked_for_or_a_burst_towards_it(
            replicas in 0..2000_i32, have in 0..2000_usize,
        ) {
            let observed = observed(replicas, (0..have).map(|index| pod(index, None)).collect());
            let after = match plan(&observed, now()) {
                Plan::Keep => have,
                Plan::Create(count) => have + count,
                Plan::Delete(pods) => have - pods.len(),
            };
            prop_assert_eq!(after.abs_diff(have), have.abs_diff(replicas as usize).min(BURST));
            prop_assert!(after.abs_diff(replicas as usize) <= have.abs_diff(replicas as usize));
        }
    }
}
