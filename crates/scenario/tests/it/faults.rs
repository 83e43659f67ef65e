//! Faults of scenarios: what strikes, what stays as it is, and what is refused.

use std::path::Path;
use std::time::Duration;

use coracle_journal::{Entry, Recorder, Stage};
use coracle_scenario::{BuiltIn, Failure, Options, Outcome, Report, parse};
use coracle_sim::faults::{FAULTS, FaultKind, FaultTarget};

use crate::harness;

fn run(spec: &str) -> Report {
    harness::run_with(spec, &Options::default(), || Recorder::ring(1_000_000))
}

fn replica_set(name: &str) -> String {
    format!(
        "    - create:\n        resource:\n          apiVersion: apps/v1\n          kind: ReplicaSet\n          \
         metadata: {{name: {name}}}\n          spec:\n            replicas: 2\n            \
         selector: {{matchLabels: {{app: {name}}}}}\n            template:\n              \
         metadata: {{labels: {{app: {name}}}}}\n              spec: {{containers: [{{name: c, image: i}}]}}\n"
    )
}

/// A scenario in which a controller creates four pods, the last two in the step `struck`.
fn four_pods(faults: &str) -> String {
    let (first, second) = (replica_set("web"), replica_set("db"));
    format!(
        "{faults}  steps:\n  - name: begin\n    try:\n{first}    - sleep: {{duration: 5s}}\n  - name: struck\n    try:\n\
         {second}    - sleep: {{duration: 20s}}\n    - assert: {{timeout: 10m, cel: \"pods.filter(p, \
         !has(p.metadata.deletionTimestamp)).size() == 4\"}}\n"
    )
}

const CONTROLLER: &str = "by: 'system:serviceaccount:kube-system:replicaset-controller'";

/// The arguments with which a fault is tried.
fn arguments(word: &str) -> &'static [&'static str] {
    match word {
        "lose" => &["answer"],
        "slow" => &["2s", "{answer: 2s}"],
        "lag" => &["2s"],
        "refuse" => &["503"],
        "cut" | "stale" | "kill" | "pause" | "double" => &["controller-manager", "controller-manager/replicaset"],
        "skew" => &["{controller-manager: 30s}", "{controller-manager: -30s}", "{scheduler: 1h}"],
        "node" => &["{stop: node-1}", "{forget: node-1}"],
        "store" => &["kill", "full", "{slow: 1s}", "compact"],
        _ => &["{}"],
    }
}

/// Each kind of fault with a controller that creates pods, in the step `struck`. Watches are those of `reader`.
fn each_fault(reader: &str) -> Vec<(&'static str, String)> {
    let request = format!("{{step: struck, {CONTROLLER}, verb: create, resource: pods, name: 'db-*'");
    let fault = |kind: &FaultKind, argument: &str| {
        let (word, after) = (kind.word, "{step: struck, after: 100ms}");
        match (kind.target, word, argument) {
            (FaultTarget::Requests, ..) => format!("{{when: {request}}}, do: {{{word}: {argument}}}}}"),
            (FaultTarget::Requester, ..) => format!("{{when: {{step: struck}}, do: {{{word}: {argument}}}, for: 10s}}"),
            (FaultTarget::Watches, ..) => {
                format!("{{when: {{step: struck}}, do: {{{word}: {argument}, kind: Pod, to: {reader}}}, for: 10s}}")
            }
            (FaultTarget::OpenWatches, ..) => {
                format!("{{when: {{step: struck}}, do: {{{word}: {argument}, kind: Pod, to: {reader}}}}}")
            }
            (FaultTarget::Cluster, "kill", _) => {
                format!("{{when: {request}, moment: landed}}, do: {{{word}: {argument}}}}}")
            }
            (FaultTarget::Cluster, _, "compact") => format!("{{when: {after}, do: {{{word}: {argument}}}}}"),
            (FaultTarget::Cluster, ..) => format!("{{when: {after}, do: {{{word}: {argument}}}, for: 10s}}"),
        }
    };
    let written = |kind: &'static FaultKind| {
        arguments(kind.word)
            .iter()
            .map(move |argument| (kind.word, format!("  faults:\n  - {}\n", fault(kind, argument))))
    };
    FAULTS.iter().flat_map(written).collect()
}

fn is_of_a_fault(entry: &Entry) -> bool {
    matches!(entry.stage, Stage::FaultOn | Stage::FaultOff)
}

fn run_on(nodes: usize, spec: &str) -> Report {
    harness::run_on(nodes, spec, &Options::default(), || Recorder::ring(1_000_000))
}

#[test]
fn each_fault_strikes_and_changes_nothing_before() {
    let left_alone = [0, 1].map(|nodes| run_on(nodes, &four_pods("")));
    let apart = run_apart(&four_pods(""));
    for report in left_alone.iter().chain([&apart]) {
        assert!(report.passed(), "{}", report.block());
        assert!(!report.events().entries.iter().any(is_of_a_fault));
    }
    for (word, fault) in each_fault("controller-manager") {
        let nodes = usize::from(word == "node");
        // The wire alone can act on the watches of one controller, and nothing else on its tasks.
        let is_apart = fault.contains("controller-manager/") && !["kill", "double"].contains(&word);
        let left_alone = if is_apart { &apart } else { &left_alone[nodes] };
        strikes_alone(&fault, &run_on(nodes, &four_pods(&fault)), left_alone);
    }
    for (_, fault) in each_fault(APART).into_iter().filter(|(_, fault)| fault.contains(&format!("to: {APART}"))) {
        strikes_alone(&fault, &run(&four_pods(&fault)), &apart);
    }
}

/// A controller with informers of its own.
const APART: &str = "controller-manager/replicaset";

fn run_apart(spec: &str) -> Report {
    let cluster = format!("nodes: 0, ownInformers: [{APART}]");
    harness::run_in(&cluster, spec, &Options::default(), || Recorder::ring(1_000_000))
}

/// A fault strikes, and its run is the same before as without it.
fn strikes_alone(fault: &str, report: &Report, left_alone: &Report) {
    assert!(report.passed(), "{fault}: {}", report.block());
    assert!(report.checks.iter().any(|check| check.name.starts_with("fault ") && check.held), "{fault}");
    let entries = &report.events().entries;
    let began = entries.iter().position(is_of_a_fault).unwrap_or_else(|| panic!("{fault} is not in the log"));
    assert!(began > 100, "{fault} began at entry {began}");
    let before = left_alone.events().entries.iter().zip(&entries[..began]).find(|(one, other)| one != other);
    assert_eq!(before, None, "{fault} changed an entry before");
    assert!(left_alone.events().entries != *entries, "{fault} changed nothing");
    assert!(!entries[began].causes.is_empty(), "{fault} has no cause: {:?}", entries[began]);
}

#[test]
fn the_end_of_a_fault_is_in_the_log_after_its_time() {
    let (_, lag) = each_fault("controller-manager").into_iter().find(|(word, _)| *word == "lag").unwrap();
    let report = run(&four_pods(&lag));
    let of = |stage: Stage| report.events().entries.iter().find(|entry| entry.stage == stage).unwrap();
    let (on, off) = (of(Stage::FaultOn), of(Stage::FaultOff));
    assert_eq!(off.at - on.at, Duration::from_secs(10));
    assert_eq!(off.causes, [on.id]);
    assert_eq!(on.data["fault"], "lag: 2s, kind: Pod, to: controller-manager");
}

/// A scenario in which the user `scenario` creates two ConfigMaps.
fn two_maps(fault: &str) -> String {
    let create = |name: &str| {
        format!("    - create: {{resource: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}}}\n")
    };
    format!("  faults:\n  - {fault}\n  steps:\n  - name: a\n    try:\n{}{}", create("one"), create("two"))
}

const MAPS: &str = "by: scenario, verb: create, resource: configmaps";

fn failed(report: &Report) -> &Failure {
    match &report.outcome {
        Outcome::Failed(failure) => failure,
        other => panic!("{other:?}\n{}", report.block()),
    }
}

#[test]
fn a_sender_gets_the_error_of_its_fault() {
    for (fault, found) in [
        ("lose: request", "the connection was reset before the request was sent"),
        ("lose: answer", "the connection was reset before the answer came"),
        ("refuse: 500", "Internal error occurred"),
        ("refuse: 503", "the server is currently unable to handle the request"),
        ("refuse: 504", "Timeout: "),
    ] {
        let report = run(&two_maps(&format!("{{when: {{{MAPS}, nth: 2}}, do: {{{fault}}}}}")));
        let failure = failed(&report);
        assert!(failure.found.contains(found), "{fault}: {failure:?}");
        let subjects = report.events().entries.iter().filter(|entry| entry.stage == Stage::FaultOn);
        assert_eq!(subjects.map(|entry| entry.subject.clone()).collect::<Vec<_>>(), ["configmaps/default/two"]);
    }
}

#[test]
fn a_count_is_exact_and_a_client_retries_429() {
    let report = run(&two_maps(&format!("{{when: {{{MAPS}, nth: 2}}, do: {{refuse: 429}}, for: 3}}")));
    assert!(report.passed(), "{}", report.block());
    let struck = report.events().entries.iter().filter(|entry| entry.stage == Stage::FaultOn).count();
    assert_eq!(struck, 3);
    assert!(report.cluster_time >= Duration::from_secs(3), "{:?}", report.cluster_time);
}

#[test]
fn a_slow_request_is_as_late_as_the_fault_says() {
    let report = run(&two_maps(&format!("{{when: {{{MAPS}, name: two}}, do: {{slow: 7s}}}}")));
    assert!(report.passed(), "{}", report.block());
    assert_eq!(report.cluster_time.as_secs(), 7);
}

#[test]
fn a_fault_that_does_not_strike_says_how_near_it_came() {
    for (fault, found) in [
        (
            "{when: {by: scenario, verb: delete, resource: configmaps, name: one}, do: {lose: answer}}".to_owned(),
            "no request matched; 1 matched in all fields but one, the last of them: create configmaps default/one by scenario",
        ),
        (
            format!("{{when: {{{MAPS}, nth: 3}}, do: {{lose: answer}}}}"),
            "2 requests matched, and it waits for number 3",
        ),
        ("{when: {cel: 'nodes.size() == 3'}, do: {cut: scheduler}}".to_owned(), "its condition did not come"),
        ("{do: {hang: {}, kind: CronJob, to: csi-driver}}".to_owned(), "and there was no message for it to act on"),
    ] {
        let report = run(&two_maps(&fault));
        let Outcome::NothingMatched(failure) = &report.outcome else { panic!("{fault}: {:?}", report.outcome) };
        assert!(failure.found.contains(found), "{fault}: {failure:?}");
        assert!(!report.checks.iter().find(|check| check.name.starts_with("fault ")).unwrap().held);
    }
}

#[test]
fn a_step_causes_and_heals_a_fault() {
    let step = |heal: &str| {
        let create = "    - create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}\n";
        let fault = "    - fault: {name: no creates, when: {by: scenario, verb: create}, do: {refuse: 503}, for: 1h}\n";
        format!("  steps:\n  - name: a\n    try:\n{fault}{heal}{create}")
    };
    assert!(failed(&run(&step(""))).found.contains("unable to handle"));
    let Outcome::NothingMatched(healed) = run(&step("    - heal: {fault: no creates}\n")).outcome else {
        panic!("it was healed before it struck")
    };
    assert!(healed.found.starts_with("no request matched"), "{healed:?}");
}

#[test]
fn a_fault_begins_with_a_request_at_the_moment_that_it_names() {
    for moment in ["sent", "landed", "answered"] {
        let fault = format!("{{when: {{{MAPS}, name: one, moment: {moment}}}, do: {{cut: scenario}}}}");
        // The request with which it begins is carried out, and the next one is not.
        let failure = failed(&run(&two_maps(&fault))).clone();
        assert!(failure.found.contains("no route to host"), "{moment}: {failure:?}");
    }
}

/// The requests that create pods, from the step `struck` on.
fn creates(report: &Report) -> Vec<Entry> {
    let entries = &report.events().entries;
    let struck = entries.iter().position(|entry| entry.stage == Stage::StepStart && entry.data["name"] == "struck");
    let is_create = |entry: &&Entry| {
        let is_request = entry.stage == Stage::ApiRequest && entry.data["verb"] == "create";
        is_request && entry.subject.split('/').next() == Some("pods") && !entry.data.contains_key("subresource")
    };
    entries[struck.unwrap()..].iter().filter(is_create).cloned().collect()
}

/// The first stop of a component, and its first start after that.
fn stop_and_start(report: &Report, component: &str) -> (Entry, Entry) {
    let entries = &report.events().entries;
    let of = |stage: Stage, from: usize| {
        let place = entries[from..].iter().position(|entry| entry.stage == stage && entry.actor == component);
        from + place.unwrap_or_else(|| panic!("no {stage} of {component}"))
    };
    let stop = of(Stage::ComponentStop, 0);
    (entries[stop].clone(), entries[of(Stage::ComponentStart, stop)].clone())
}

#[test]
fn the_write_of_a_killed_component_lands_at_each_moment_and_the_component_starts_when_the_fault_ends() {
    for moment in ["sent", "landed", "answered"] {
        let when =
            format!("{{step: struck, {CONTROLLER}, verb: create, resource: pods, name: 'db-*', moment: {moment}}}");
        let report = run(&four_pods(&format!(
            "  requests:\n  - {{name: no pod is created twice, verb: create, resource: pods, by: \
             controller-manager/replicaset, count: 2, since: struck}}\n  faults:\n  - {{when: {when}, do: {{kill: \
             controller-manager}}, for: 7s}}\n"
        )));
        assert!(report.passed(), "{moment}: {}", report.block());
        let (stop, start) = stop_and_start(&report, "controller-manager");
        assert_eq!((stop.data["why"].as_str(), start.at - stop.at), (Some("killed"), Duration::from_secs(7)));
        let of = |stage: Stage| report.events().entries.iter().find(|entry| entry.stage == stage).unwrap();
        assert_eq!((&stop.causes, &start.causes), (&vec![of(Stage::FaultOn).id], &vec![of(Stage::FaultOff).id]));
        let created = creates(&report);
        assert!(created[0].at < start.at && created[1].at > start.at, "{moment}: it creates one pod before");
    }
}

#[test]
fn a_fault_of_a_part_that_does_not_run_has_not_struck() {
    let steps =
        "  steps:\n  - name: a\n    try:\n    - stop: {component: scheduler}\n    - fault: {do: {kill: scheduler}}\n";
    let Outcome::NothingMatched(failure) = run(steps).outcome else { panic!("the scheduler did not run") };
    assert!(failure.found.contains("there was nothing to act on: `scheduler` did not run"), "{failure:?}");
}

#[test]
fn a_full_store_refuses_writes_until_it_is_healed() {
    let create = "    - create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}\n";
    let steps = |heal: &str| {
        let fault = "    - fault: {name: no space, do: {store: full}}\n";
        format!("  steps:\n  - name: a\n    try:\n{fault}{heal}{create}")
    };
    let failure = failed(&run(&steps(""))).clone();
    assert!(failure.found.contains("database space exceeded"), "{failure:?}");
    let healed = run(&steps("    - heal: {fault: no space}\n"));
    assert!(healed.passed(), "{}", healed.block());
}

#[test]
fn a_slow_store_is_as_slow_as_the_fault_says() {
    let report = run(&two_maps("{do: {store: {slow: 2s}}}"));
    assert!(report.passed(), "{}", report.block());
    assert!(report.cluster_time >= Duration::from_secs(4), "{:?}", report.cluster_time);
}

#[test]
fn a_compacted_store_lets_the_watches_end_and_their_readers_list_again() {
    let listed = |report: &Report, from: usize| {
        let entries = &report.events().entries[from..];
        entries
            .iter()
            .filter(|entry| entry.stage == Stage::ReflectorList && entry.actor.starts_with("controller-manager"))
            .count()
    };
    let left_alone = run(&four_pods(""));
    let when = format!("{{step: struck, {CONTROLLER}, verb: create, resource: pods, name: 'db-*', moment: landed}}");
    let report = run(&four_pods(&format!("  faults:\n  - {{when: {when}, do: {{store: compact}}}}\n")));
    assert!(report.passed(), "{}", report.block());
    let began = report.events().entries.iter().position(is_of_a_fault).unwrap();
    assert_eq!(listed(&left_alone, began), 0);
    assert!(listed(&report, began) > 0, "no reader has listed again");
}

#[test]
fn two_instances_of_a_component_act_until_the_fault_ends() {
    let report = run(&four_pods("  faults:\n  - {when: {step: struck}, do: {double: controller-manager}, for: 10s}\n"));
    assert!(report.passed(), "{}", report.block());
    assert!(creates(&report).len() > 2, "only one of them has created pods");
    let stop = report.events().entries.iter().find(|entry| entry.stage == Stage::ComponentStop).cloned().unwrap();
    assert_eq!((stop.actor.as_str(), stop.data["why"].as_str()), ("controller-manager", Some("killed")));
}

#[test]
fn a_fault_of_one_node_leaves_the_other_node_alone() {
    let pod = |node: u32| {
        format!(
            "    - create: {{resource: {{apiVersion: v1, kind: Pod, metadata: {{name: on-{node}}}, spec: {{nodeName: \
             node-{node}, containers: [{{name: c, image: i}}]}}}}}}\n"
        )
    };
    let starts = |node: u32| {
        format!(
            "    - assert: {{cel: \"pods.exists(p, p.metadata.name == 'on-{node}' && p.status.phase == 'Running')\"}}\n"
        )
    };
    for (fault, seconds) in [
        ("lag: 8s, kind: Pod, to: kubelet/node-1", 8),
        ("hang: {}, kind: Pod, to: kubelet/node-1", 30),
        ("stale: kubelet/node-1", 30),
        ("pause: kubelet/node-1", 30),
        ("cut: kubelet/node-1", 30),
    ] {
        let (both, first, second) = (pod(1) + &pod(2), starts(1), starts(2));
        let report = run_on(
            2,
            &format!(
                "  faults:\n  - {{when: {{step: b}}, do: {{{fault}}}, for: 30s}}\n  steps:\n  - name: a\n    try:\n    \
                 - sleep: {{duration: 1s}}\n  - name: b\n    try:\n{both}{second}  - name: c\n    try:\n{first}"
            ),
        );
        assert!(report.passed(), "{fault}: {}", report.block());
        let step = |name: &str| {
            let starts = |entry: &&Entry| entry.stage == Stage::StepStart && entry.data["name"] == name;
            report.events().entries.iter().find(starts).unwrap().at
        };
        let last = report.events().entries.iter().map(|entry| entry.at).max().unwrap();
        assert!(step("c") - step("b") < Duration::from_secs(4), "{fault}: node-2 was late");
        let late = (last - step("b")).as_secs();
        assert!((seconds..seconds + 12).contains(&late), "{fault}: node-1 was {late} s late");
    }
}

#[test]
fn a_step_kills_and_starts_one_controller() {
    let set = replica_set("web");
    let steps = |start: &str| {
        format!(
            "  steps:\n  - name: a\n    try:\n    - kill: {{component: controller-manager/replicaset}}\n{set}    - sleep: \
             {{duration: 60s}}\n    - error: {{cel: 'pods.size() > 0'}}\n{start}    - assert: {{cel: 'pods.size() == 2'}}\n"
        )
    };
    let start = "    - start: {component: controller-manager/replicaset}\n";
    let started = run(&steps(start));
    assert!(started.passed(), "{}", started.block());
    let (stop, start) = stop_and_start(&started, "controller-manager/replicaset");
    assert_eq!((stop.data["why"].as_str(), start.at - stop.at), (Some("killed"), Duration::from_secs(60)));
    assert!(!run(&steps("")).passed());
    let twice = steps("    - kill: {component: controller-manager/replicaset}\n");
    assert!(failed(&run(&twice)).found.contains("`controller-manager/replicaset` does not run"));
}

#[test]
fn what_is_wrong_with_a_fault_is_refused_where_it_stands() {
    let head = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x}\nspec:\n  faults:\n  - ";
    for (fault, message) in [
        ("{do: {loose: answer}}", "x.yaml:6:11: unknown fault `loose`, expected one of lose, slow"),
        ("{do: {lose: everything}, when: {verb: get}}", "x.yaml:6:11: `lose`: expected `request` or `answer`"),
        ("{do: {lose: answer}}", "x.yaml:6:11: `lose` is a fault of requests: `when` needs"),
        (
            "{do: {refuse: 418}, when: {verb: update}}",
            "x.yaml:6:11: `refuse`: expected one of 409, 429, 500, 503 and 504",
        ),
        ("{do: {lag: 5s, verb: create}}", "x.yaml:6:20: `verb` does not apply: `lag` is a fault of watches"),
        ("{do: {lag: 5s, kind: Pood}}", "x.yaml:6:20: unknown kind `Pood`; did you mean `Pod`?"),
        ("{do: {cut: scheduller}}", "x.yaml:6:11: unknown requester `scheduller`; did you mean `scheduler`?"),
        (
            "{do: {stale: kubelet/nodw-1}}",
            "x.yaml:6:11: unknown requester `kubelet/nodw-1`; did you mean `kubelet/node-1`?",
        ),
        (
            "{do: {hang: {}, to: controller-manager/job-orphans}}",
            "x.yaml:6:21: `job-orphans` is a part of `controller-manager` without requests of its own",
        ),
        (
            "{do: {hang: {}, to: controller-manager/replicaset-controller}}",
            "x.yaml:6:21: unknown requester `controller-manager/replicaset-controller`; did you mean \
             `controller-manager/replicaset`?",
        ),
        (
            "{do: {pause: controller-manager/replicasett}}",
            "x.yaml:6:11: unknown component `controller-manager/replicasett`, expected one of controller-manager, \
             scheduler, csi-driver, kubelet, or a controller such as controller-manager/replicaset; did you mean \
             `controller-manager/replicaset`?",
        ),
        ("{when: {verb: get}, do: {slow: {request: 2s}}}", "x.yaml:6:30: `slow`: expected a duration or `{answer:"),
        ("{do: {close: {}}, for: 5s}", "x.yaml:6:28: `close` takes place at one moment"),
        ("{do: {hang: {}}, for: 3}", "x.yaml:6:27: `hang` is no fault of requests"),
        ("{do: {hang: {}}, for: soon}", "x.yaml:6:27: `soon` is not a duration"),
        ("{do: {hang: {}}, for: {until: never}}", "x.yaml:6:28: unknown step `never`"),
        ("{when: {step: b}, do: {hang: {}}}", "x.yaml:6:19: unknown step `b`, expected one of a"),
        ("{when: {verb: putt}, do: {slow: 1s}}", "x.yaml:6:19: unknown verb `putt`"),
        ("{when: {resource: podds}, do: {slow: 1s}}", "x.yaml:6:23: unknown resource `podds`; did you mean `pods`?"),
        ("{when: {verb: get, moment: later}, do: {cut: scheduler}}", "x.yaml:6:32: unknown moment `later`"),
        (
            "{when: {verb: get, moment: answered}, do: {lose: answer}}",
            "x.yaml:6:32: `lose` strikes when the request is landed",
        ),
        ("{when: {nth: 2}, do: {cut: scheduler}}", "x.yaml:6:12: `nth` and `moment` need"),
        ("{when: {cel: '#'}, do: {cut: scheduler}}", "x.yaml:6:18: bad expression: "),
        ("{do: {kill: schedular}}", "x.yaml:6:11: unknown component `schedular`, expected one of controller-manager"),
        ("{do: {kill: {}}}", "x.yaml:6:11: `kill`: expected the name of a component"),
        ("{do: {skew: {schedular: 30s}}}", "x.yaml:6:18: unknown component `schedular`, expected one of"),
        ("{do: {skew: {kubelet/node-7: 30s}}}", "x.yaml:6:18: unknown component `kubelet/node-7`, expected one of"),
        (
            "{do: {skew: {scheduler: soon}}}",
            "x.yaml:6:11: `skew`: \"soon\" is not a duration such as `500ms`, `30s` or `-5m`",
        ),
        ("{do: {skew: scheduler}}", "x.yaml:6:11: `skew`: expected `{COMPONENT: DURATION}`, found \"scheduler\""),
        (
            "{do: {skew: {controller-manager/cronjob: 30s}}}",
            "x.yaml:6:11: `skew`: `controller-manager/cronjob` has the clock of its process: use `controller-manager`",
        ),
        ("{do: {double: kubelet}}", "x.yaml:6:11: `double`: two kubelets would manage"),
        ("{do: {double: kubelet/node-1}}", "x.yaml:6:11: `double`: two kubelets would manage"),
        ("{do: {node: {stop: node-7}}}", "x.yaml:6:18: unknown simulated node `node-7`"),
        ("{do: {node: {halt: node-1}}}", "x.yaml:6:11: `node`: expected `{stop: NODE}` or `{forget: NODE}`"),
        ("{do: {store: burn}}", "x.yaml:6:11: `store`: expected `kill`, `full`, `compact` or"),
        ("{do: {store: {slow: often}}}", "x.yaml:6:11: `store`: \"often\" is not a duration"),
        ("{do: {store: compact}, for: 5s}", "x.yaml:6:33: `store` takes place at one moment"),
        ("{do: {kill: scheduler, kind: Pod}}", "x.yaml:6:28: `kind` does not apply: `kill` is a fault of one part"),
        ("{do: {kill: scheduler}, for: 3}", "x.yaml:6:34: `kill` is no fault of requests"),
        (
            "{when: {event: {kind: Pood}}, do: {cut: scheduler}}",
            "x.yaml:6:27: unknown kind `Pood`; did you mean `Pod`?",
        ),
        (
            "{when: {event: {kind: Pod, type: REMOVED}}, do: {cut: scheduler}}",
            "x.yaml:6:38: unknown type `REMOVED`, expected one of ADDED, MODIFIED, DELETED",
        ),
        ("{when: {event: {type: ADDED}}, do: {cut: scheduler}}", "x.yaml:6:21: missing field `kind`"),
        (
            "{when: {event: {kind: Pod, cel: 'pods.size() > 1'}}, do: {cut: scheduler}}",
            "x.yaml:6:37: bad expression: an event has `object` and `oldObject`, and not `pods`",
        ),
        (
            "{when: {event: {kind: Pod, cel: 'object.spec.nodename != \"\"'}}, do: {cut: scheduler}}",
            "x.yaml:6:37: bad expression: ",
        ),
        (
            "{when: {revision: 7, revisions: 7}, do: {cut: scheduler}}",
            "x.yaml:6:12: `revision` and `revisions` exclude",
        ),
        ("{when: {revision: 0}, do: {cut: scheduler}}", "x.yaml:6:23: "),
        ("{when: {verbs: get}, do: {cut: scheduler}}", "x.yaml:6:13: unknown field `verbs`"),
    ] {
        let text = format!("{head}{fault}\n  steps:\n  - name: a\n    try: []\n");
        let found = parse::parse(Path::new("x.yaml"), &text, &BuiltIn::default()).unwrap_err().to_string();
        assert!(found.starts_with(message), "{fault}: {found}");
    }
}

#[test]
fn a_heal_names_a_fault_or_a_node() {
    for (heal, message) in
        [("{fault: other}", "unknown name of a fault `other`"), ("{}", "needs either `node` or `fault`")]
    {
        let text = format!(
            "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: x}}\nspec:\n  steps:\n  - name: a\n    \
             try:\n    - heal: {heal}\n"
        );
        let found = parse::parse(Path::new("x.yaml"), &text, &BuiltIn::default()).unwrap_err().to_string();
        assert!(found.contains(message), "{heal}: {found}");
    }
}
