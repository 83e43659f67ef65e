//! Every scenario passes, and what it records hangs together.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::program::{Folder, coracle, repository, succeed, text};

#[test]
fn every_scenario_in_the_repository_passes() {
    let printed = succeed(coracle().arg("run").arg(repository().join("scenarios")));
    let count = std::fs::read_dir(repository().join("scenarios")).unwrap().count();
    assert!(count >= 6);
    assert!(printed.contains(&format!("{count} scenarios, all passed")), "{printed}");
}

#[test]
fn the_log_of_the_demo_has_every_stage_of_the_walk_and_names_causes_that_came_before() {
    let folder = Folder::new("log");
    let events = folder.join("events.jsonl");
    succeed(
        coracle().args(["run", "-q", "--events"]).arg(&events).arg(repository().join("scenarios/delete-a-pod.yaml")),
    );
    let log = std::fs::read_to_string(&events).unwrap();
    let (mut seen, mut stages) = (BTreeSet::new(), BTreeSet::new());
    for line in log.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        for cause in entry["c"].as_array().into_iter().flatten() {
            assert!(seen.contains(&cause.as_u64().unwrap()), "a cause that did not come before: {line}");
        }
        assert!(seen.insert(entry["i"].as_u64().unwrap()), "a number twice: {line}");
        stages.insert(entry["s"].as_str().unwrap().to_owned());
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
    let steps = succeed(coracle().arg("story").arg(&events));
    assert!(steps.lines().count() < 60, "a line a step:\n{steps}");
    for part in ["scenario asks to delete pods/default/", "updates pods/default/", "sync of default/web", "picks node-"]
    {
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
