use serde_json::json;

use crate::support::{result, running_pods, with_web};

const SCALE_TO_ONE: &str = "scale: {ref: {apiVersion: apps/v1, kind: Deployment, name: web}, replicas: 1}";

#[test]
fn a_fork_continues_from_the_state_and_does_not_touch_its_origin() {
    let mut lab = with_web(7);
    let before = running_pods(&mut lab, "main");
    result(&mut lab, &json!({"do": "fork", "name": "other"}));
    assert_eq!(running_pods(&mut lab, "other"), before);
    result(&mut lab, &json!({"do": "step", "cluster": "other", "step": SCALE_TO_ONE}));
    result(&mut lab, &json!({"do": "settle", "cluster": "other"}));
    assert_eq!(running_pods(&mut lab, "other").len(), 1);
    assert_eq!(running_pods(&mut lab, "main"), before);
}

#[test]
fn a_snapshot_keeps_a_state_to_which_a_fork_returns() {
    let mut lab = with_web(7);
    let before = running_pods(&mut lab, "main");
    let kept = result(&mut lab, &json!({"do": "snapshot", "name": "three"}));
    assert_eq!(kept["snapshots"], json!(["three"]));
    result(&mut lab, &json!({"do": "step", "step": SCALE_TO_ONE}));
    result(&mut lab, &json!({"do": "settle"}));
    assert_eq!(running_pods(&mut lab, "main").len(), 1);
    let forked = result(&mut lab, &json!({"do": "fork", "name": "back", "snapshot": "three"}));
    assert_eq!(running_pods(&mut lab, "back"), before);
    assert!(forked["now"].as_str() >= kept["now"].as_str(), "its clock is not earlier: {forked} {kept}");
}

#[test]
fn a_fork_of_a_revision_has_the_objects_of_then() {
    let mut lab = with_web(7);
    let revision = result(&mut lab, &json!({"do": "state"}))["revision"].clone();
    result(&mut lab, &json!({"do": "step", "step": SCALE_TO_ONE}));
    result(&mut lab, &json!({"do": "fork", "name": "then", "revision": revision}));
    let path = "/apis/apps/v1/namespaces/default/deployments/web";
    let then = result(&mut lab, &json!({"do": "request", "cluster": "then", "path": path}));
    assert_eq!(then["body"]["spec"]["replicas"], 3);
}
