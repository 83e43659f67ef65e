//! Who shows no credentials, in each mode.

use bytes::Bytes;
use coracle_cluster::{ApiServerOptions, Cluster, built_in_kinds};
use coracle_meta::GroupVersionKind;
use http::Request;
use http_body_util::Full;
use tower::ServiceExt;

async fn cluster(authorization_mode: &str, anonymous_auth: bool) -> Cluster {
    let authorization_mode = authorization_mode.to_owned();
    let spec = ApiServerOptions { authorization_mode, anonymous_auth, ..ApiServerOptions::default() };
    Cluster::builder().api_server(spec).api_server_only().start().await.unwrap()
}

async fn code(cluster: &Cluster, path: &str) -> u16 {
    let request = Request::get(path).body(Full::<Bytes>::default()).unwrap();
    cluster.front_door().oneshot(request).await.unwrap().status().as_u16()
}

/// The collection of every kind, and the documents.
fn paths() -> Vec<String> {
    let collection =
        |(GroupVersionKind { group, version, .. }, plural): (GroupVersionKind, String)| match group.as_str() {
            "" => format!("/api/{version}/{plural}"),
            group => format!("/apis/{group}/{version}/{plural}"),
        };
    let documents = ["/", "/api", "/apis", "/openapi/v2", "/openapi/v3", "/metrics", "/openid/v1/jwks"];
    built_in_kinds().map(collection).chain(documents.map(str::to_owned)).collect()
}

#[tokio::test(start_paused = true)]
async fn with_always_allow_anonymous_requests_are_refused() {
    let cluster = cluster("AlwaysAllow", true).await;
    for path in paths() {
        assert_eq!(code(&cluster, &path).await, 401, "{path}");
    }
    for path in ["/healthz", "/readyz", "/livez", "/version"] {
        assert_eq!(code(&cluster, path).await, 200, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn with_rbac_anonymous_users_have_few_permissions() {
    let cluster = cluster("Node,RBAC", true).await;
    for path in paths() {
        assert_eq!(code(&cluster, &path).await, 403, "{path}");
    }
    assert_eq!(code(&cluster, "/healthz").await, 200);
}

#[tokio::test(start_paused = true)]
async fn without_anonymous_requests_even_health_is_refused() {
    let cluster = cluster("Node,RBAC", false).await;
    for path in paths().iter().map(String::as_str).chain(["/healthz", "/version"]) {
        assert_eq!(code(&cluster, path).await, 401, "{path}");
    }
}
