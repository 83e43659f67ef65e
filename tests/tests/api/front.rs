//! A way to talk HTTP to a server in the same process.

use coracle::Cluster;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tower::ServiceExt;

/// An API server with its store and nothing beside it.
pub(crate) async fn api_server() -> Cluster {
    Cluster::builder().api_server_only().start().await.unwrap()
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| String::from_utf8_lossy(&self.body).into())
    }
}

/// Sends a request as an administrator.
pub(crate) async fn send(cluster: &Cluster, request: Request<Vec<u8>>) -> Answer {
    let answer = cluster.service().oneshot(request.map(|body| Full::new(body.into()))).await.unwrap();
    let (head, body) = answer.into_parts();
    Answer { code: head.status, headers: head.headers, body: body.collect().await.unwrap().to_bytes().into() }
}

/// A request with a JSON body.
pub(crate) async fn call(cluster: &Cluster, method: Method, path: &str, body: &Value) -> Answer {
    let media_type = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header("content-type", media_type);
    send(cluster, request.body(body.to_string().into_bytes()).unwrap()).await
}

/// The object at a path.
pub(crate) async fn get(cluster: &Cluster, path: &str) -> Value {
    let answer = send(cluster, Request::get(path).body(Vec::new()).unwrap()).await;
    assert_eq!(answer.code, StatusCode::OK, "{path}: {:?}", answer.json());
    answer.json()
}
