use std::path::Path;

use coracle_journal::Recorder;
use coracle_lab::Lab;
use coracle_scenario::{BuiltIn, Options, execute, parse};
use serde_json::{Value, json};

use crate::support::{answer, result};

/// The events file that a program writes.
fn native(name: &str, seed: u64) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (source, events) = (format!("scenarios/{name}.yaml"), folder.path().join("events.jsonl"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&source);
    let scenario = parse::read(&path, &BuiltIn::default()).unwrap();
    let options = Options { seed: Some(seed), ..Options::default() };
    let mut recorder = None;
    let report = execute(&scenario, &path, &options, |header| {
        recorder.insert(Recorder::file(&events, 1_000_000, header).unwrap()).clone()
    });
    recorder.unwrap().close().unwrap();
    assert!(report.unwrap().passed());
    std::fs::read(&events).unwrap()
}

#[test]
fn a_run_has_the_events_file_of_the_program() {
    for name in ["delete-a-pod", "lost-answer"] {
        let (answered, payload) = answer(&mut Lab::default(), &json!({"do": "run", "name": name, "seed": 7}));
        assert_eq!(
            (&answered["result"]["passed"], &answered["result"]["seed"]),
            (&json!(true), &json!(7)),
            "{answered}"
        );
        assert!(payload == native(name, 7), "{name}");
    }
}

#[test]
fn a_run_that_fails_says_what_was_expected() {
    let text = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x}\nspec:\n  cluster: {nodes: 0}\n  \
                steps: [{name: a pod, try: [{assert: {cel: pods.size() == 1, timeout: 5s}}]}]\n";
    let answered = result(&mut Lab::default(), &json!({"do": "run", "scenario": text}));
    assert_eq!((&answered["passed"], &answered["summary"]["outcome"]), (&json!(false), &json!("not-in-time")));
    assert!(answered["summary"]["failure"].is_object(), "{answered}");
}

#[test]
fn what_if_compares_a_run_with_the_same_run_and_a_step() {
    let mut lab = Lab::default();
    let (_, payload) = answer(&mut lab, &json!({"do": "run", "name": "delete-a-pod", "seed": 7}));
    let log = String::from_utf8(payload).unwrap();
    let begun = log.lines().position(|line| line.contains("\"step.start\"")).unwrap();
    let step = "create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: more}}}";
    let run = json!({"name": "delete-a-pod", "seed": 7});
    let (answered, payload) = answer(&mut lab, &json!({"do": "whatIf", "run": run, "at": begun, "step": step}));
    assert!(answered["result"]["same"].as_u64().unwrap() >= begun as u64, "{answered}");
    let data: Value = serde_json::from_slice(&payload).unwrap();
    assert!(data["was"]["entries"].is_array() && data["entries"].is_array());
    let (answered, _) = answer(&mut lab, &json!({"do": "whatIf", "run": run, "at": 10_000_000, "step": step}));
    assert!(answered["error"]["message"].as_str().unwrap().contains("the run has no event #10000000"), "{answered}");
}

#[test]
fn a_run_has_the_data_of_its_page_if_it_is_wanted() {
    let mut lab = Lab::default();
    let (_, log) = answer(&mut lab, &json!({"do": "run", "name": "delete-a-pod", "seed": 7}));
    let (answered, payload) = answer(&mut lab, &json!({"do": "run", "name": "delete-a-pod", "seed": 7, "page": true}));
    let page: Value = serde_json::from_slice(&payload).unwrap();
    let log = String::from_utf8(log).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ids: Vec<Value> = lines.filter_map(|line| line.get("i").cloned()).collect();
    let rows = page["entries"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>(), ids);
    assert_eq!(page["summary"], answered["result"]["summary"]);
    let error = crate::support::error(&mut lab, &json!({"do": "run", "name": "delete-a-pod", "pages": true}));
    assert!(error["message"].as_str().unwrap().starts_with("run: unknown field `pages`"), "{error}");
}

#[test]
fn the_list_names_the_releases_with_the_newest_first() {
    let list = result(&mut Lab::default(), &json!({"do": "list"}));
    let releases = list["releases"].as_array().unwrap();
    assert!(releases.len() > 1, "{releases:?}");
    let opened = result(&mut Lab::default(), &json!({"do": "open", "nodes": 0, "kubernetes": releases[1]}));
    assert_eq!(opened["kubernetes"], releases[1]);
    assert_eq!(result(&mut Lab::default(), &json!({"do": "open", "nodes": 0}))["kubernetes"], releases[0]);
}
