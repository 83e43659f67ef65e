use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::Pod;
use coracle_meta::{ObjectKey, parse_time};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::Delays;
use crate::node::machine::{Line, Machine, Talk};
use crate::pod::container::{ContainerPhase, Exit};
use crate::pod::container_place::ContainerPlace;
use crate::pod::lifecycle::{PodStage, PodStep, Runtime, next};
use crate::pod::pod_context::PodContext;
use crate::pod::refusal::Share;
use crate::status::pod_status::pod_status;
use coracle_container_programs::{OutputLine, Transcript};

fn at(second: i64) -> Timestamp {
    parse_time("2026-01-01T00:00:00.25Z").unwrap() + jiff::SignedDuration::from_secs(second)
}

fn pod() -> Pod {
    serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "default", "uid": "u"},
        "spec": {
            "restartPolicy": "Always",
            "initContainers": [{"name": "first", "image": "i"}],
            "containers": [
                {"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}],
                 "resources": {"requests": {"cpu": "250m"}},
                 "readinessProbe": {"httpGet": {"port": 80}, "periodSeconds": 10}},
                {"name": "d", "image": "i"},
            ],
        },
    }))
    .unwrap()
}

/// A node with a pod of which one container is over, one backs off and one has said something.
fn saved() -> SavedNodes {
    let (pod, machine, key) = (pod(), Machine::new(3), ObjectKey::new("default", "web"));
    let mut runtime = Runtime::seen_at(&pod, at(0));
    runtime.stage = PodStage::Active;
    runtime.ip = machine.new_address(&[]);
    let exit = |code, second| Some(Exit { code, started: Some(at(1)), at: at(second), reason: Some("Why".to_owned()) });
    (runtime.init[0].state, runtime.init[0].exit) = (ContainerPhase::Ended, exit(0, 2));
    (runtime.main[0].state, runtime.main[0].restarts, runtime.main[0].crashes) = (ContainerPhase::BackingOff, 4, 4);
    (runtime.main[0].exit, runtime.main[0].readiness.at) = (exit(1, 9), Some(at(8)));
    (runtime.main[1].state, runtime.main[1].is_started, runtime.main[1].is_ready) =
        (ContainerPhase::Running, true, true);
    runtime.failure = Some(("Evicted".into(), "of no use".to_owned()));
    let line = Line { at: at(3), container: "c".to_owned(), restarts: 0, text: "said".to_owned() };
    machine.set(&key, "u", runtime, vec![line]);
    machine.take(&key, Share::of(&pod));
    machine.name(&key, "d", ContainerPlace::Main(1));
    let said =
        OutputLine { after: Duration::from_millis(1500), text: "hello".to_owned(), is_error: false, is_open: false };
    let transcript = Arc::new(Transcript { lines: vec![said], end: Some((Duration::from_secs(60), 3)) });
    machine.talk(&key, "d", Talk { restarts: 0, began: at(4), stopped: None, transcript });
    machine.cut_off(true);
    let node = SavedNode {
        has_power: true,
        is_stopped: false,
        obeyed: [(NodeSwitch::Partition, "true".to_owned())].into(),
        machine: machine.save(),
    };
    SavedNodes { nodes: [("node-1".to_owned(), node)].into() }
}

#[test]
fn what_was_saved_is_read_again_and_a_machine_made_of_it_holds_the_same() {
    let saved = saved();
    let read = SavedNodes::read(&saved.to_bytes()).unwrap();
    assert_eq!(read, saved);
    let machine = Machine::of(read.nodes["node-1"].machine.clone());
    assert_eq!(machine.save(), saved.nodes["node-1"].machine);
    assert_eq!((machine.address.as_str(), machine.is_cut_off()), ("172.18.0.5", true));
    let running = machine.pod(&ObjectKey::new("default", "web")).unwrap();
    assert_eq!(running.said("d", 0, at(90)).0[0].text, "hello");
    assert_eq!(machine.new_address(&[]).as_deref(), Some("10.128.12.2"), "the next after that which is taken");
}

/// The layout of version 1: whoever changes it makes another version.
#[test]
fn version_1_is_laid_out_so() {
    let written: Value = serde_json::from_slice(&saved().to_bytes()).unwrap();
    let (node, machine) = (&written["nodes"]["node-1"], &written["nodes"]["node-1"]["machine"]);
    let running = &machine["pods"][0]["running"];
    assert_eq!(written["version"], 1);
    assert_eq!(
        (&node["hasPower"], &node["isStopped"], &node["obeyed"]),
        (&json!(true), &json!(false), &json!({"Partition": "true"}))
    );
    let of_machine = [&machine["number"], &machine["lastAddress"], &machine["powerCuts"], &machine["volumes"]];
    assert_eq!(of_machine, [&json!(3), &json!(1), &json!(0), &json!([])]);
    assert_eq!(
        running["log"][0],
        json!({"at": "2026-01-01T00:00:03.25Z", "container": "c", "restarts": 0, "text": "said"})
    );
    assert_eq!(running["places"], json!({"d": {"Main": 1}}));
    assert_eq!(running["share"]["requests"], json!({"cpu": "250m"}));
    let talk = json!({"restarts": 0, "began": "2026-01-01T00:00:04.25Z", "stopped": null, "transcript": {
        "lines": [{"after": {"secs": 1, "nanos": 500_000_000}, "text": "hello", "isError": false, "isOpen": false}],
        "end": [{"secs": 60, "nanos": 0}, 3],
    }});
    assert_eq!(running["talks"]["d"], json!([talk]));
    let unheard = json!({"at": null, "isWell": false, "times": 0});
    let backing_off = json!({
        "state": "BackingOff", "since": "2026-01-01T00:00:00.25Z", "restarts": 4, "crashes": 4,
        "exit": {"code": 1, "started": "2026-01-01T00:00:01.25Z", "at": "2026-01-01T00:00:09.25Z", "reason": "Why"},
        "isStarted": false, "isReady": false, "startup": unheard, "liveness": unheard,
        "readiness": {"at": "2026-01-01T00:00:08.25Z", "isWell": false, "times": 0},
    });
    assert_eq!(running["runtime"]["main"][0], backing_off);
    assert_eq!(running["runtime"]["failure"], json!(["Evicted", "of no use"]));
}

#[test]
fn another_version_is_refused_by_name_whatever_else_is_in_it() {
    let refused = |text: &str| SavedNodes::read(text.as_bytes()).unwrap_err().to_string();
    let expected = "the nodes' state is of version 2, and this program reads version 1";
    assert_eq!(refused(r#"{"version": 2, "machines": []}"#), expected);
    assert!(refused(r#"{"version": "two"}"#).contains("version \"two\""));
    assert!(refused(r#"{"nodes": {}}"#).contains("missing field `version`"));
    assert!(refused(r#"{"version": 1, "nodes": {}, "more": 1}"#).contains("unknown field `more`"));
}

#[test]
fn what_no_machine_can_hold_is_refused() {
    let refused = |pointer: &str, value: Value| {
        let mut written: Value = serde_json::from_slice(&saved().to_bytes()).unwrap();
        *written.pointer_mut(&format!("/nodes/node-1/machine{pointer}")).unwrap() = value;
        SavedNodes::read(written.to_string().as_bytes()).unwrap_err().to_string()
    };
    let runtime = "/pods/0/running/runtime";
    assert!(
        refused(&format!("{runtime}/since"), json!("9999-12-30T00:00:00Z"))
            .contains("no time of the years 1970 to 2999")
    );
    assert!(
        refused(&format!("{runtime}/main/0/restarts"), json!(-1)).contains("pod default/web: a count of a container")
    );
    assert!(refused("/number", json!(u32::MAX)).contains("node node-1: a count of the machine"));
    let end = "/pods/0/running/talks/d/0/transcript/end";
    assert!(refused(end, json!([{"secs": u64::MAX, "nanos": 0}, 0])).contains("a thousand years"));
}

/// All places in a document, as pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, own)| places(own, &format!("{at}/{name}"), found)),
        Value::Array(items) => items.iter().enumerate().for_each(|(i, own)| places(own, &format!("{at}/{i}"), found)),
        _ => {}
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!({"Main": 99})),
        prop_oneof![
            "1970-01-01T00:00:00Z",
            "2999-12-31T23:59:59Z",
            "Running",
            "Waiting",
            "BackingOff",
            "Ended",
            "Stopping",
            "Starting",
            "\\PC{0,9}"
        ]
        .prop_map(Value::from),
    ]
}

/// Lets what was read go on for a while.
fn goes_on(saved: &SavedNodes) {
    let pod = pod();
    for node in saved.nodes.values() {
        let machine = Machine::of(node.machine.clone());
        let context = PodContext::of(&pod);
        let mut now = at(100);
        for key in machine.keys() {
            let running = machine.pod(&key).unwrap();
            let _ = (running.said("d", 0, now), machine.is_settled(&key, "u"), machine.taken());
            let mut runtime = running.runtime;
            for _ in 0..20 {
                let _ = pod_status(&pod, &runtime, &context, &machine.address, now);
                match next(&pod, Some(&runtime), &context, &Delays::default(), now) {
                    PodStep::Become(next) | PodStep::Changed(_, _, next) => runtime = *next,
                    PodStep::Wait(Some(left)) => {
                        now = now.saturating_add(left).unwrap_or(Timestamp::MAX).min(at(1 << 30))
                    }
                    PodStep::Wait(None) | PodStep::Remove => break,
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0..4000_usize) {
        let _ = SavedNodes::read(&bytes);
        let whole = saved().to_bytes();
        prop_assert!(SavedNodes::read(&whole[..cut.min(whole.len() - 1)]).is_err());
    }

    #[test]
    fn a_saved_state_changed_anywhere_is_refused_or_continues(changes in proptest::collection::vec((any::<prop::sample::Index>(), any_json()), 1..4)) {
        let mut written: Value = serde_json::from_slice(&saved().to_bytes()).unwrap();
        for (index, value) in changes {
            let mut all = Vec::new();
            places(&written, "", &mut all);
            *written.pointer_mut(index.get::<String>(&all)).unwrap() = value;
        }
        if let Ok(read) = SavedNodes::read(written.to_string().as_bytes()) {
            prop_assert_eq!(&SavedNodes::read(&read.to_bytes()).unwrap(), &read);
            goes_on(&read);
        }
    }
}
