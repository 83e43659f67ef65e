use http::Method;
use serde_json::{Value, json};

use crate::controlled::{DEPLOYMENTS, Stepped, admin, ask_as, pods, web};

const FORKS: &str = "/coracle/v1/forks";

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_continues_alone_with_its_own_clock() {
    let stepped = Stepped::start().await;
    let api = stepped.api();
    stepped.ask(Method::POST, DEPLOYMENTS, web()).await;
    stepped.ask(Method::POST, "/coracle/v1/settle", Value::Null).await;
    let (code, fork) = stepped.ask(Method::POST, FORKS, Value::Null).await;
    assert_eq!((code, &fork["name"]), (201, &json!("fork-1")));
    let forked = stepped.forked.lock()[0].clone();
    assert_eq!(pods(&forked).await, pods(&api).await);
    let then = stepped.controlled.now().await.unwrap();
    ask_as(&forked, admin(), Method::DELETE, &format!("{DEPLOYMENTS}/web"), Value::Null).await;
    let advance = json!({"duration": "2h"});
    let (code, _) = ask_as(&forked, admin(), Method::POST, "/coracle/v1/clock/advance", advance).await;
    assert_eq!(code, 200);
    assert_eq!(pods(&forked).await, []);
    assert_eq!((pods(&api).await.len(), stepped.controlled.now().await.unwrap()), (3, then));
    let (_, listed) = stepped.ask(Method::GET, FORKS, Value::Null).await;
    assert_eq!(listed["forks"][0]["name"], "fork-1");
    assert!(listed["forks"][0]["kubeconfig"].is_null(), "a list shows no credentials");
    let (code, _) = stepped.ask(Method::DELETE, "/coracle/v1/forks/fork-1", Value::Null).await;
    assert_eq!(code, 200);
    let (code, _) = stepped.ask(Method::DELETE, "/coracle/v1/forks/fork-1", Value::Null).await;
    assert_eq!(code, 404);
    stepped.controlled.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_of_a_revision_has_the_objects_of_then() {
    let stepped = Stepped::start().await;
    let (_, made) = stepped.ask(Method::POST, DEPLOYMENTS, web()).await;
    let revision: i64 = made["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
    stepped.ask(Method::DELETE, &format!("{DEPLOYMENTS}/web"), Value::Null).await;
    let (code, fork) = stepped.ask(Method::POST, FORKS, json!({"revision": revision})).await;
    assert_eq!(code, 201, "{fork}");
    let forked = stepped.forked.lock()[0].clone();
    let (code, _) = ask_as(&forked, admin(), Method::GET, &format!("{DEPLOYMENTS}/web"), Value::Null).await;
    assert_eq!(code, 200);
    let (code, _) = stepped.ask(Method::GET, &format!("{DEPLOYMENTS}/web"), Value::Null).await;
    assert_eq!(code, 404);
    for wrong in [json!({"revision": 0}), json!({"revision": 1, "snapshot": "start"})] {
        let (code, _) = stepped.ask(Method::POST, FORKS, wrong).await;
        assert_eq!(code, 400);
    }
    stepped.controlled.end().await;
}
