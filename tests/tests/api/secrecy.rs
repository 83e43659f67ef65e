//! What a Secret holds and what lets somebody in: in no log, no event, no error.

use coracle::Cluster;
use coracle::journal::{EntryId, Recorder};
use http::{Method, Request, StatusCode};
use serde_json::{Value, json};

use crate::front::{call, get, send};

const MARK: &str = "mark-of-a-secret-5a17";
/// The mark in base64, as `data` has it.
const MARK_IN_BASE64: &str = "bWFyay1vZi1hLXNlY3JldC01YTE3";

#[tokio::test(start_paused = true)]
async fn secret_data_and_service_account_tokens_are_not_in_the_event_log() {
    let log = Recorder::ring(100_000);
    let cluster = Cluster::builder().recorder(log.clone()).start().await.unwrap();
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = json!({"metadata": {"name": "a"}, "stringData": {"password": MARK}});
    assert_eq!(call(&cluster, Method::POST, secrets, &secret).await.code, StatusCode::CREATED);
    let more = json!({"stringData": {"other": MARK}});
    assert_eq!(call(&cluster, Method::PATCH, &format!("{secrets}/a"), &more).await.code, StatusCode::OK);
    assert_eq!(get(&cluster, &format!("{secrets}/a")).await["data"]["other"], MARK_IN_BASE64);

    let account = json!({"metadata": {"name": "robot"}});
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    assert_eq!(call(&cluster, Method::POST, accounts, &account).await.code, StatusCode::CREATED);
    let asked = call(&cluster, Method::POST, &format!("{accounts}/robot/token"), &json!({"spec": {}})).await;
    let token = asked.json()["status"]["token"].as_str().unwrap().to_owned();
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
    let reviewed = call(&cluster, Method::POST, "/apis/authentication.k8s.io/v1/tokenreviews", &review).await;
    assert_eq!(reviewed.json()["status"]["authenticated"], true);

    let refused = json!({"metadata": {"name": "B!"}, "stringData": {"password": MARK}});
    let refused = call(&cluster, Method::POST, secrets, &refused).await;
    assert_eq!(refused.code, StatusCode::UNPROCESSABLE_ENTITY);
    let request = Request::delete(format!("{secrets}/a")).body(Vec::new()).unwrap();
    assert_eq!(send(&cluster, request).await.code, StatusCode::OK);

    let events = get(&cluster, "/api/v1/events").await;
    let entries = log.entries(EntryId(0));
    assert!(entries.len() > 20, "the log was on");
    let told = format!("{entries:?}{events}{}", refused.json());
    for secret in [MARK, MARK_IN_BASE64, token.as_str()] {
        assert!(!told.contains(secret), "{}", around(&told, secret));
    }
    let listed: Value = get(&cluster, secrets).await;
    assert!(!listed.to_string().contains(MARK_IN_BASE64));
}

/// What stands before a secret where it was told.
fn around(told: &str, secret: &str) -> String {
    let at = told.find(secret).unwrap_or(0);
    told[..at].chars().rev().take(300).collect::<Vec<_>>().into_iter().rev().collect()
}
