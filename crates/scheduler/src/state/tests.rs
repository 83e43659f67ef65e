use std::time::Duration;

use serde_json::json;

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
    let mut state = SchedulerState::new(&[Arc::new(Profile::named("s"))], Backoff::default(), &Random::from_seed(1));
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
