//! Tokens that are bound to an object end with it.

use coracle_cluster::{ApiServerOptions, Cluster};
use serde_json::{Value, json};

use super::front::{core, create, delete, done, review, server, token, token_request, who_am_i};

async fn with_robot() -> Cluster {
    let cluster = server(ApiServerOptions::default()).await;
    create(&cluster, "serviceaccounts", json!({"metadata": {"name": "robot"}})).await;
    cluster
}

fn pod() -> Value {
    json!({
        "metadata": {"name": "p"},
        "spec": {"serviceAccountName": "robot", "nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
    })
}

fn node() -> Value {
    json!({"metadata": {"name": "n"}})
}

fn bound(kind: &str, name: &str) -> Value {
    json!({"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name}})
}

fn extra<'a>(status: &'a Value, name: &str) -> &'a str {
    status["user"]["extra"][format!("authentication.kubernetes.io/{name}")][0].as_str().unwrap_or("")
}

#[tokio::test(start_paused = true)]
async fn a_token_bound_to_a_pod_contains_its_node_and_ends_with_the_pod() {
    let cluster = with_robot().await;
    let node = create(&cluster, "nodes", node()).await;
    let made = create(&cluster, "pods", pod()).await;
    let own = token(&cluster, "robot", bound("Pod", "p")).await;
    let status = review(&cluster, &own, &[]).await;
    assert_eq!(status["authenticated"], true, "{status}");
    assert!(extra(&status, "credential-id").starts_with("JTI="));
    for (name, value) in [
        ("pod-name", &json!("p")),
        ("pod-uid", &made["metadata"]["uid"]),
        ("node-name", &json!("n")),
        ("node-uid", &node["metadata"]["uid"]),
    ] {
        assert_eq!(extra(&status, name), value, "{name}");
    }
    delete(&cluster, "nodes", "n").await;
    assert_eq!(who_am_i(&cluster, &own).await.code, 201, "it is the pod's, not the node's");
    delete(&cluster, "pods", "p").await;
    assert_eq!(who_am_i(&cluster, &own).await.code, 401);
    create(&cluster, "pods", pod()).await;
    assert_eq!(who_am_i(&cluster, &own).await.code, 401, "another pod of the same name");
    let status = review(&cluster, &own, &[]).await;
    assert!(status["error"].as_str().unwrap().contains("does not match service account pod ref claim"), "{status}");
    let without_node = token(&cluster, "robot", bound("Pod", "p")).await;
    let status = review(&cluster, &without_node, &[]).await;
    assert_eq!((extra(&status, "node-name"), extra(&status, "node-uid")), ("n", ""));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_being_deleted_keeps_its_token_for_a_minute_after_its_time() {
    let cluster = with_robot().await;
    let mut kept = pod();
    kept["metadata"]["finalizers"] = json!(["example.com/wait"]);
    create(&cluster, "pods", kept).await;
    let own = token(&cluster, "robot", bound("Pod", "p")).await;
    done(&cluster, http::Method::DELETE, &core("pods", "p"), json!({"gracePeriodSeconds": 0})).await;
    assert_eq!(who_am_i(&cluster, &own).await.code, 201);
    tokio::time::sleep(std::time::Duration::from_secs(62)).await;
    assert_eq!(who_am_i(&cluster, &own).await.code, 401);
}

#[tokio::test(start_paused = true)]
async fn a_token_bound_to_a_node_ends_with_the_node() {
    let cluster = with_robot().await;
    create(&cluster, "nodes", node()).await;
    let own = token(&cluster, "robot", bound("Node", "n")).await;
    let status = review(&cluster, &own, &[]).await;
    assert_eq!((extra(&status, "node-name"), extra(&status, "pod-name")), ("n", ""));
    delete(&cluster, "nodes", "n").await;
    assert_eq!(who_am_i(&cluster, &own).await.code, 401);
    let status = review(&cluster, &own, &[]).await;
    assert_eq!(status["error"], "[invalid bearer token, service account token has been invalidated]");
    create(&cluster, "nodes", node()).await;
    assert_eq!(who_am_i(&cluster, &own).await.code, 401, "another node of the same name");
}

#[tokio::test(start_paused = true)]
async fn a_token_bound_to_a_secret_ends_with_the_secret() {
    let cluster = with_robot().await;
    let secret = json!({"metadata": {"name": "s"}});
    create(&cluster, "secrets", secret.clone()).await;
    let own = token(&cluster, "robot", bound("Secret", "s")).await;
    assert_eq!(who_am_i(&cluster, &own).await.code, 201);
    delete(&cluster, "secrets", "s").await;
    create(&cluster, "secrets", secret).await;
    assert_eq!(who_am_i(&cluster, &own).await.code, 401);
}

#[tokio::test(start_paused = true)]
async fn a_token_cannot_be_bound_to_a_missing_or_replaced_object() {
    let cluster = with_robot().await;
    create(&cluster, "pods", pod()).await;
    create(&cluster, "serviceaccounts", json!({"metadata": {"name": "other"}})).await;
    let of_other = token_request(&cluster, "other", bound("Pod", "p")).await;
    assert_eq!(
        (of_other.code, of_other.message()),
        (400, "cannot bind token for serviceaccount \"other\" to pod running with different serviceaccount name.")
    );
    assert_eq!(token_request(&cluster, "robot", bound("Pod", "gone")).await.code, 404);
    let mut with_uid = bound("Pod", "p");
    with_uid["boundObjectRef"]["uid"] = "before".into();
    let with_uid = token_request(&cluster, "robot", with_uid).await;
    assert_eq!(with_uid.code, 409);
    let start = "Operation cannot be fulfilled on Pod \"p\": the UID in the bound object reference (before)";
    assert!(with_uid.message().starts_with(start), "{}", with_uid.message());
    let wrong = token_request(&cluster, "robot", bound("ConfigMap", "c")).await;
    assert_eq!((wrong.code, wrong.message()), (400, "cannot bind token to object of type /v1, Kind=ConfigMap"));
}
