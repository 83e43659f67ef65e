use super::*;
use std::time::Duration;

use coracle_container_programs::{World, run as run_program};
use serde_json::{Value, json};

fn start() -> Timestamp {
    parse_time("2026-01-01T00:00:00Z").unwrap()
}

fn delays() -> Delays {
    let second = Duration::from_secs(1);
    Delays { sandbox: second, start: second, init: second, ready: second, stop: second }
}

/// A pod with this specification; `annotations` are those of `coracle.dev`.
fn pod_with(spec: Value, annotations: &[(&str, &str)]) -> Pod {
    let mut pod: Pod = serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap();
    if pod.spec.restart_policy.is_empty() {
        pod.spec.restart_policy = "Always".to_owned();
    }
    for (name, value) in annotations {
        pod.metadata.annotations.insert(format!("coracle.dev/{name}"), (*value).to_owned());
    }
    pod
}

fn pod(annotations: &[(&str, &str)]) -> Pod {
    pod_with(json!({"containers": [{"name": "c", "image": "i"}]}), annotations)
}

/// Lets the pod live from `runtime` on until it rests or is removed; tells where it was and since when.
fn live(pod: &Pod, runtime: &mut Option<Runtime>, until: i64) -> Vec<(i64, String)> {
    let mut now = runtime.as_ref().map_or(start(), |runtime| {
        let changed = runtime.places().filter_map(|place| runtime.container(place)).map(|own| own.since);
        changed.chain([runtime.since]).max().unwrap()
    });
    let mut words: Vec<(i64, String)> = Vec::new();
    for _ in 0..400 {
        let context = PodContext::of(pod);
        match next(pod, runtime.as_ref(), &context, &delays(), now) {
            PodStep::Become(next) | PodStep::Changed(_, _, next) => {
                let word = next.word(pod);
                if words.last().is_none_or(|(_, last)| *last != word) {
                    words.push((now.duration_since(start()).as_secs(), word));
                }
                *runtime = Some(*next);
            }
            PodStep::Wait(Some(left)) if now.duration_since(start()).as_secs() < until => now += left,
            PodStep::Wait(_) | PodStep::Remove => break,
        }
    }
    words
}

fn told(words: &[(i64, String)]) -> Vec<(i64, &str)> {
    words.iter().map(|(at, word)| (*at, word.as_str())).collect()
}

fn deleted(mut pod: Pod) -> Pod {
    pod.metadata.deletion_timestamp = Some("2026-01-01T00:01:00Z".to_owned());
    pod.metadata.deletion_grace_period_seconds = Some(30);
    pod
}

#[test]
fn a_pod_starts_step_by_step_and_becomes_ready() {
    let spec = json!({"initContainers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}],
        "containers": [{"name": "c", "image": "i"}]});
    let words = live(&pod_with(spec, &[]), &mut None, 100);
    assert_eq!(
        told(&words),
        [
            (0, "Starting"),
            (1, "Sandbox"),
            (2, "Initializing(0)"),
            (3, "Sandbox"),
            (3, "Initializing(1)"),
            (4, "Sandbox"),
            (4, "Running"),
            (5, "Ready")
        ]
    );
}

#[test]
fn a_deleted_pod_stops_and_then_its_object_goes() {
    let mut runtime = None;
    live(&pod(&[]), &mut runtime, 100);
    let pod = deleted(pod(&[]));
    assert_eq!(told(&live(&pod, &mut runtime, 100)), [(2, "Stopping"), (3, "Ended")]);
    assert!(runtime.as_ref().unwrap().succeeded());
    assert_eq!(next(&pod, runtime.as_ref(), &PodContext::of(&pod), &delays(), start()), PodStep::Remove);
}

#[test]
fn a_pod_that_does_not_heed_the_request_is_killed_after_its_grace_period() {
    let mut runtime = None;
    live(&pod(&[("stop", "false")]), &mut runtime, 100);
    let pod = deleted(pod(&[("stop", "false")]));
    assert_eq!(told(&live(&pod, &mut runtime, 100)), [(2, "Stopping"), (32, "Ended")]);
    assert_eq!(runtime.unwrap().main[0].exit.as_ref().unwrap().code, 137);
}

#[test]
fn a_container_sleeps_before_it_is_asked_to_stop_but_not_beyond_the_grace_period() {
    for (sleeps, ends, code) in [(10, 13, 0), (60, 32, 137)] {
        let hook = json!({"preStop": {"sleep": {"seconds": sleeps}}});
        let pod = pod_with(json!({"containers": [{"name": "c", "image": "i", "lifecycle": hook}]}), &[]);
        let mut runtime = None;
        live(&pod, &mut runtime, 100);
        assert_eq!(told(&live(&deleted(pod), &mut runtime, 100)), [(2, "Stopping"), (ends, "Ended")]);
        assert_eq!(runtime.unwrap().main[0].exit.as_ref().unwrap().code, code);
    }
}

/// When a container of the pod began to run, up to a moment.
fn starts(pod: &Pod, until: i64) -> Vec<i64> {
    let words = live(pod, &mut None, until);
    words.iter().filter(|(_, word)| word == "Running").map(|(at, _)| *at).collect()
}

#[test]
fn a_container_that_ends_is_started_again_at_once_then_after_pauses_that_double() {
    let pod = pod(&[("exit-code", "1")]);
    assert_eq!(starts(&pod, 60)[..4], [2, 2, 12, 32]);
}

#[test]
fn one_container_is_started_again_while_the_others_run() {
    let spec = json!({"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]});
    let mut runtime = None;
    live(&pod_with(spec, &[("b.exit-code", "1"), ("b.exit-after", "5s")]), &mut runtime, 30);
    let runtime = runtime.unwrap();
    assert_eq!((runtime.main[0].restarts, runtime.main[0].state), (0, ContainerPhase::Running));
    assert!(runtime.main[1].restarts >= 2, "{runtime:?}");
}

#[test]
fn the_restart_policy_decides_whether_an_end_is_for_good() {
    let ends = |policy: &str, code: &str| {
        let mut pod = pod(&[("exit-code", code), ("exit-after", "5s")]);
        pod.spec.restart_policy = policy.to_owned();
        let mut runtime = None;
        live(&pod, &mut runtime, 8);
        let runtime = runtime.unwrap();
        (runtime.stage == PodStage::Ended, runtime.succeeded())
    };
    assert_eq!(ends("Never", "0"), (true, true));
    assert_eq!(ends("Never", "2"), (true, false));
    assert_eq!(ends("OnFailure", "0"), (true, true));
    assert_eq!(ends("OnFailure", "2"), (false, false));
    assert_eq!(ends("Always", "0"), (false, false));
}

#[test]
fn a_container_may_say_for_itself_when_it_is_started_again() {
    let rules = json!([{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]);
    let restarts = |code: &str, own: Value| {
        let mut container = json!({"name": "c", "image": "i"});
        container.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        let pod = pod_with(json!({"restartPolicy": "Never", "containers": [container]}), &[("exit-code", code)]);
        let mut runtime = None;
        live(&pod, &mut runtime, 8);
        runtime.unwrap().stage != PodStage::Ended
    };
    assert!(restarts("42", json!({"restartPolicy": "Never", "restartPolicyRules": rules.clone()})));
    assert!(!restarts("41", json!({"restartPolicy": "Never", "restartPolicyRules": rules})));
    assert!(restarts("1", json!({"restartPolicy": "Always"})));
}

#[test]
fn an_init_container_that_fails_is_tried_again_or_fails_the_pod() {
    let spec = |policy: &str| {
        json!({"restartPolicy": policy, "initContainers": [{"name": "init", "image": "i"}],
            "containers": [{"name": "c", "image": "i"}]})
    };
    let mut runtime = None;
    live(&pod_with(spec("Never"), &[("init.exit-code", "1")]), &mut runtime, 30);
    let failed = runtime.unwrap();
    assert!(failed.stage == PodStage::Ended && !failed.succeeded() && !failed.main[0].has_run());
    let mut runtime = None;
    live(&pod_with(spec("Always"), &[("init.exit-code", "1")]), &mut runtime, 30);
    let tried = runtime.as_ref().unwrap();
    assert!(tried.init[0].restarts >= 2 && !tried.main[0].has_run());
    live(&pod_with(spec("Always"), &[]), &mut runtime, 200);
    assert_eq!(runtime.unwrap().main[0].state, ContainerPhase::Running);
}

#[test]
fn a_sidecar_starts_before_the_others_outlives_them_and_stops_last() {
    let spec = json!({"restartPolicy": "Never",
        "initContainers": [{"name": "s", "image": "i", "restartPolicy": "Always"}, {"name": "init", "image": "i"}],
        "containers": [{"name": "c", "image": "i"}]});
    let pod = pod_with(spec, &[("exit-code", "0"), ("exit-after", "10s")]);
    let mut runtime = None;
    live(&pod, &mut runtime, 4);
    let begun = runtime.clone().unwrap();
    assert!(begun.init[0].since < begun.main[0].since && begun.init[0].state == ContainerPhase::Running);
    live(&pod, &mut runtime, 100);
    let ended = runtime.unwrap();
    assert!(ended.succeeded(), "{ended:?}");
    let at = |own: &ContainerRuntime| own.exit.as_ref().unwrap().at;
    assert!(at(&ended.init[0]) > at(&ended.main[0]));
}

#[test]
fn probes_ask_in_their_rhythm_and_count() {
    let probe = json!({"httpGet": {"port": 80}, "periodSeconds": 2, "failureThreshold": 3});
    let container = |name: &str| json!({"containers": [{"name": "c", "image": "i", name: probe.clone()}]});
    // Begins at 2, is asked at once and at 4 and 6, and is then started again.
    assert_eq!(starts(&pod_with(container("livenessProbe"), &[("live", "false")]), 7)[..2], [2, 6]);
    assert_eq!(starts(&pod_with(container("startupProbe"), &[("started", "false")]), 7)[..2], [2, 6]);
    let mut runtime = None;
    let ready = pod_with(container("readinessProbe"), &[]);
    assert_eq!(told(&live(&ready, &mut runtime, 20)).last(), Some(&(2, "Ready")));
    let unready = pod_with(container("readinessProbe"), &[("ready", "false")]);
    let lost = live(&unready, &mut runtime, 20);
    assert_eq!(lost.last().map(|(_, word)| word.as_str()), Some("Running"));
}

#[test]
fn a_deadline_ends_a_pod_whatever_it_does() {
    let mut pod = pod(&[("start", "false")]);
    pod.spec.active_deadline_seconds = Some(20);
    let mut runtime = None;
    assert_eq!(told(&live(&pod, &mut runtime, 100)), [(0, "Starting"), (20, "Ended")]);
    assert_eq!(runtime.unwrap().failure.unwrap().0, "DeadlineExceeded");
}

#[test]
fn a_pod_that_runs_already_is_found_running() {
    let mut pod = pod(&[]);
    pod.status = serde_json::from_value(json!({"phase": "Running", "podIP": "10.1.2.3", "containerStatuses": [
        {"name": "c", "ready": true, "restartCount": 2, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]}))
    .unwrap();
    let mut runtime = None;
    assert_eq!(told(&live(&pod, &mut runtime, 100)), [(0, "Ready")]);
    let runtime = runtime.unwrap();
    assert_eq!((runtime.ip.as_deref(), runtime.main[0].restarts), (Some("10.1.2.3"), 2));
}

#[test]
fn an_object_that_finalizers_hold_is_removed_once() {
    let mut pod = deleted(pod(&[]));
    pod.metadata.finalizers = vec!["example.com/hold".to_owned()];
    let ended = Runtime { stage: PodStage::Ended, ..Runtime::seen_at(&pod, start()) };
    let step = |pod: &Pod| next(pod, Some(&ended), &PodContext::of(pod), &delays(), start());
    assert_eq!(step(&pod), PodStep::Remove);
    pod.metadata.deletion_grace_period_seconds = Some(0);
    assert_eq!(step(&pod), PodStep::Wait(None));
}

#[test]
fn an_image_that_is_nowhere_is_asked_for_again_after_pauses_and_found_when_it_is_there() {
    let mut runtime = None;
    live(&pod(&[("image", "missing")]), &mut runtime, 100);
    let held = runtime.as_ref().unwrap();
    assert!(matches!(held.main[0].state, ContainerPhase::Held(_)) && held.main[0].crashes >= 3, "{held:?}");
    live(&pod(&[]), &mut runtime, 500);
    assert_eq!(runtime.unwrap().main[0].state, ContainerPhase::Running);
}

#[test]
fn what_a_program_ends_with_is_what_its_container_ends_with() {
    let pod = pod_with(json!({"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}), &[]);
    let script = ["sh", "-c", "sleep 7; exit 3"].map(str::to_owned);
    let mut context = PodContext::of(&pod);
    context.transcripts.insert("c".to_owned(), std::sync::Arc::new(run_program(&script, &World::default(), start())));
    let (mut runtime, mut now) = (None, start());
    loop {
        match next(&pod, runtime.as_ref(), &context, &delays(), now) {
            PodStep::Become(next) | PodStep::Changed(_, _, next) => runtime = Some(*next),
            PodStep::Wait(Some(left)) => now += left,
            PodStep::Wait(None) | PodStep::Remove => break,
        }
    }
    let exit = runtime.unwrap().main[0].exit.clone().unwrap();
    assert_eq!((exit.code, exit.at.duration_since(exit.started.unwrap()).as_secs()), (3, 7));
}
