//! A way to ask a server in this process, with credentials and without.

use coracle_cluster::{ApiServerOptions, Cluster};
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;

/// An API server with nothing beside it.
pub(crate) async fn server(spec: ApiServerOptions) -> Cluster {
    Cluster::builder().api_server(spec).api_server_only().start().await.unwrap()
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or("")
    }
}

async fn answered<B>(service: coracle_cluster::Transport, request: Request<B>) -> Answer
where
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<coracle_cluster::BoxError>,
{
    let (head, body) = service.oneshot(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let body = serde_json::from_slice(&body).unwrap_or_else(|_| String::from_utf8_lossy(&body).into());
    Answer { code: head.status.as_u16(), headers: head.headers, body }
}

fn request(method: Method, path: &str, body: &Value) -> http::request::Builder {
    let media_type = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path);
    if body.is_null() { request } else { request.header("content-type", media_type) }
}

fn content(body: &Value) -> Full<bytes::Bytes> {
    if body.is_null() { Full::default() } else { Full::from(body.to_string()) }
}

/// Asks as an administrator.
pub(crate) async fn admin(cluster: &Cluster, method: Method, path: &str, body: Value) -> Answer {
    answered(cluster.service(), request(method, path, &body).body(content(&body)).unwrap()).await
}

/// Does what has to succeed, as an administrator.
pub(crate) async fn done(cluster: &Cluster, method: Method, path: &str, body: Value) -> Value {
    let answer = admin(cluster, method, path, body).await;
    assert!(answer.code < 300, "{path}: {:?}", answer.body);
    answer.body
}

/// Asks with a bearer token.
pub(crate) async fn with_token(cluster: &Cluster, token: &str, method: Method, path: &str, body: Value) -> Answer {
    let request = request(method, path, &body).header("authorization", format!("Bearer {token}"));
    answered(cluster.front_door(), request.body(content(&body)).unwrap()).await
}

/// What the server says to who shows a token: 201 with the user's name, or 401.
pub(crate) async fn who_am_i(cluster: &Cluster, token: &str) -> Answer {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    with_token(cluster, token, Method::POST, "/apis/authentication.k8s.io/v1/selfsubjectreviews", review).await
}

/// What a review says of a token.
pub(crate) async fn review(cluster: &Cluster, token: &str, audiences: &[&str]) -> Value {
    let spec = json!({"token": token, "audiences": audiences});
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec});
    done(cluster, Method::POST, "/apis/authentication.k8s.io/v1/tokenreviews", review).await["status"].clone()
}

/// Asks for a token of a service account in the namespace `default`.
pub(crate) async fn token_request(cluster: &Cluster, account: &str, spec: Value) -> Answer {
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec});
    let path = format!("/api/v1/namespaces/default/serviceaccounts/{account}/token");
    admin(cluster, Method::POST, &path, request).await
}

/// A token of a service account in the namespace `default`.
pub(crate) async fn token(cluster: &Cluster, account: &str, spec: Value) -> String {
    let answer = token_request(cluster, account, spec).await;
    answer.body["status"]["token"].as_str().unwrap_or_else(|| panic!("{:?}", answer.body)).to_owned()
}

/// A new object of the core group.
pub(crate) async fn create(cluster: &Cluster, plural: &str, object: Value) -> Value {
    let path = if plural == "nodes" { "/api/v1/nodes".to_owned() } else { core(plural, "") };
    done(cluster, Method::POST, &path, object).await
}

/// Takes an object of the core group away at once.
pub(crate) async fn delete(cluster: &Cluster, plural: &str, name: &str) {
    let path = if plural == "nodes" { format!("/api/v1/nodes/{name}") } else { core(plural, name) };
    done(cluster, Method::DELETE, &path, json!({"gracePeriodSeconds": 0})).await;
}

/// A path of the core group in the namespace `default`.
pub(crate) fn core(plural: &str, name: &str) -> String {
    let path = format!("/api/v1/namespaces/default/{plural}/{name}");
    path.trim_end_matches('/').to_owned()
}
