use coracle_lab::Lab;
use serde_json::json;

use crate::support::{WEB, error, result};

#[test]
fn a_line_of_the_console_runs_in_the_time_of_the_cluster() {
    let mut lab = Lab::default();
    let opened = result(&mut lab, &json!({"do": "open", "nodes": 2, "seed": 7}));
    let line = json!({"do": "console", "line": "kubectl apply -f web.yaml", "files": {"web.yaml": WEB}});
    let applied = result(&mut lab, &line);
    assert_eq!((&applied["stdout"], &applied["code"]), (&json!("deployment.apps/web created\n"), &json!(0)));
    let waited = result(&mut lab, &json!({"do": "console", "line": "kubectl rollout status deployment/web"}));
    let said = waited["stdout"].as_str().unwrap();
    assert!(said.ends_with("deployment \"web\" successfully rolled out\n"), "{said}");
    assert!(waited["now"].as_str() > opened["now"].as_str());
    let missing = result(&mut lab, &json!({"do": "console", "line": "get pod nothing"}));
    let refused = "Error from server (NotFound): pods \"nothing\" not found\n";
    assert_eq!((&missing["stderr"], &missing["code"]), (&json!(refused), &json!(1)));
    let from_input = result(&mut lab, &json!({"do": "console", "line": "apply -f -", "stdin": WEB}));
    assert_eq!(from_input["stdout"], "deployment.apps/web unchanged\n");
}

#[test]
fn a_line_is_completed_at_its_cursor() {
    let mut lab = Lab::default();
    result(&mut lab, &json!({"do": "open", "nodes": 2, "seed": 7}));
    let completed = result(&mut lab, &json!({"do": "complete", "line": "kubectl describe node no"}));
    assert_eq!(completed, json!({"from": 22, "candidates": ["node-1", "node-2"]}));
    let inside = result(&mut lab, &json!({"do": "complete", "line": "kubectl scal web", "cursor": 12}));
    assert_eq!(inside, json!({"from": 8, "candidates": ["scale"]}));
}

#[test]
fn a_line_needs_a_cluster() {
    let refused = error(&mut Lab::default(), &json!({"do": "console", "line": "get pods"}));
    assert!(refused["message"].as_str().unwrap().contains("there is no cluster"), "{refused}");
}
