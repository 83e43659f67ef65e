use coracle_lab::Lab;
use serde_json::{Value, json};

use crate::support::{WEB, error, opened, result, running_pods};

/// The message of an error, and its line; 0 without one.
fn said(lab: &mut Lab, message: &Value) -> (String, u64) {
    let error = error(lab, message);
    (error["message"].as_str().unwrap().to_owned(), error["line"].as_u64().unwrap_or_default())
}

#[test]
fn a_malformed_message_is_refused() {
    let mut lab = Lab::default();
    for (message, why) in [
        ("", "the message is no JSON object"),
        ("[]", "the message is no JSON object"),
        ("{}", "a message needs `do`"),
        (r#"{"do": 7}"#, "`do` of a message is a text, and not 7"),
        (r#"{"do": "opne"}"#, "unknown message `opne`"),
        (r#"{"do": "opne"}"#, "did you mean `open`?"),
        (r#"{"do": "open", "nodse": 2}"#, "open: unknown field `nodse`"),
        (r#"{"do": "open", "nodes": "many"}"#, "open: invalid type: string \"many\""),
        (r#"{"do": "open", "kubernetes": "1.12"}"#, "kubernetes: "),
        (r#"{"do": "open", "exercise": "selector-tpyo"}"#, "did you mean `selector-typo`?"),
        (r#"{"do": "open", "exercise": "selector-typo", "nodes": 1}"#, "an exercise has a cluster of its own"),
        (r#"{"do": "state"}"#, "there is no cluster `main`: open it first"),
        (r#"{"do": "lesson", "name": "who-leds"}"#, "did you mean `who-leads`?"),
        (r#"{"do": "run"}"#, "a run needs either `scenario`, the text of one, or `name`"),
        (r#"{"do": "run", "name": "late-wach"}"#, "did you mean `late-watch`?"),
    ] {
        let answer = String::from_utf8(lab.call(message)).unwrap();
        let error: Value = serde_json::from_str(&answer).unwrap();
        let found = error["error"]["message"].as_str().unwrap_or_else(|| panic!("{message}: {answer}"));
        assert!(found.contains(why), "{message}: {found}");
    }
}

#[test]
fn a_broken_scenario_is_refused_with_each_problem_and_its_place() {
    let mut lab = Lab::default();
    let head = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x}\n";
    let broken = format!("{head}spec: {{stepps: []}}\n");
    for verb in ["open", "run"] {
        let error = error(&mut lab, &json!({"do": verb, "scenario": broken, "path": "mine.yaml"}));
        assert_eq!((&error["file"], &error["line"], &error["column"]), (&json!("mine.yaml"), &json!(4), &json!(8)));
        assert!(error["message"].as_str().unwrap().contains("unknown field `stepps`"), "{error}");
    }
    let steps = "  - {name: a, try: [{stop: {component: scheduller}}]}\n  - {name: b, try: [{cordon: {nod: a}}]}\n";
    let two = format!("{head}spec:\n  steps:\n{}", steps.replace("cordon: {nod: a}", "kill: {component: kubelett}"));
    let error = error(&mut lab, &json!({"do": "open", "scenario": two}));
    let lines: Vec<u64> =
        error["problems"].as_array().unwrap().iter().map(|problem| problem["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [6, 7], "{error}");
}

#[test]
fn a_manifest_that_the_api_refuses_has_its_message_beside_the_line() {
    let mut lab = opened(7);
    let second = |text: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\n---\n{text}");
    let invalid = second(&WEB.replace("replicas: 3", "replicas: -1"));
    let error = error(&mut lab, &json!({"do": "apply", "manifest": invalid}));
    assert_eq!((&error["line"], &error["status"]["reason"]), (&json!(5), &json!("Invalid")), "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("Deployment.apps \"web\" is invalid: spec.replicas: Invalid value: -1"), "{message}");
    let map = result(&mut lab, &json!({"do": "request", "path": "/api/v1/namespaces/default/configmaps/a"}));
    assert_eq!(map["status"], 200, "the object before it is applied");
    for (manifest, line, why) in [
        (
            second("apiVersion: v1\nkind: Pood\nmetadata: {name: a}\n"),
            5,
            "no matches for kind \"Pood\" in version \"v1\"",
        ),
        (second("kind: Pod\n"), 5, "the object has no `apiVersion`"),
        (second("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndta: {}\n"), 5, "field not declared in schema"),
        (second("a: [\n"), 7, ""),
        (String::new(), 1, "the manifest has no object"),
    ] {
        let (found, at) = said(&mut lab, &json!({"do": "apply", "manifest": manifest}));
        assert!(found.contains(why), "{manifest}: {found}");
        assert!(at == line || why.is_empty() && at > 4, "{manifest}: line {at}");
    }
}

#[test]
fn a_step_a_fault_and_a_duration_are_refused_with_their_place() {
    let mut lab = opened(7);
    for (message, line, why) in [
        (json!({"do": "step", "step": "- cordon: {node: node-1}\n- delet: {}\n"}), 2, "did you mean `delete`?"),
        (
            json!({"do": "step", "step": "- stop: {node: node-9}\n"}),
            1,
            "unknown simulated node `node-9`; did you mean `node-1`?",
        ),
        (json!({"do": "fault", "faults": "# one\n- do: {kil: scheduler}\n"}), 2, "did you mean `kill`?"),
        (json!({"do": "heal", "name": "nothing"}), 0, "no fault has the number or the name `nothing`"),
        (json!({"do": "advance", "by": "soon"}), 0, "by: \"soon\" is no duration"),
        (json!({"do": "fork", "name": "main"}), 0, "a fork of `main` needs another name"),
        (json!({"do": "fork", "name": "b", "snapshot": "none"}), 0, "there is no snapshot `none`"),
        (json!({"do": "fork", "name": "b", "revision": 1_000_000}), 0, "revision"),
        (json!({"do": "verdict"}), 0, "the cluster was opened without an exercise"),
        (json!({"do": "console", "line": "kubectl get pods", "file": {}}), 0, "console: unknown field `file`"),
        (json!({"do": "complete", "line": 1}), 0, "complete: invalid type"),
        (json!({"do": "request", "path": "no path at all", "method": "GET"}), 0, "request: "),
    ] {
        let (found, at) = said(&mut lab, &message);
        assert!(found.contains(why) && at == line, "{message}: {found} at {at}");
    }
    assert!(running_pods(&mut lab, "main").is_empty(), "the cluster still answers");
}

#[test]
fn work_without_end_is_stopped_after_so_many_events_and_the_cluster_answers_again() {
    let mut lab = opened(7);
    let (found, _) = said(&mut lab, &json!({"do": "advance", "by": "1000h", "mostEvents": 500}));
    assert_eq!(found, "stopped after 500 events");
    result(&mut lab, &json!({"do": "apply", "manifest": WEB}));
    result(&mut lab, &json!({"do": "settle"}));
    assert_eq!(running_pods(&mut lab, "main").len(), 3);
}
