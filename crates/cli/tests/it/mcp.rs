//! `coracle mcp`: an agent starts clusters and exercises, repairs them and is graded, over JSON-RPC on standard input
//! and output.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::mcp_client::Mcp;
use crate::program::repository;

const WEB: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'nginx:1.29'}]}
";

/// Applies a Deployment of three pods, waits for them, and returns their names.
fn pods_of_web(mcp: &mut Mcp) -> String {
    let applied = mcp.call("apply", json!({"manifests": WEB}));
    assert_eq!(applied["applied"][0]["result"], "created", "{applied}");
    let ready = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "status": {"readyReplicas": 3}});
    mcp.call("wait", json!({"object": ready}));
    mcp.text("get", json!({"resource": "po", "selector": "app=web", "output": "name"}))
}

/// Whether the cluster of the exercise is repaired.
fn is_repaired(mcp: &mut Mcp) -> bool {
    mcp.call("check_exercise", json!({}))["repaired"].as_bool().unwrap()
}

#[test]
fn each_tool_has_a_description_a_schema_and_a_row_in_the_document_for_agents() {
    let mut mcp = Mcp::start();
    let listed = mcp.ask("tools/list", &json!({}));
    let document = std::fs::read_to_string(repository().join("docs/agents.md")).unwrap();
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(tools.len() >= 17, "{listed}");
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        assert!(tool["description"].as_str().is_some_and(|about| about.ends_with('.')), "{tool}");
        let schema = &tool["inputSchema"];
        assert_eq!((&schema["type"], &schema["$ref"]), (&json!("object"), &Value::Null), "{name}");
        for (argument, described) in schema["properties"].as_object().into_iter().flatten() {
            assert!(described["description"].is_string(), "{name}: {argument}: {described}");
        }
        assert!(document.contains(&format!("| `{name}` | ")), "docs/agents.md has no row of `{name}`");
    }
    assert!(mcp.end().success());
}

#[test]
fn an_exercise_is_checked_repaired_and_reset() {
    let mut mcp = Mcp::start();
    let started = mcp.call("start_exercise", json!({"name": "selector-typo"}));
    assert!(started["exercise"]["report"].as_str().unwrap().contains("times out"), "{started}");
    assert_eq!(started["time"], "stepped");
    let broken = mcp.call("check_exercise", json!({"hints": true}));
    assert_eq!((&broken["repaired"], broken["hints"].as_array().unwrap().len()), (&json!(false), 1), "{broken}");
    assert!(mcp.text("get", json!({"resource": "service", "name": "shop", "output": "yaml"})).contains("app: shpo"));
    mcp.call("patch", json!({"resource": "service", "name": "shop", "patch": {"spec": {"selector": {"app": "shop"}}}}));
    assert_eq!(mcp.call("settle", json!({}))["settled"], true);
    let repaired = mcp.call("check_exercise", json!({}));
    assert_eq!((&repaired["repaired"], &repaired["hints"]), (&json!(true), &Value::Null), "{repaired}");
    assert!(repaired["explanation"].as_str().unwrap().contains("EndpointSlice"), "{repaired}");
    mcp.call("reset", json!({}));
    assert!(!is_repaired(&mut mcp));
    assert_eq!(mcp.call("stop_cluster", json!({}))["stopped"], true);
}

#[test]
fn each_exercise_starts_broken() {
    let mut mcp = Mcp::start();
    let listed = mcp.call("list_exercises", json!({}));
    let exercises = listed["exercises"].as_array().unwrap();
    assert_eq!(exercises.len(), std::fs::read_dir(repository().join("exercises")).unwrap().count());
    for exercise in exercises {
        mcp.call("start_exercise", json!({"name": exercise["name"]}));
        let verdict = mcp.call("check_exercise", json!({}));
        assert_eq!(verdict["repaired"], false, "{verdict}");
        mcp.call("stop_cluster", json!({}));
    }
}

#[test]
fn what_was_broken_before_a_snapshot_stays_broken_after_a_reset_to_it() {
    let mut mcp = Mcp::start();
    mcp.call("start_exercise", json!({"name": "cordoned-nodes"}));
    let pods = mcp.text("get", json!({"resource": "pods", "output": "name", "field_selector": "status.phase=Running"}));
    for pod in pods.lines() {
        mcp.call("delete", json!({"resource": "pods", "name": pod.strip_prefix("pods/").unwrap()}));
    }
    mcp.call("settle", json!({}));
    mcp.call("snapshot", json!({"name": "later"}));
    let repair = |mcp: &mut Mcp| {
        for node in ["node-1", "node-2"] {
            mcp.call("patch", json!({"resource": "node", "name": node, "patch": {"spec": {"unschedulable": null}}}));
        }
        mcp.call("settle", json!({}));
    };
    mcp.call("reset", json!({"snapshot": "later"}));
    repair(&mut mcp);
    assert!(!is_repaired(&mut mcp), "fewer than two pods ran");
    mcp.call("reset", json!({}));
    repair(&mut mcp);
    assert!(is_repaired(&mut mcp));
}

#[test]
fn the_same_seed_and_the_same_calls_give_the_same_names_also_after_a_reset() {
    let episode = |seed: u64| {
        let mut mcp = Mcp::start();
        mcp.call("start_cluster", json!({"seed": seed}));
        let first = pods_of_web(&mut mcp);
        assert_eq!(first.lines().count(), 3, "{first}");
        mcp.call("reset", json!({}));
        (first, pods_of_web(&mut mcp))
    };
    let seven = episode(7);
    assert_eq!(episode(7), seven);
    assert_ne!(episode(8).0, seven.0);
    assert_ne!(seven.0, seven.1, "no uid is given twice");
}

#[test]
fn errors_of_the_api_are_errors_of_the_tool_with_its_message() {
    let mut mcp = Mcp::start();
    let (message, _) = mcp.refused("get", json!({"resource": "pods"}));
    assert!(message.contains("call start_cluster"), "{message}");
    mcp.call("start_cluster", json!({"nodes": 1}));
    let (message, _) = mcp.refused("start_cluster", json!({}));
    assert!(message.contains("a cluster runs already"), "{message}");
    let (message, status) = mcp.refused("delete", json!({"resource": "pods", "name": "none"}));
    assert_eq!(message, "pods \"none\" not found");
    assert_eq!((&status["reason"], &status["code"]), (&json!("NotFound"), &json!(404)));
    let wrong = WEB.replace("replicas: 3", "replicas: -1");
    let (message, status) = mcp.refused("apply", json!({"manifests": wrong}));
    assert!(message.starts_with("manifests:1: Deployment.apps \"web\" is invalid: spec.replicas"), "{message}");
    assert_eq!(status["reason"], "Invalid");
    let (message, _) = mcp.refused("get", json!({"resource": "deploymnts"}));
    assert!(message.contains("did you mean \"deployments\"?"), "{message}");
    let (message, _) = mcp.refused("start_exercise", json!({"name": "a", "seeds": 1}));
    assert!(message.contains("unknown argument `seeds`"), "{message}");
    let (message, _) = mcp.refused("check_exercise", json!({}));
    assert!(message.contains("this cluster is no exercise"), "{message}");
    let (message, status) = mcp.refused("reset", json!({"snapshot": "never"}));
    assert!(message.contains("there is no snapshot \"never\""), "{message}");
    assert_eq!(status["code"], 404);
    let unknown = mcp.ask("tools/call", &json!({"name": "fly", "arguments": {}}));
    assert!(unknown["error"]["message"].as_str().unwrap().contains("there is no tool \"fly\""), "{unknown}");
}

#[test]
fn a_node_that_a_fault_stops_is_not_ready_a_minute_later_and_the_fault_is_removed() {
    let mut mcp = Mcp::start();
    let started = mcp.call("start_cluster", json!({"kubernetes": "1.36"}));
    assert_eq!(started["kubernetes"], "1.36", "{started}");
    assert!(started["now"].as_str().unwrap().starts_with("2026-01-01T00:00:0"), "{started}");
    let added = mcp.call("add_fault", json!({"fault": {"do": {"node": {"stop": "node-2"}}, "for": "1h"}}));
    assert_eq!(added["faults"].as_array().unwrap().len(), 1, "{added}");
    assert_eq!(mcp.call("advance_time", json!({"duration": "1m"}))["advanced"], "1m0s");
    let nodes = mcp.text("get", json!({"resource": "nodes"}));
    assert!(nodes.lines().any(|line| line.starts_with("node-2") && line.contains("NotReady")), "{nodes}");
    let claim = json!({"name": "both nodes are ready", "cel": "nodes.all(n, n.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True'))"});
    let checked = mcp.call("check", json!({"claims": [claim]}));
    assert_eq!((&checked["holds"], &checked["claims"][0]["holds"]), (&json!(false), &json!(false)), "{checked}");
    assert!(mcp.text("why", json!({"about": "node/node-2"})).contains("node-2"));
    mcp.call("remove_faults", json!({}));
    mcp.call("advance_time", json!({"duration": "1m"}));
    assert_eq!(mcp.call("check", json!({"claims": [claim]}))["holds"], true);
}

#[test]
fn a_review_is_created_and_answered_and_a_log_is_read() {
    let mut mcp = Mcp::start();
    mcp.call("start_exercise", json!({"name": "crash-loop"}));
    let pods = mcp.text("get", json!({"resource": "pods", "output": "name"}));
    let pod = pods.lines().next().and_then(|line| line.strip_prefix("pods/")).unwrap();
    let log = mcp.text("logs", json!({"pod": pod, "previous": true}));
    assert_eq!(log, "DATABASE_URL is not set\n");
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
        "user": "alice", "resourceAttributes": {"verb": "get", "resource": "secrets", "namespace": "default"}}});
    let reviewed = mcp.call("create", json!({"manifests": review.to_string()}));
    assert_eq!(reviewed["created"][0]["status"]["allowed"], false, "{reviewed}");
}

/// The sockets on which a process listens.
#[cfg(target_os = "linux")]
fn listening(pid: u32) -> usize {
    let links = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let links = links.filter_map(|link| std::fs::read_link(link.unwrap().path()).ok());
    let own: BTreeSet<String> = links.map(|link| link.display().to_string()).collect();
    let tables = ["tcp", "tcp6"].map(|table| std::fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap());
    let sockets = tables.iter().flat_map(|table| table.lines().skip(1));
    let is_listening = |line: &&str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields[3] == "0A" && own.contains(&format!("socket:[{}]", fields[9]))
    };
    sockets.filter(is_listening).count()
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_listens_unless_a_cluster_is_started_with_listen() {
    let mut mcp = Mcp::start();
    mcp.call("start_cluster", json!({}));
    assert_eq!(listening(mcp.pid()), 0);
    mcp.call("stop_cluster", json!({}));
    let started = mcp.call("start_cluster", json!({"listen": true}));
    assert_eq!(listening(mcp.pid()), 1);
    let kubeconfig = std::path::PathBuf::from(started["kubeconfig"].as_str().unwrap());
    assert!(std::fs::read_to_string(&kubeconfig).unwrap().contains("server: https://127.0.0.1:"));
    mcp.call("stop_cluster", json!({}));
    assert_eq!((listening(mcp.pid()), kubeconfig.exists()), (0, false));
}
