use http::{Method, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::controlled::{DEPLOYMENTS, PODS, Stepped, admin, ask_as, pods, send, web};

const RESET: &str = "/coracle/v1/reset";
const SETTLE: &str = "/coracle/v1/settle";

async fn with_pods() -> Stepped {
    let stepped = Stepped::start().await;
    stepped.ask(Method::POST, DEPLOYMENTS, web()).await;
    stepped.ask(Method::POST, SETTLE, Value::Null).await;
    stepped.ask(Method::PUT, "/coracle/v1/snapshots/base", Value::Null).await;
    stepped
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_brings_back_what_was_deleted_and_the_time() {
    let stepped = with_pods().await;
    let api = stepped.api();
    let (kept, then) = (pods(&api).await, stepped.controlled.now().await.unwrap());
    stepped.ask(Method::DELETE, &format!("{DEPLOYMENTS}/web"), Value::Null).await;
    stepped.ask(Method::POST, SETTLE, Value::Null).await;
    assert_eq!(pods(&api).await, []);
    for _ in 0..2 {
        let (code, answer) = stepped.ask(Method::POST, RESET, json!({"snapshot": "base"})).await;
        assert_eq!(code, 200, "{answer}");
        assert_eq!((pods(&api).await, stepped.controlled.now().await.unwrap()), (kept.clone(), then));
    }
    stepped.ask(Method::POST, "/coracle/v1/clock/advance", json!({"duration": "1h"})).await;
    assert_eq!(pods(&api).await, kept, "the nodes continue with their pods, and no pod is replaced");
    let (_, answer) = stepped.ask(Method::POST, RESET, Value::Null).await;
    assert_eq!((&answer["snapshot"], pods(&api).await), (&json!("start"), Vec::new()));
    let (code, status) = stepped.ask(Method::POST, RESET, json!({"snapshot": "nix"})).await;
    assert_eq!(code, 404);
    assert_eq!(status["message"], "there is no snapshot \"nix\"; there are: base, start");
    stepped.controlled.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_work_after_each_reset_gives_the_same_names() {
    let stepped = Stepped::start().await;
    let api = stepped.api();
    let mut runs = Vec::new();
    for _ in 0..2 {
        stepped.ask(Method::POST, RESET, Value::Null).await;
        stepped.ask(Method::POST, DEPLOYMENTS, web()).await;
        stepped.ask(Method::POST, SETTLE, Value::Null).await;
        runs.push((pods(&api).await, stepped.controlled.now().await.unwrap()));
    }
    assert_eq!(runs[0].0.len(), 3);
    assert_eq!(runs[0], runs[1]);
    stepped.controlled.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_from_before_a_reset_ends_and_its_revision_is_gone() {
    let stepped = with_pods().await;
    let api = stepped.api();
    let (_, list) = ask_as(&api, admin(), Method::GET, PODS, Value::Null).await;
    let seen = list["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let watch = format!("{PODS}?watch=true&resourceVersion={seen}");
    let open = send(&api, admin(), Method::GET, &watch, Value::Null).await;
    assert_eq!(open.status(), StatusCode::OK);
    stepped.ask(Method::POST, RESET, json!({"snapshot": "base"})).await;
    let rest = open.into_body().collect().await.map(|body| body.to_bytes().len());
    assert!(matches!(rest, Ok(0)), "the watch ends without an event: {rest:?}");
    let again = send(&api, admin(), Method::GET, &watch, Value::Null).await;
    let gone = match again.status() {
        StatusCode::GONE => true,
        // Kubernetes may also answer 200, with the error as the first event.
        _ => {
            let mut body = again.into_body();
            let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
            String::from_utf8_lossy(&frame).contains("\"code\":410")
        }
    };
    assert!(gone, "a client that continued would miss what the reset changed");
    stepped.controlled.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_during_a_reset_get_503_with_the_advice_to_try_again() {
    let stepped = with_pods().await;
    let api = stepped.api();
    // The next start waits until a permit is there.
    let permits = stepped.starts.available_permits();
    stepped.starts.acquire_many(u32::try_from(permits).unwrap()).await.unwrap().forget();
    let controlled = stepped.controlled.clone();
    let resetting = tokio::spawn(async move { controlled.reset("base").await.map(|state| state.revision) });
    let refused = loop {
        let answer = send(&api, admin(), Method::GET, PODS, Value::Null).await;
        if answer.status() != StatusCode::OK {
            break answer;
        }
    };
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers()["retry-after"], "1");
    let status: Value = serde_json::from_slice(&refused.into_body().collect().await.unwrap().to_bytes()).unwrap();
    assert_eq!(status["kind"], "Status");
    stepped.starts.add_permits(1000);
    resetting.await.unwrap().unwrap();
    assert_eq!(pods(&api).await.len(), 3);
    stepped.controlled.end().await;
}
