//! What somebody tries who has no credentials, or no right: every verb of every kind, and every path.

use bytes::Bytes;
use coracle_cluster::{ApiServerSpec, Cluster};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;

/// Somebody who is known and was given nothing.
const NOBODYS_TOKEN: &str = "a-token-of-nobody";

async fn cluster() -> Cluster {
    let spec = ApiServerSpec { tokens: Some(format!("{NOBODYS_TOKEN},nobody,uid")), ..ApiServerSpec::default() };
    Cluster::builder().api_server(spec).api_server_only().start().await.unwrap()
}

/// What may be done to a resource or subresource: the verb, the method and the path.
type Deed = (String, Method, String);

/// What one asks with a verb of a resource in a namespace (where it has any), of an object that is not there.
fn deed(at: &str, resource: &Value, verb: &str) -> Deed {
    let name = resource["name"].as_str().unwrap();
    let (plural, subresource) = name.split_once('/').map_or((name, ""), |(plural, sub)| (plural, sub));
    let namespace = if resource["namespaced"] == true { "/namespaces/default" } else { "" };
    let collection = format!("{at}{namespace}/{plural}");
    let object = match subresource {
        "" => format!("{collection}/absent"),
        subresource => format!("{collection}/absent/{subresource}"),
    };
    let (method, path) = match verb {
        "create" if subresource.is_empty() => (Method::POST, collection),
        "create" => (Method::POST, object),
        "get" => (Method::GET, object),
        "list" => (Method::GET, collection),
        "watch" => (Method::GET, format!("{collection}?watch=true")),
        "update" => (Method::PUT, object),
        "patch" => (Method::PATCH, object),
        "delete" => (Method::DELETE, object),
        "deletecollection" => (Method::DELETE, collection),
        other => panic!("no verb of HTTP for {other}"),
    };
    (format!("{verb} {name} of {at}"), method, path)
}

/// All that discovery says can be done.
async fn deeds(cluster: &Cluster) -> Vec<Deed> {
    let document = async |path: &str| -> Value {
        let request = Request::get(path).body(Full::<Bytes>::default()).unwrap();
        let answer = cluster.service().oneshot(request).await.unwrap();
        serde_json::from_slice(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap()
    };
    let mut versions = vec!["/api/v1".to_owned()];
    for group in document("/apis").await["groups"].as_array().unwrap() {
        let of_group = group["versions"].as_array().unwrap().iter();
        versions.extend(of_group.map(|version| format!("/apis/{}", version["groupVersion"].as_str().unwrap())));
    }
    let mut deeds = Vec::new();
    for at in versions {
        for resource in document(&at).await["resources"].as_array().unwrap() {
            let verbs = resource["verbs"].as_array().unwrap().iter();
            deeds.extend(verbs.map(|verb| deed(&at, resource, verb.as_str().unwrap())));
        }
    }
    deeds
}

/// The code of an answer to somebody with this token, or with none.
async fn code(cluster: &Cluster, token: Option<&str>, method: &Method, path: &str) -> u16 {
    let mut request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let body = if *method == Method::GET { Full::default() } else { Full::from(json!({}).to_string()) };
    cluster.front_door().oneshot(request.body(body).unwrap()).await.unwrap().status().as_u16()
}

/// What everybody who is known may ask about himself. In Kubernetes: the role `system:basic-user`.
fn is_about_oneself(deed: &str) -> bool {
    deed.starts_with("create self")
}

#[tokio::test(start_paused = true)]
async fn no_verb_of_any_kind_is_carried_out_or_tells_whether_an_object_is_there_without_credentials_or_right() {
    let cluster = cluster().await;
    let deeds = deeds(&cluster).await;
    assert!(deeds.len() > 500, "only {} deeds", deeds.len());
    for (deed, method, path) in &deeds {
        assert_eq!(code(&cluster, None, method, path).await, 403, "nobody known: {deed} at {path}");
        assert_eq!(code(&cluster, Some("another"), method, path).await, 401, "a wrong token: {deed} at {path}");
        if !is_about_oneself(deed) {
            assert_eq!(code(&cluster, Some(NOBODYS_TOKEN), method, path).await, 403, "no right: {deed} at {path}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_path_that_is_told_to_nobody_in_particular_is_one_of_few() {
    let cluster = cluster().await;
    let open = ["/healthz", "/livez", "/readyz", "/version"];
    let known = ["/api", "/apis", "/apis/apps", "/apis/apps/v1", "/api/v1", "/openapi/v2", "/openapi/v3"];
    for path in open {
        assert_eq!(code(&cluster, None, &Method::GET, path).await, 200, "{path}");
    }
    for path in known {
        assert_eq!(code(&cluster, None, &Method::GET, path).await, 403, "{path}");
        assert_eq!(code(&cluster, Some(NOBODYS_TOKEN), &Method::GET, path).await, 200, "{path}");
    }
    for path in
        ["/", "/metrics", "/logs", "/debug/pprof", "/openid/v1/jwks", "/healthz/../metrics", "//metrics", "/version/x"]
    {
        assert_eq!(code(&cluster, None, &Method::GET, path).await, 403, "{path}");
    }
    for path in ["/metrics", "/logs", "/debug/pprof"] {
        assert_eq!(code(&cluster, Some(NOBODYS_TOKEN), &Method::GET, path).await, 403, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_may_not_impersonate_is_refused_whatever_he_pretends_to_be() {
    let cluster = cluster().await;
    for (header, value) in [
        ("impersonate-user", "admin"),
        ("impersonate-user", "system:serviceaccount:kube-system:namespace-controller"),
        ("impersonate-user", "system:node:node-1"),
    ] {
        let request = Request::get("/api/v1/secrets")
            .header("authorization", format!("Bearer {NOBODYS_TOKEN}"))
            .header(header, value)
            .header("impersonate-group", "system:masters");
        let answer = cluster.front_door().oneshot(request.body(Full::<Bytes>::default()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), 403, "{header}: {value}");
    }
}
