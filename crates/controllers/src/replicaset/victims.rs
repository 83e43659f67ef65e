//! Which pods are deleted first when there are too many.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::Pod;
use coracle_meta::parse_time;

use crate::pods::{max_restarts, ready_since};

/// The annotation with the cost of deleting a pod; the lowest is deleted first.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// The `count` pods to delete, in order. `related` are the active pods of all sets with the same controller: of two
/// pods, the one whose node has more of those is deleted first.
///
/// In Kubernetes: `getPodsToDelete` and `controller.ActivePodsWithRanks`.
pub(super) fn victims(pods: &[Arc<Pod>], related: &[Arc<Pod>], count: usize, now: Timestamp) -> Vec<Arc<Pod>> {
    let mut victims = pods.to_vec();
    if count < victims.len() {
        let mut beside: BTreeMap<&str, usize> = BTreeMap::new();
        for pod in related {
            *beside.entry(&pod.spec.node_name).or_default() += 1;
        }
        let rank = |pod: &Pod| beside.get(pod.spec.node_name.as_str()).copied().unwrap_or(0);
        victims.sort_by(|a, b| compare(a, b, &rank, now));
    }
    victims.truncate(count);
    victims
}

/// `Less` means that `a` is deleted before `b`.
fn compare(a: &Pod, b: &Pod, rank: &impl Fn(&Pod) -> usize, now: Timestamp) -> Ordering {
    let uid = |pod: &Pod| pod.metadata.uid.clone();
    let by_state = (a.node_name().is_some().cmp(&b.node_name().is_some()))
        .then_with(|| phase(a).cmp(&phase(b)))
        .then_with(|| a.is_ready().cmp(&b.is_ready()))
        .then_with(|| deletion_cost(a).cmp(&deletion_cost(b)))
        .then_with(|| Reverse(rank(a)).cmp(&Reverse(rank(b))));
    if by_state != Ordering::Equal {
        return by_state;
    }
    if a.is_ready() && b.is_ready() {
        let (since_a, since_b) = (ready_since(a), ready_since(b));
        if since_a != since_b {
            return age(since_a, now).cmp(&age(since_b, now)).then_with(|| uid(a).cmp(&uid(b)));
        }
    }
    let (restarts_a, restarts_b) = (max_restarts(a), max_restarts(b));
    if restarts_a != restarts_b {
        return restarts_b.cmp(&restarts_a);
    }
    let created = |pod: &Pod| pod.metadata.creation_timestamp.as_deref().and_then(parse_time);
    if created(a) == created(b) {
        return Ordering::Equal;
    }
    age(created(a), now).cmp(&age(created(b), now)).then_with(|| uid(a).cmp(&uid(b)))
}

fn phase(pod: &Pod) -> u8 {
    match pod.phase() {
        "Pending" | "" => 0,
        "Running" => 2,
        _ => 1,
    }
}

fn deletion_cost(pod: &Pod) -> i32 {
    let text = pod.metadata.annotations.get(DELETION_COST);
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The logarithm of an age: ages within a factor of two count as equal, so that the newest are not always the victims.
fn age(since: Option<Timestamp>, now: Timestamp) -> i64 {
    let nanos = since.map_or(0, |since| now.duration_since(since).as_nanos());
    if nanos <= 0 { -1 } else { i64::from(nanos.ilog2()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_api::core_v1::{ContainerStatus, PodCondition};

    const NOW: &str = "2026-01-01T01:00:00Z";

    /// A pod that has been running and ready for an hour, with one change.
    fn pod(name: &str, change: impl FnOnce(&mut Pod)) -> Arc<Pod> {
        let mut pod = Pod::default();
        pod.metadata.name = Some(name.to_owned());
        pod.metadata.uid = Some(name.to_owned());
        pod.metadata.creation_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
        pod.spec.node_name = "node".to_owned();
        pod.status.phase = "Running".to_owned();
        pod.status.conditions = vec![ready("True", "2026-01-01T00:00:00Z")];
        change(&mut pod);
        Arc::new(pod)
    }

    fn ready(status: &str, since: &str) -> PodCondition {
        PodCondition {
            type_: "Ready".to_owned(),
            status: status.to_owned(),
            last_transition_time: Some(since.to_owned()),
            ..PodCondition::default()
        }
    }

    fn order(pods: &[Arc<Pod>], related: &[Arc<Pod>]) -> Vec<String> {
        // All but one, since with all of them the order does not matter.
        let spare = pod("spare", |pod| {
            pod.metadata.annotations.insert(DELETION_COST.to_owned(), "100".to_owned());
        });
        let pods: Vec<_> = pods.iter().cloned().chain([spare]).collect();
        let victims = victims(&pods, related, pods.len() - 1, parse_time(NOW).unwrap());
        victims.iter().map(|pod| pod.name().to_owned()).collect()
    }

    #[test]
    fn the_least_useful_pods_go_first() {
        let pods = [
            pod("settled", |_| {}),
            pod("younger", |pod| pod.metadata.creation_timestamp = Some("2026-01-01T00:50:00Z".to_owned())),
            pod("restarted", |pod| {
                pod.status.container_statuses =
                    vec![ContainerStatus { restart_count: 2, ..ContainerStatus::default() }];
            }),
            pod("lately ready", |pod| pod.status.conditions = vec![ready("True", "2026-01-01T00:59:00Z")]),
            pod("cheap", |pod| {
                pod.metadata.annotations.insert(DELETION_COST.to_owned(), "-5".to_owned());
            }),
            pod("not ready", |pod| pod.status.conditions = vec![ready("False", "2026-01-01T00:00:00Z")]),
            pod("unknown", |pod| pod.status.phase = "Unknown".to_owned()),
            pod("pending", |pod| pod.status.phase = "Pending".to_owned()),
            pod("nowhere", |pod| pod.spec.node_name.clear()),
        ];
        assert_eq!(
            order(&pods, &[]),
            ["nowhere", "pending", "unknown", "not ready", "cheap", "lately ready", "restarted", "younger", "settled"]
        );
    }

    #[test]
    fn a_crowded_node_loses_a_pod_before_an_empty_one() {
        let crowded = pod("crowded", |pod| pod.spec.node_name = "busy".to_owned());
        let sibling = pod("sibling", |pod| pod.spec.node_name = "busy".to_owned());
        let alone = pod("alone", |pod| pod.metadata.uid = Some("a".to_owned()));
        let related = [crowded.clone(), sibling, alone.clone()];
        assert_eq!(order(&[alone, crowded], &related), ["crowded", "alone"]);
    }

    #[test]
    fn ages_within_a_factor_of_two_are_ties_that_the_uid_breaks() {
        let pods = [
            pod("b", |pod| pod.status.conditions = vec![ready("True", "2026-01-01T00:00:01Z")]),
            pod("a", |pod| pod.status.conditions = vec![ready("True", "2026-01-01T00:00:02Z")]),
        ];
        assert_eq!(order(&pods, &[]), ["a", "b"]);
    }
}
