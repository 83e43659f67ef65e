use std::time::Duration;

use serde_json::json;

use coracle_release::Release;

use super::*;

struct Alone;

impl Surroundings for Alone {
    fn siblings(&self, _: &Pod) -> Option<LabelSelector> {
        None
    }

    fn volumes(&self, _: &Pod, _: &Assumed) -> PodVolumes {
        PodVolumes::default()
    }

    fn budgets(&self) -> Vec<Budget> {
        Vec::new()
    }
}

fn node(name: &str) -> Node {
    let node = json!({"metadata": {"name": name}, "status": {"allocatable": {"cpu": "1", "pods": "10"}}});
    serde_json::from_value(node).unwrap()
}

fn pod(name: &str, priority: i32, cpu: &str) -> Arc<Pod> {
    let container = json!({"name": "c", "resources": {"requests": {"cpu": cpu}}});
    let spec = json!({"schedulerName": "s", "priority": priority, "containers": [container]});
    let metadata = json!({"name": name, "namespace": "default", "uid": name});
    Arc::new(serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap())
}

fn state(now: Instant) -> SchedulerState {
    state_in(&Release::named("1.35").unwrap(), now)
}

fn state_in(release: &Release, now: Instant) -> SchedulerState {
    let profile = Arc::new(Profile::of("s", release));
    let mut state = SchedulerState::new(&[profile], Backoff::default(), &Random::from_seed(1));
    state.node(&node("a"), now);
    state
}

#[tokio::test(start_paused = true)]
async fn a_pod_counts_where_it_goes_until_its_binding_fails() {
    let now = Instant::now();
    let mut state = state(now);
    for name in ["first", "second"] {
        state.pod(None, &pod(name, 0, "600m"), &[], now);
    }
    let first = state.next(now, &Alone).unwrap();
    assert!(matches!(first.decision, SchedulingDecision::Bind(Choice { ref node, .. }, _) if node == "a"));
    assert!(matches!(state.next(now, &Alone).unwrap().decision, SchedulingDecision::Unfit(..)));
    assert!(state.gave_up(&first.info.key, now), "the pod still waits");
    state.pod(None, &pod("third", 0, "600m"), &[], now);
    let third = state.next(now, &Alone).unwrap();
    assert_eq!(third.info.key.name, "third");
    assert!(matches!(third.decision, SchedulingDecision::Bind(..)), "the node is free again");
}

#[tokio::test(start_paused = true)]
async fn freed_resources_are_reserved_for_the_waiting_pod() {
    let now = Instant::now();
    let mut state = state(now);
    let mut low = pod("low", 0, "600m").as_ref().clone();
    low.spec.node_name = "a".to_owned();
    state.pod(None, &Arc::new(low), &[], now);
    state.pod(None, &pod("high", 10, "600m"), &[], now);
    let high = state.next(now, &Alone).unwrap();
    let SchedulingDecision::Unfit(_, Room { victims: Some(victims), .. }) = high.decision else { panic!("no victims") };
    assert_eq!((victims.node.as_str(), victims.pods[0].key.name.as_str()), ("a", "low"));
    state.pod_gone(&victims.pods[0].key, now);
    state.pod(None, &pod("other", 5, "600m"), &[], now);
    let other = state.next(now, &Alone).unwrap();
    assert_eq!(other.info.key.name, "other");
    assert!(matches!(other.decision, SchedulingDecision::Unfit(..)));
    let again = state.next(now + Duration::from_secs(1), &Alone).unwrap();
    assert_eq!(again.info.key.name, "high");
    assert!(matches!(again.decision, SchedulingDecision::Bind(..)));
}

/// The message about the next pod.
fn message(state: &mut SchedulerState, now: Instant) -> String {
    match state.next(now, &Alone).unwrap().decision {
        SchedulingDecision::Unfit(unfit, _) => unfit.error.to_string(),
        decision => panic!("{decision:?}"),
    }
}

fn latest() -> Release {
    Release::named("1.37").unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_message_of_a_pod_that_fits_nowhere_has_the_remark_about_claims_in_some_releases() {
    let now = Instant::now();
    let rest = "0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
    for (release, remark) in [(Release::named("1.35").unwrap(), "no new claims to deallocate, "), (latest(), "")] {
        let mut state = state_in(&release, now);
        state.pod(None, &pod("large", 0, "2"), &[], now);
        let expected = format!("0/1 nodes are available: 1 Insufficient cpu. {remark}preemption: {rest}");
        assert_eq!(message(&mut state, now), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_message_of_a_pod_that_preempts_others_names_the_node_in_some_releases() {
    let now = Instant::now();
    let sentence = " preemption: found a potential placement for pod on node a, preempting 1 victims";
    for (release, sentence) in [(Release::named("1.35").unwrap(), ""), (latest(), sentence)] {
        let mut state = state_in(&release, now);
        let mut low = pod("low", 0, "600m").as_ref().clone();
        low.spec.node_name = "a".to_owned();
        state.pod(None, &Arc::new(low), &[], now);
        state.pod(None, &pod("high", 10, "600m"), &[], now);
        let expected = format!("0/1 nodes are available: 1 Insufficient cpu.{sentence}");
        assert_eq!(message(&mut state, now), expected);
    }
}

#[test]
fn the_order_of_the_plug_ins_of_a_release_decides_which_reason_a_node_gets() {
    let cordoned = "node(s) were unschedulable";
    let named = "node(s) didn't match the requested node name";
    for (version, reason) in [("1.36", cordoned), ("1.37", named)] {
        let mut cordoned = node("a");
        cordoned.spec.unschedulable = true;
        let snapshot: crate::Snapshot = [crate::node_info(&cordoned)].into_iter().collect();
        let mut info = crate::pod_info(&pod("p", 0, "1"), None);
        info.node_name = Some("b".to_owned());
        let profile = Arc::new(Profile::of("s", &Release::named(version).unwrap()));
        let failure = crate::schedule(&profile, &info, &snapshot, 0, &Random::from_seed(1)).unwrap_err();
        assert_eq!(failure.to_string(), format!("0/1 nodes are available: 1 {reason}."));
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_lacks_a_feature_is_rejected_in_a_release_with_that_filter_until_it_declares_it() {
    let now = Instant::now();
    let mut needy = pod("needy", 0, "1").as_ref().clone();
    needy.spec.host_network = true;
    needy.spec.host_users = Some(false);
    let needy = Arc::new(needy);
    let mut state = state_in(&Release::named("1.36").unwrap(), now);
    state.pod(None, &needy, &[], now);
    let said = message(&mut state, now);
    assert!(said.starts_with("0/1 nodes are available: 1 node(s) didn't match Pod's required features."), "{said}");
    let mut able = node("a");
    able.status.declared_features = vec!["UserNamespacesHostNetworkSupport".to_owned()];
    state.node(&able, now);
    let later = now + Duration::from_secs(20);
    assert!(matches!(state.next(later, &Alone).unwrap().decision, SchedulingDecision::Bind(..)));
    let mut before = state_in(&Release::named("1.35").unwrap(), now);
    before.pod(None, &needy, &[], now);
    assert!(matches!(before.next(now, &Alone).unwrap().decision, SchedulingDecision::Bind(..)));
}
