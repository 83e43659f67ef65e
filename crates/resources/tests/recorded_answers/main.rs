//! What a kube-apiserver 1.35.3 answered to pods, templates, services and their likes that are wrong, or worth a
//! warning, is answered here, too.
//!
//! `answers.jsonl` has a line for each request to create an object: its path and body, and the code, the message and the
//! warnings of the answer. The server that gave them ran without `ServiceAccount`; answers of other plug-ins are left
//! out.

#[path = "../server/mod.rs"]
mod server;

use coracle_apiserver::Body;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::server::{Server, server};

/// The code, the message and the warnings of an answer.
async fn answer(server: &Server, path: &str, body: &Value) -> Value {
    let request = http::Request::builder().method("POST").uri(path).header("content-type", "application/json");
    let request = request.body(Body::from(body.to_string())).unwrap();
    let answer = server.clone().oneshot(request).await.unwrap();
    let code = answer.status().as_u16();
    let warnings: Vec<String> = answer.headers().get_all("warning").iter().map(warning).collect();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    let document: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let message = if code < 300 { Value::Null } else { document["message"].clone() };
    json!({"code": code, "message": message, "warnings": warnings})
}

/// The quoted part of a warning: `299 - "text"`.
fn warning(value: &http::HeaderValue) -> String {
    let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
    text.splitn(3, ' ').nth(2).unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn errors_equal_those_of_kube_apiserver() {
    let server = server();
    let namespace = json!({"metadata": {"name": "default"}});
    assert_eq!(answer(&server, "/api/v1/namespaces", &namespace).await["code"], 201);
    let mut different = Vec::new();
    let rows: Vec<Value> =
        include_str!("answers.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for row in &rows {
        let own = answer(&server, row["path"].as_str().unwrap(), &row["body"]).await;
        if ["code", "message", "warnings"].iter().any(|field| own[field] != row[field]) {
            different.push(format!("{}\nkube-apiserver {}\nhere           {own}", row["body"], row["message"]));
        }
    }
    assert!(different.is_empty(), "{} of {} differ:\n{}", different.len(), rows.len(), different.join("\n\n"));
    assert!(rows.len() > 500, "{}", rows.len());
}
