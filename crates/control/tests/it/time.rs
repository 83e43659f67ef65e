use http::Method;
use serde_json::{Value, json};

use crate::controlled::{DEPLOYMENTS, Stepped, pods, web};

const ADVANCE: &str = "/coracle/v1/clock/advance";

#[tokio::test(flavor = "multi_thread")]
async fn pods_start_only_when_the_clock_advances() {
    let stepped = Stepped::start().await;
    let api = stepped.api();
    let (_, before) = stepped.ask(Method::GET, "/coracle/v1/clock", Value::Null).await;
    stepped.ask(Method::POST, DEPLOYMENTS, web()).await;
    let until = json!({"object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"app": "web"}}}});
    let (code, _) = stepped.ask(Method::POST, ADVANCE, json!({"until": until, "within": "1s"})).await;
    assert_eq!(code, 200);
    assert!(pods(&api).await.iter().all(|(_, phase)| phase == "Pending"), "{:?}", pods(&api).await);
    let (code, answer) = stepped.ask(Method::POST, ADVANCE, json!({"duration": "1m"})).await;
    assert_eq!((code, &answer["advanced"]), (200, &json!("1m0s")));
    let phases: Vec<String> = pods(&api).await.into_iter().map(|(_, phase)| phase).collect();
    assert_eq!(phases, ["Running"; 3]);
    let (_, after) = stepped.ask(Method::GET, "/coracle/v1/clock", Value::Null).await;
    assert_eq!(after["now"], answer["now"], "the clock stands still, from {}", before["now"]);
    stepped.controlled.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_that_does_not_hold_in_time_is_a_timeout_that_says_what_was_found() {
    let stepped = Stepped::start().await;
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "none"}});
    let (code, status) = stepped.ask(Method::POST, ADVANCE, json!({"until": {"object": pod}, "within": "30s"})).await;
    assert_eq!((code, &status["reason"]), (408, &json!("Timeout")));
    assert!(status["message"].as_str().unwrap().starts_with("not within 30s: expected"), "{}", status["message"]);
    for body in [json!({}), json!({"duration": "soon"}), json!({"duration": "1s", "within": "1s"}), json!({"far": 1})] {
        let (code, status) = stepped.ask(Method::POST, ADVANCE, body.clone()).await;
        assert_eq!((code, &status["kind"]), (400, &json!("Status")), "{body}");
    }
    stepped.controlled.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settled_cluster_has_running_pods_and_its_log_says_why() {
    let stepped = Stepped::start().await;
    stepped.ask(Method::POST, DEPLOYMENTS, web()).await;
    let (_, settled) = stepped.ask(Method::POST, "/coracle/v1/settle", Value::Null).await;
    assert_eq!(settled["settled"], true, "{settled}");
    let found = pods(&stepped.api()).await;
    assert!(found.len() == 3 && found.iter().all(|(_, phase)| phase == "Running"), "{found:?}");
    let about = format!("/coracle/v1/why?about=pod/default/{}", found[0].0);
    let (code, why) = stepped.ask(Method::GET, &about, Value::Null).await;
    assert_eq!(code, 200);
    assert!(why.as_str().unwrap().contains("deployments/default/web"), "{why}");
    let scenario = json!({
        "apiVersion": "coracle.dev/v1", "kind": "Scenario", "metadata": {"name": "graded"},
        "spec": {"steps": [{"expect": {
            "object": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
                       "status": {"availableReplicas": 4}},
        }}]},
    });
    let (code, verdict) = stepped.ask(Method::POST, "/coracle/v1/check", scenario).await;
    assert!(code == 200 || code == 400 || code == 422, "{code} {verdict}");
    assert_ne!(verdict["holds"], true, "three are available, and not four");
    stepped.controlled.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_path_and_a_wrong_method_are_refused() {
    let stepped = Stepped::start().await;
    let (code, _) = stepped.ask(Method::GET, "/coracle/v1/clock/rewind", Value::Null).await;
    assert_eq!(code, 404);
    let (code, status) = stepped.ask(Method::GET, "/coracle/v1/reset", Value::Null).await;
    assert_eq!(code, 405, "{status}");
    let (code, document) = stepped.ask(Method::GET, "/coracle/v1/openapi.json", Value::Null).await;
    assert_eq!((code, &document["openapi"]), (200, &json!("3.0.3")));
    stepped.controlled.end().await;
}
