use coracle_lab::Lab;
use serde_json::json;

use crate::support::{answer, opened, result, running_pods, with_web};

#[test]
fn a_deployment_is_applied_and_its_pods_run_in_virtual_time() {
    let mut lab = with_web(7);
    assert_eq!(running_pods(&mut lab, "main").len(), 3);
}

#[test]
fn time_passes_only_when_a_message_advances_it() {
    let mut lab = opened(7);
    let now = |lab: &mut Lab| result(lab, &json!({"do": "state"}))["now"].as_str().unwrap().to_owned();
    let start = now(&mut lab);
    running_pods(&mut lab, "main");
    assert_eq!(now(&mut lab), start, "a request takes no time");
    result(&mut lab, &json!({"do": "advance", "by": "1h"}));
    let parse = |text: &str| coracle_meta::parse_time(text).unwrap();
    assert_eq!((parse(&now(&mut lab)) - parse(&start)).total(jiff::Unit::Second).unwrap(), 3600.0);
}

#[test]
fn next_advances_to_the_next_entry_of_the_log() {
    let mut lab = opened(7);
    let before = result(&mut lab, &json!({"do": "state"}));
    let after = result(&mut lab, &json!({"do": "next"}));
    assert_eq!(after["happened"], true);
    assert!(after["newest"].as_u64() > before["newest"].as_u64() && after["now"].as_str() > before["now"].as_str());
    let nothing = result(&mut lab, &json!({"do": "next", "within": "1ms"}));
    assert_eq!(nothing["happened"], false);
}

#[test]
fn a_user_may_do_what_rbac_grants_and_the_answer_is_that_of_the_api() {
    let mut lab = opened(7);
    let path = "/api/v1/namespaces/default/secrets";
    let refused = result(&mut lab, &json!({"do": "request", "path": path, "user": "jane", "groups": ["developers"]}));
    assert_eq!((refused["status"].as_u64(), &refused["body"]["reason"]), (Some(403), &json!("Forbidden")));
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let path = "/api/v1/namespaces/default/configmaps";
    let created = result(&mut lab, &json!({"do": "request", "method": "POST", "path": path, "body": body}));
    assert_eq!((created["status"].as_u64(), &created["body"]["data"]["k"]), (Some(201), &json!("v")));
}

#[test]
fn a_watch_is_cut_when_its_time_is_over() {
    let mut lab = opened(7);
    let path = "/api/v1/namespaces/default/configmaps?watch=true";
    let watched = result(&mut lab, &json!({"do": "request", "path": path, "within": "5s"}));
    assert_eq!((watched["status"].as_u64(), &watched["cut"]), (Some(200), &json!(true)));
}

#[test]
fn a_cluster_that_is_closed_is_gone_and_its_name_is_free() {
    let mut lab = opened(7);
    result(&mut lab, &json!({"do": "close"}));
    assert!(
        answer(&mut lab, &json!({"do": "state"})).0["error"]["message"].as_str().unwrap().contains("open it first")
    );
    let opened = result(&mut lab, &json!({"do": "open", "nodes": 3, "kubernetes": "1.35"}));
    assert_eq!(opened["kubernetes"], "1.35");
    let nodes = result(&mut lab, &json!({"do": "request", "path": "/api/v1/nodes"}));
    assert_eq!(nodes["body"]["items"].as_array().unwrap().len(), 3);
}

#[test]
fn the_answer_repeats_the_id_of_its_message() {
    let mut lab = Lab::default();
    assert_eq!(answer(&mut lab, &json!({"do": "list", "id": 7})).0["id"], 7);
    assert_eq!(answer(&mut lab, &json!({"do": "state", "id": "a"})).0["id"], "a");
}
