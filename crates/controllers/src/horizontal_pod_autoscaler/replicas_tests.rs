use super::*;
use serde_json::json;

fn now() -> Timestamp {
    parse_time("2026-01-01T01:00:00Z").unwrap()
}

/// A pod that requests one cpu, ready since it started half an hour ago.
fn pod(name: &str, phase: &str) -> Arc<Pod> {
    let pod = json!({
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]},
        "status": {"phase": phase, "startTime": "2026-01-01T00:30:00Z", "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:31:00Z"},
        ]},
    });
    Arc::new(serde_json::from_value(pod).unwrap())
}

fn target(current: i32, pods: Vec<Arc<Pod>>) -> Target {
    Target {
        current,
        running: current,
        pods,
        tolerances: Tolerances { down: 0.1, up: 0.1 },
        initialization: SignedDuration::from_mins(5),
        readiness_delay: SignedDuration::from_secs(30),
        now: now(),
    }
}

fn running(count: i32) -> Target {
    target(count, (0..count).map(|index| pod(&format!("p{index}"), "Running")).collect())
}

fn samples(values: &[i64]) -> Samples {
    let sample = |value: &i64| Sample { value: *value, at: now(), window: SignedDuration::from_mins(1) };
    values.iter().enumerate().map(|(index, value)| (format!("p{index}"), sample(value))).collect()
}

#[test]
fn utilization_is_of_what_is_requested_and_small_differences_do_nothing() {
    let of = |values: &[i64], percent| running(3).by_utilization(samples(values), "cpu", "", percent).unwrap();
    assert_eq!(of(&[300, 500, 700], 30), Proposal { replicas: 5, utilization: Some(50), usage: 500 });
    assert_eq!(of(&[300, 500, 700], 50).replicas, 3);
    assert_eq!(of(&[300, 500, 700], 46).replicas, 3);
    assert_eq!(of(&[100, 100, 100], 50).replicas, 1);
}

#[test]
fn missing_metrics_dampen_a_change() {
    // p2 is not measured: going down it counts as all that it requests, going up as nothing.
    let down = running(3).by_utilization(samples(&[100, 100]), "cpu", "", 50).unwrap();
    assert_eq!((down.replicas, down.utilization), (3, Some(10)));
    let up = running(3).by_utilization(samples(&[900, 900]), "cpu", "", 50).unwrap();
    assert_eq!(up.replicas, 4);
    let average = running(3).by_average(samples(&[100, 100]), "", 400).unwrap();
    assert_eq!((average.replicas, average.usage), (2, 100));
}

#[test]
fn pods_that_start_count_as_nothing_going_up_and_those_that_go_not_at_all() {
    let pods = vec![pod("p0", "Running"), pod("p1", "Pending"), pod("p2", "Failed")];
    let up = target(2, pods.clone()).by_utilization(samples(&[900, 900, 900]), "cpu", "", 30).unwrap();
    assert_eq!((up.replicas, up.usage), (3, 900));
    let mut young = Pod::clone(&pods[0]);
    young.status.start_time = Some("2026-01-01T00:59:00Z".to_owned());
    young.status.conditions[0].last_transition_time = Some("2026-01-01T00:59:30Z".to_owned());
    let error = target(1, vec![Arc::new(young)]).by_average(samples(&[900]), "cpu", 100).unwrap_err();
    assert_eq!(error, "did not receive metrics for targeted pods (pods might be unready)");
}

#[test]
fn missing_metrics_are_reported_in_kubernetes_words() {
    let target = running(1);
    let utilization = |container, resource| target.by_utilization(samples(&[1]), resource, container, 50).unwrap_err();
    assert_eq!(utilization("d", "cpu"), "container d not found in Pod p0");
    assert_eq!(utilization("c", "gpu"), "missing request for gpu in container c of Pod p0");
    assert_eq!(running(0).by_average(samples(&[1]), "", 5).unwrap_err(), NO_PODS);
}

#[test]
fn a_shared_value_is_divided_by_its_target_or_among_all() {
    assert_eq!(running(4).by_value(20_000, 10_000).unwrap().replicas, 8);
    assert_eq!(running(4).by_value(10_500, 10_000).unwrap().replicas, 4);
    assert_eq!(target(0, Vec::new()).by_value(20_000, 10_000).unwrap().replicas, 2);
    assert_eq!(running(4).by_share(60_000, 10_000), Proposal { replicas: 6, utilization: None, usage: 15_000 });
    assert_eq!(running(4).by_share(41_000, 10_000).replicas, 4);
    assert_eq!(running(1).by_value(i64::MAX, 1).unwrap().replicas, i32::MAX);
    assert_eq!(running(1).by_value(5, 0).unwrap().replicas, i32::MAX, "a target of nothing");
}
