use serde_json::json;

use crate::support::{answer, opened, result, running_pods, with_web};

#[test]
fn a_step_of_a_scenario_acts_on_the_running_cluster() {
    let mut lab = with_web(7);
    let before = running_pods(&mut lab, "main");
    let step = "delete: {ref: {apiVersion: v1, kind: Pod, labels: {app: web}}, pick: 1}";
    result(&mut lab, &json!({"do": "step", "step": step}));
    result(&mut lab, &json!({"do": "settle"}));
    let after = running_pods(&mut lab, "main");
    assert_eq!(after.len(), 3);
    assert_eq!(before.iter().filter(|name| !after.contains(name)).count(), 1, "{before:?} {after:?}");
}

#[test]
fn a_stopped_node_loses_its_pods() {
    let mut lab = with_web(7);
    result(&mut lab, &json!({"do": "step", "step": "stop: {node: node-1}"}));
    result(&mut lab, &json!({"do": "advance", "by": "15m"}));
    let nodes = result(&mut lab, &json!({"do": "request", "path": "/api/v1/nodes/node-1"}));
    let conditions = nodes["body"]["status"]["conditions"].as_array().unwrap();
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready").unwrap();
    assert_eq!(ready["status"], "Unknown");
    assert_eq!(running_pods(&mut lab, "main").len(), 3, "they run on the other node");
}

#[test]
fn faults_are_added_listed_and_healed() {
    let mut lab = with_web(7);
    let fault = "- name: slow scheduler\n  do: {lag: 1h, kind: Pod, to: scheduler}\n";
    let added = result(&mut lab, &json!({"do": "fault", "faults": fault}));
    assert_eq!(added["faults"][0]["name"], "slow scheduler");
    let path = "/apis/apps/v1/namespaces/default/deployments/web/scale";
    let scale = json!({"spec": {"replicas": 5}});
    let headers = json!({"content-type": "application/merge-patch+json"});
    let patched =
        result(&mut lab, &json!({"do": "request", "method": "PATCH", "path": path, "body": scale, "headers": headers}));
    assert_eq!(patched["status"], 200);
    result(&mut lab, &json!({"do": "advance", "by": "10m"}));
    assert_eq!(running_pods(&mut lab, "main").len(), 3, "the scheduler has not seen the new pods");
    assert_eq!(result(&mut lab, &json!({"do": "faults"}))["faults"][0]["state"], "active");
    result(&mut lab, &json!({"do": "heal", "name": "slow scheduler"}));
    result(&mut lab, &json!({"do": "settle"}));
    assert_eq!(running_pods(&mut lab, "main").len(), 5);
}

#[test]
fn the_steps_of_a_scenario_continue_as_time_passes() {
    let mut lab = opened(7);
    let listed = result(&mut lab, &json!({"do": "list"}));
    let scenarios = listed["scenarios"].as_array().unwrap();
    let text = scenarios.iter().find(|one| one["name"] == "cron-day").unwrap()["text"].clone();
    let opened = result(&mut lab, &json!({"do": "open", "scenario": text}));
    assert_eq!(opened["steps"], "waiting");
    assert_eq!(result(&mut lab, &json!({"do": "begin"}))["steps"], "running");
    assert!(answer(&mut lab, &json!({"do": "begin"})).0["error"].is_object(), "they begin once");
    for _ in 0..200 {
        if result(&mut lab, &json!({"do": "advance", "by": "1h"}))["steps"] == "taken" {
            return;
        }
    }
    panic!("{}", result(&mut lab, &json!({"do": "state"})));
}

#[test]
fn an_exercise_is_broken_and_its_verdict_shows_one_hint_more_each_time() {
    let mut lab = opened(7);
    result(&mut lab, &json!({"do": "open", "exercise": "cordoned-nodes"}));
    assert_eq!(result(&mut lab, &json!({"do": "begin", "wait": true}))["steps"], "taken");
    result(&mut lab, &json!({"do": "settle"}));
    let first = result(&mut lab, &json!({"do": "verdict"}));
    assert!(first["claims"].as_array().unwrap().iter().any(|claim| claim["holds"] == false), "{first}");
    assert_eq!(first["hints"].as_array().unwrap().len(), 1);
    assert_eq!(result(&mut lab, &json!({"do": "verdict"}))["hints"].as_array().unwrap().len(), 2);
    let nodes = result(&mut lab, &json!({"do": "request", "path": "/api/v1/nodes"}));
    for node in nodes["body"]["items"].as_array().unwrap() {
        let step = format!("uncordon: {{node: {}}}", node["metadata"]["name"].as_str().unwrap());
        result(&mut lab, &json!({"do": "step", "step": step}));
    }
    result(&mut lab, &json!({"do": "settle"}));
    let last = result(&mut lab, &json!({"do": "verdict"}));
    assert!(last["claims"].as_array().unwrap().iter().all(|claim| claim["holds"] == true), "{last}");
    assert!(!last["explanation"].as_str().unwrap().is_empty());
}
