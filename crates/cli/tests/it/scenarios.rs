//! Every scenario passes, and what it records hangs together.

use std::collections::BTreeSet;
use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_journal::{Events, Stage};
use flate2::read::GzDecoder;

use crate::program::{Folder, coracle, repository, succeed, text};

#[test]
fn every_scenario_in_the_repository_passes_and_none_of_its_checks_is_vacuous() {
    let printed = succeed(coracle().args(["run", "--strict"]).arg(repository().join("scenarios")));
    let count = std::fs::read_dir(repository().join("scenarios")).unwrap().count();
    assert!(count >= 6);
    assert!(printed.contains(&format!("{count} scenarios, all passed")), "{printed}");
}

#[test]
fn an_unused_disturbance_exits_with_the_code_for_no_match() {
    let mut run = coracle();
    let run = run.args(["run", "--disturb", "kill@100000"]).arg(repository().join("scenarios/delete-a-pod.yaml"));
    let output = run.output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", text(&output));
    assert!(text(&output).contains("nothing matched: fault kill@100000"), "{}", text(&output));
}

#[test]
fn the_log_of_the_demo_has_every_stage_of_the_walk_and_names_causes_that_came_before() {
    let folder = Folder::new("log");
    let events = folder.join("events.jsonl");
    succeed(
        coracle().args(["run", "-q", "--events"]).arg(&events).arg(repository().join("scenarios/delete-a-pod.yaml")),
    );
    let log = Events::read(&events).unwrap();
    assert_eq!(log.header.scenario.as_deref(), Some("delete-a-pod"));
    let (mut seen, mut stages) = (BTreeSet::new(), BTreeSet::new());
    for entry in &log.entries {
        assert!(entry.causes.iter().all(|cause| seen.contains(cause)), "a cause that did not come before: {entry:?}");
        assert!(seen.insert(entry.id), "a number twice: {entry:?}");
        assert_eq!(entry.stage.broken_promise(&entry.data), None, "{entry:?}");
        stages.insert(entry.stage.word());
    }
    for stage in [
        "api.request",
        "api.respond",
        "store.commit",
        "watch.send",
        "reflector.list",
        "reflector.watch",
        "fifo.add",
        "fifo.pop",
        "cache.apply",
        "handler.call",
        "queue.add",
        "queue.get",
        "queue.done",
        "sync.start",
        "sync.write",
        "sync.end",
        "scheduler.pick",
        "kubelet.transition",
        "step.start",
        "step.end",
        "check.pass",
        "component.start",
    ] {
        assert!(stages.contains(stage), "no {stage} in the log");
    }
    let of = |stage| log.entries.iter().filter(move |entry| entry.stage == stage);
    let by_accounts = of(Stage::AdmissionChange).find(|entry| entry.data["plugin"] == "ServiceAccount").unwrap();
    assert!(
        by_accounts.data["paths"].as_array().unwrap().contains(&"spec.serviceAccountName".into()),
        "{by_accounts:?}"
    );
    for pick in of(Stage::SchedulerPick) {
        assert!(pick.data["scores"][pick.data["node"].as_str().unwrap()].is_u64(), "the node has a score: {pick:?}");
    }
    let steps = succeed(coracle().arg("story").arg(&events));
    assert!(steps.lines().count() < 60, "a line a step:\n{steps}");
    for part in ["scenario asks to delete pods/default/", "updates pods/default/", DECIDES, "picks node-"] {
        assert!(steps.contains(part), "no `{part}` in the story:\n{steps}");
    }
    let story = succeed(coracle().args(["story", "-v"]).arg(&events));
    for part in
        ["asks to delete pods/default/", "the key default/web is", "having read pods at", "picks node-", "only if"]
    {
        assert!(story.contains(part), "no `{part}` in the story:\n{story}");
    }
}

#[test]
fn scenarios_record_what_the_stages_promise_and_nothing_else() {
    let folder = Folder::new("promises");
    let events = folder.join("events.jsonl.gz");
    let mut stages = BTreeSet::new();
    for name in ["partition", "quota-exhausted", "conflict", "preemption", "node-stops", "protected-claim"] {
        let file = repository().join("scenarios").join(format!("{name}.yaml"));
        succeed(coracle().args(["run", "-q", "--events"]).arg(&events).arg(&file));
        let log = Events::read(&events).unwrap();
        let broken = log.entries.iter().filter_map(|entry| entry.stage.broken_promise(&entry.data));
        let broken: BTreeSet<String> = broken.collect();
        assert!(broken.is_empty(), "{}: {broken:?}", file.display());
        stages.extend(log.entries.iter().map(|entry| entry.stage));
    }
    // They call no webhooks, lose no history, and pass.
    let absent = [Stage::WebhookCall, Stage::WebhookAnswer, Stage::WatchExpired, Stage::CheckFail, Stage::StepSkip];
    for stage in Stage::ALL.iter().filter(|stage| !absent.contains(stage)) {
        assert!(stages.contains(stage), "no scenario records {stage}");
    }
}

#[test]
fn secret_data_is_in_no_events_file_and_no_report() {
    let folder = Folder::new("secret");
    let file = folder.join("secret.yaml");
    std::fs::write(&file, SECRET).unwrap();
    let names = ["e.jsonl", "r.json", "r.xml", "r.md", "r.perfetto.json", "r.html"].map(|name| folder.join(name));
    let mut run = coracle();
    run.args(["run", "-v"]).arg(&file).arg("--events").arg(&names[0]);
    for name in &names[1..] {
        run.arg("--report").arg(name);
    }
    let output = run.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    let mut told = vec![text(&output)];
    told.extend(names.iter().map(|name| std::fs::read_to_string(name).unwrap()));
    told.push(unpacked(&told[6]));
    for at in [1, 7] {
        assert!(
            told[at].contains("secrets/default/a") && told[at].contains("data.password"),
            "the Secret is in the log"
        );
    }
    for told in told {
        for mark in ["mark-5a17", "bWFyay01YTE3"] {
            let at = told.find(mark).map(|at| &told[at.saturating_sub(200)..at]);
            assert_eq!(at, None);
        }
    }
}

/// The run that lies in a page.
fn unpacked(page: &str) -> String {
    let (_, rest) = page.split_once("<script id=\"run\" type=\"application/octet-stream\">").unwrap();
    let gzip = STANDARD.decode(rest.split_once("</script>").unwrap().0).unwrap();
    let mut text = String::new();
    GzDecoder::new(&*gzip).read_to_string(&mut text).unwrap();
    text
}

/// A scenario that makes a Secret and, of three checks of what is in it, fails the last.
const SECRET: &str = "apiVersion: coracle.dev/v1alpha1
kind: Scenario
metadata: {name: secret}
spec:
  timeout: 1s
  steps:
  - name: a secret
    try:
    - apply:
        resource:
          apiVersion: v1
          kind: Secret
          metadata:
            name: a
            annotations: {kubectl.kubernetes.io/last-applied-configuration: 'data: bWFyay01YTE3'}
          stringData: {password: mark-5a17}
          data: {token: bWFyay01YTE3}
    - assert:
        resource: {apiVersion: v1, kind: Secret, metadata: {name: a}}
    - patch:
        resource: {apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {more: mark-5a17}}
    - assert:
        resource: {apiVersion: v1, kind: Secret, metadata: {name: a}, data: {more: bWFyay01YTE3}}
    - assert:
        resource: {apiVersion: v1, kind: Secret, metadata: {name: a}, data: {more: YQ==}}
";

#[test]
fn a_cut_a_foreign_and_a_newer_events_file_are_refused_with_their_line() {
    let folder = Folder::new("cut");
    let events = folder.join("events.jsonl");
    succeed(
        coracle().args(["run", "-q", "--events"]).arg(&events).arg(repository().join("scenarios/delete-a-pod.yaml")),
    );
    let whole = std::fs::read_to_string(&events).unwrap();
    let cut = &whole[..whole.len() / 2];
    let newer = whole.replacen("\"schema\":1", "\"schema\":2", 1);
    let cut_at = format!("line {}: it is cut here; expected", cut.lines().count());
    let refused =
        [(cut, &*cut_at), ("a: b\n", "line 1: expected {\"log\""), (&newer, "line 1: expected schema 1, found 2")];
    for (content, why) in refused {
        std::fs::write(&events, content).unwrap();
        let output = coracle().arg("diff").args([&events, &events]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output);
        assert!(said.contains(&*events.to_string_lossy()) && said.contains(why), "{said}");
    }
}

#[test]
fn a_report_is_written_as_its_name_ends_and_the_same_seed_writes_the_same() {
    let folder = Folder::new("report");
    let scenario = repository().join("scenarios/delete-a-pod.yaml");
    let names = ["a.json", "a.xml", "a.md", "a.perfetto.json", "a.html"];
    let write = || {
        let mut run = coracle();
        run.args(["run", "-q"]).arg(&scenario);
        for name in names {
            run.arg("--report").arg(folder.join(name));
        }
        succeed(&mut run);
        names.map(|name| std::fs::read_to_string(folder.join(name)).unwrap())
    };
    let written = write();
    assert!(written == write(), "the same seed wrote another report");
    let [json, junit, markdown, trace, page] = written;
    assert!(page.len() <= 500_000, "{} bytes", page.len());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["summary"]["outcome"], "passed");
    let checks = json["summary"]["checks"].as_array().unwrap();
    assert!(checks.iter().any(|check| check["throughout"] == true), "{checks:?}");
    assert_eq!(junit.matches("<testcase ").count(), checks.len(), "{junit}");
    assert!(markdown.contains("delete-a-pod ✓ passed"), "{markdown}");
    let trace: serde_json::Value = serde_json::from_str(&trace).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
    assert!(of("X") > 1_000 && of("s") > 1_000 && of("s") == of("f"), "{} {}", of("X"), of("s"));
    let refused = coracle().args(["run", "--report", "run.pdf"]).arg(&scenario).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused).contains("run.pdf: a report ends with"), "{}", text(&refused));
}

#[test]
fn why_prints_the_causes_of_objects_and_events_and_reports_unknown_ones() {
    let folder = Folder::new("why");
    let events = folder.join("e.jsonl");
    succeed(
        coracle()
            .args(["run", "-q"])
            .arg(repository().join("scenarios/delete-a-pod.yaml"))
            .arg("--events")
            .arg(&events),
    );
    let log = Events::read(&events).unwrap();
    let asked = log.entries.iter().find(|entry| {
        entry.stage.word() == "api.request"
            && entry.causes.is_empty()
            && entry.data.get("verb").is_some_and(|verb| verb == "delete")
    });
    let asked = format!("#{} ", asked.unwrap().id.0);
    let made = |entry: &&coracle_journal::Entry| {
        entry.stage.word() == "store.commit" && entry.subject.starts_with("pods/") && entry.data["op"] == "create"
    };
    let last = log.entries.iter().rfind(made).unwrap();
    let why = |about: &str| coracle().args(["why", about, "--events"]).arg(&events).output().unwrap();
    let told = text(&why(last.subject.trim_start_matches("pods/default/")));
    let first = told.lines().next().unwrap();
    assert!(first.contains(&format!("creates {}", last.subject)), "{told}");
    assert!(told.lines().last().unwrap().trim_start().starts_with(&asked), "a deletion set it off: {told}");
    assert!(told.contains(DECIDES), "{told}");
    assert_eq!(text(&why(&format!("#{}", last.id.0))), told);
    assert_eq!(why("pod/nobody").status.code(), Some(4));
}

/// What makes the pod that takes a deleted one's place.
const DECIDES: &str = "sync of default/web decides: want 3, see 2: create 1";

/// The rest of a scenario that goes on after it broke what has to hold.
const BROKEN_UNDER_WAY: &str = "  steps:
  - name: a pod runs
    try:
    - create:
        resource:
          apiVersion: v1
          kind: Pod
          metadata: {name: web}
          spec: {containers: [{name: web, image: nginx}]}
    - assert: {cel: \"pods.exists(p, has(p.status.phase) && p.status.phase == 'Running')\"}
  never: [{name: pods, cel: pods.size() > 0}]
";

#[test]
fn a_run_that_fails_names_the_line_that_makes_its_report_and_the_log_where_it_broke() {
    let folder = Folder::new("failing");
    let file = folder.join("no nodes.yaml");
    let head = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x}\nspec:\n";
    std::fs::write(&file, format!("{head}{BROKEN_UNDER_WAY}")).unwrap();
    let (events, report) = (folder.join("e.jsonl.gz"), folder.join("r.xml"));
    let run = |more: &[&std::ffi::OsStr]| {
        let output = coracle().args(["run", "--seed", "4"]).arg(&file).args(more).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        text(&output)
    };
    let said = run(&[]);
    assert!(said.contains(&format!("run '{}' --seed 4 --mode virtual --report x.html", file.display())), "{said}");
    run(&["--events".as_ref(), events.as_ref(), "--report".as_ref(), report.as_ref()]);
    let log = Events::read(&events).unwrap();
    let broken = log.entries.iter().position(|entry| entry.stage.word() == "check.fail").unwrap();
    let revision = log.entries[broken].revision;
    let newest = log.entries[..broken].iter().filter_map(|entry| entry.revision).max();
    assert!(newest <= revision.map(|revision| revision + 2), "it is said at once: {newest:?}, {revision:?}");
    assert!(log.entries[broken + 1..].iter().any(|entry| entry.revision > newest), "and not at the end");
    let junit = std::fs::read_to_string(&report).unwrap();
    let failure = "<failure type=\"failed\" message=\"expected never pods.size() &gt; 0, found pods.size() = 1\">";
    assert!(junit.contains(failure) && junit.contains("line 15 of the scenario"), "{junit}");
    assert!(said.contains(&format!(", {}:15\n", file.display())), "{said}");
}

#[test]
fn a_failure_names_its_line_and_the_steps_that_were_not_reached() {
    let folder = Folder::new("skipped");
    let (file, report) = (folder.join("skips.yaml"), folder.join("r.xml"));
    let text_of_file = "apiVersion: coracle.dev/v1alpha1
kind: Scenario
metadata: {name: skips}
spec:
  steps:
  - name: nothing comes
    try:
    - sleep: {duration: 1s}
    - assert: {cel: \"pods.size() == 1 && nodes.all(n, n.metadata.name == 'node-1')\", timeout: 2s}
  - name: a step after it
    try:
    - sleep: {duration: 1s}
";
    std::fs::write(&file, text_of_file).unwrap();
    let output = coracle().arg("run").arg(&file).arg("--report").arg(&report).output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("pods.size() = 0, nodes.filter(n, !(n.metadata.name == 'node-1')) = [node-2]"), "{said}");
    assert!(said.contains(&format!(", {}:9\n", file.display())), "{said}");
    assert!(said.contains("· a step after it") && said.contains("not reached"), "{said}");
    let junit = std::fs::read_to_string(&report).unwrap();
    assert!(junit.contains("tests=\"2\" failures=\"1\" skipped=\"1\""), "{junit}");
    assert!(junit.contains("name=\"a step after it\">\n      <skipped/>"), "{junit}");
}

#[test]
fn bad_input_is_refused_with_its_place_and_a_documented_exit_code() {
    let folder = Folder::new("bad");
    let file = folder.join("bad.yaml");
    let run = |content: &str| {
        std::fs::write(&file, content).unwrap();
        let output = coracle().arg("run").arg(&file).output().unwrap();
        (output.status.code(), text(&output))
    };
    let head = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x}\nspec:\n";
    let (code, said) = run(&format!("{head}  stesp: []\n"));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("bad.yaml:5:3") && said.contains("did you mean `steps`?"), "{said}");
    let (code, said) = run(&format!("{head}  steps: []\n  always: [{{name: a, cel: 'pods.size() =='}}]\n"));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("bad expression"), "{said}");
    let (code, said) = run(&format!(
        "{head}  timeout: 1s\n  steps: [{{name: never, try: [{{assert: {{cel: 'pods.size() == 7'}}}}]}}]\n"
    ));
    assert_eq!(code, Some(3), "{said}");
    let (code, said) = run(&format!("{head}  steps: []\n  never: [{{name: nodes, cel: 'nodes.size() > 0'}}]\n"));
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(coracle().args(["run", "/nowhere.yaml"]).output().unwrap().status.code(), Some(2));
    assert_eq!(coracle().arg("run").arg(folder.path().join("empty")).output().unwrap().status.code(), Some(2));
    assert_eq!(coracle().args(["up", "--nodes", "many"]).output().unwrap().status.code(), Some(2));
}
