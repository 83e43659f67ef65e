use std::sync::Arc;

use coracle_api::apps_v1::{DaemonSet, RollingUpdateDaemonSet};
use coracle_api::core_v1::{Node, Pod, PodCondition, Taint};
use coracle_meta::{IntOrString, parse_time};
use jiff::SignedDuration;
use proptest::prelude::*;

use super::decide::{Plan, plan};
use super::observed::ObservedDaemonSet;
use super::status::counted;
use super::template::HASH_LABEL;

const NODES: [&str; 3] = ["alpha", "beta", "gamma"];

fn set(surge: i32, unavailable: i32) -> DaemonSet {
    let mut set = DaemonSet::default();
    set.metadata.name = Some("agent".to_owned());
    set.spec.update_strategy.type_ = "RollingUpdate".to_owned();
    set.spec.update_strategy.rolling_update = Some(Box::new(RollingUpdateDaemonSet {
        max_surge: Some(IntOrString::Int(surge)),
        max_unavailable: Some(IntOrString::Int(unavailable)),
        ..RollingUpdateDaemonSet::default()
    }));
    set
}

/// A pod on a node, of the present template if its hash is `new`.
fn pod(name: &str, node: &str, hash: &str, change: impl FnOnce(&mut Pod)) -> Arc<Pod> {
    let mut pod = Pod::default();
    pod.metadata.namespace = Some("default".to_owned());
    pod.metadata.name = Some(name.to_owned());
    pod.metadata.labels.insert(HASH_LABEL.to_owned(), hash.to_owned());
    pod.metadata.creation_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
    pod.spec.node_name = node.to_owned();
    pod.status.phase = "Running".to_owned();
    pod.status.conditions = vec![PodCondition {
        type_: "Ready".to_owned(),
        status: "True".to_owned(),
        last_transition_time: Some("2026-01-01T00:00:00Z".to_owned()),
        ..PodCondition::default()
    }];
    change(&mut pod);
    Arc::new(pod)
}

fn not_ready(pod: &mut Pod) {
    pod.status.conditions[0].status = "False".to_owned();
}

fn node(name: &str) -> Arc<Node> {
    let mut node = Node::default();
    node.metadata.name = Some(name.to_owned());
    Arc::new(node)
}

fn observed(set: DaemonSet, pods: &[Arc<Pod>]) -> ObservedDaemonSet {
    let now = parse_time("2026-01-01T01:00:00Z").unwrap();
    ObservedDaemonSet::new(Arc::new(set), "new".to_owned(), &NODES.map(node), pods, now)
}

/// Whom the plan removes, and where it makes pods.
fn decided(observed: &ObservedDaemonSet) -> (Vec<String>, Vec<String>) {
    let plan = plan(observed, &mut |_| None);
    (names(&plan), plan.create)
}

fn names(plan: &Plan) -> Vec<String> {
    plan.delete.iter().map(|pod| pod.name().to_owned()).collect()
}

fn everywhere(hash: &str) -> Vec<Arc<Pod>> {
    NODES.iter().map(|node| pod(&format!("{hash}-{node}"), node, hash, |_| {})).collect()
}

#[test]
fn each_node_gets_one_pod_and_a_second_one_goes_the_younger_first() {
    let pods = [
        pod("late", "alpha", "new", |pod| pod.metadata.creation_timestamp = Some("2026-01-01T00:00:01Z".to_owned())),
        pod("first", "alpha", "new", |_| {}),
        pod("going", "beta", "new", |pod| pod.metadata.deletion_timestamp = Some(String::new())),
    ];
    let (delete, create) = decided(&observed(set(0, 1), &pods));
    assert_eq!(delete, ["late"]);
    assert_eq!(create, ["gamma"], "on beta the one that goes has to be gone first");
}

#[test]
fn a_pod_that_waits_for_a_node_that_is_gone_is_removed() {
    let waiting = super::template::for_node(&pod("waiting", "", "new", |_| {}), "lost");
    let bound = pod("bound", "lost", "new", |_| {});
    let pods: Vec<_> = everywhere("new").into_iter().chain([Arc::new(waiting), bound]).collect();
    assert_eq!(decided(&observed(set(0, 1), &pods)).0, ["waiting"]);
}

#[test]
fn ended_pods_go_with_a_word_and_failed_ones_wait_when_they_have_just_failed() {
    let pods = [
        pod("broken", "alpha", "new", |pod| pod.status.phase = "Failed".to_owned()),
        pod("done", "beta", "new", |pod| pod.status.phase = "Succeeded".to_owned()),
        pod("well", "gamma", "new", |_| {}),
    ];
    let observed = observed(set(0, 1), &pods);
    let now = plan(&observed, &mut |_| None);
    assert_eq!(names(&now), ["broken", "done"]);
    assert_eq!(now.events[0].2, "Found failed daemon pod default/broken on node alpha, will try to kill it");
    assert_eq!(now.events[1].2, "Found succeeded daemon pod default/done on node beta, will try to delete it");
    let later = plan(&observed, &mut |_| Some(SignedDuration::from_secs(4)));
    assert_eq!((names(&later), later.again), (vec!["done".to_owned()], Some(SignedDuration::from_secs(4))));
}

#[test]
fn an_update_takes_the_useless_first_and_no_more_than_may_be_missing() {
    let mut pods = everywhere("old");
    assert_eq!(decided(&observed(set(0, 1), &pods)).0, ["old-alpha"]);
    assert_eq!(decided(&observed(set(0, 2), &pods)).0, ["old-alpha", "old-beta"]);
    assert_eq!(decided(&observed(set(0, 0), &pods)).0, ["old-alpha"], "neither is taken for one");
    pods[2] = pod("old-gamma", "gamma", "old", not_ready);
    assert_eq!(decided(&observed(set(0, 1), &pods)).0, ["old-gamma"]);
    pods[2] = pod("new-gamma", "gamma", "new", not_ready);
    assert!(decided(&observed(set(0, 1), &pods)).0.is_empty());
    let mut on_delete = set(0, 1);
    on_delete.spec.update_strategy.type_ = "OnDelete".to_owned();
    assert!(decided(&observed(on_delete, &everywhere("old"))).0.is_empty());
}

#[test]
fn a_surge_makes_the_new_pod_first_and_removes_the_old_one_once_that_is_available() {
    let mut pods = everywhere("old");
    assert_eq!(decided(&observed(set(1, 0), &pods)), (vec![], vec!["alpha".to_owned()]));
    pods.push(pod("new-alpha", "alpha", "new", not_ready));
    assert_eq!(decided(&observed(set(1, 0), &pods)), (vec![], vec![]));
    pods.pop();
    pods.push(pod("new-alpha", "alpha", "new", |_| {}));
    assert_eq!(decided(&observed(set(1, 0), &pods)).0, ["old-alpha"]);
    pods[1] = pod("old-beta", "beta", "old", not_ready);
    pods.remove(0);
    assert_eq!(decided(&observed(set(1, 0), &pods)).1, ["beta", "gamma"], "beside one that is no use none counts");
}

#[test]
fn an_old_pod_where_none_belongs_stays_until_there_are_enough() {
    let now = parse_time("2026-01-01T01:00:00Z").unwrap();
    let mut closed = Node::clone(&node("alpha"));
    let taint = Taint { key: "mine".to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() };
    closed.spec.taints.push(taint);
    let nodes = [Arc::new(closed), node("beta")];
    let on_closed = pod("old-alpha", "alpha", "old", |_| {});
    let see = |pods: &[Arc<Pod>]| ObservedDaemonSet::new(Arc::new(set(1, 0)), "new".to_owned(), &nodes, pods, now);
    let starting = see(&[on_closed.clone(), pod("new-beta", "beta", "new", not_ready)]);
    assert!(decided(&starting).0.is_empty());
    let ready = see(&[on_closed, pod("new-beta", "beta", "new", |_| {})]);
    assert_eq!(decided(&ready).0, ["old-alpha"]);
    let status = counted(&ready);
    assert_eq!((status.desired_number_scheduled, status.number_misscheduled, status.number_available), (1, 1, 1));
}

proptest! {
    #[test]
    fn an_update_never_has_more_unavailable_nodes_than_it_may(
        states in prop::collection::vec((any::<bool>(), any::<bool>()), 3),
        max_unavailable in 1..4_i32,
    ) {
        let pods: Vec<_> = NODES.iter().zip(&states).map(|(node, (is_new, is_ready))| {
            pod(node, node, if *is_new { "new" } else { "old" }, |pod| if !is_ready { not_ready(pod) })
        }).collect();
        let observed = observed(set(0, max_unavailable), &pods);
        let plan = plan(&observed, &mut |_| None);
        prop_assert!(plan.create.is_empty());
        let unavailable = states.iter().filter(|(_, is_ready)| !is_ready).count();
        let lost = plan.delete.iter().filter(|pod| pod.is_ready()).count();
        prop_assert!(lost == 0 || unavailable + lost <= max_unavailable as usize);
        let useless = states.iter().filter(|(is_new, is_ready)| !is_new && !is_ready).count();
        prop_assert_eq!(plan.delete.iter().filter(|pod| !pod.is_ready()).count(), useless);
    }
}
