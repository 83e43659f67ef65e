//! What somebody tries who has no credentials, or no right: every verb of every kind, and every path.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
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

/// What an administrator is answered.
async fn administer(cluster: &Cluster, method: Method, path: &str, body: &Value) -> Value {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let body = Full::<Bytes>::from(body.to_string());
    let answer = cluster.service().oneshot(request.body(body).unwrap()).await.unwrap();
    serde_json::from_slice(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";

/// A token of the account `robot`, asked for with `spec`.
async fn token(cluster: &Cluster, spec: Value) -> String {
    let asked = administer(cluster, Method::POST, &format!("{ACCOUNTS}/robot/token"), &json!({"spec": spec})).await;
    asked["status"]["token"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned()
}

/// 403 for a token that is believed (its account may do nothing), 401 for one that is not.
async fn asked_with(cluster: &Cluster, token: &str) -> u16 {
    code(cluster, Some(token), &Method::GET, "/api/v1/secrets").await
}

fn in_base64(part: &Value) -> String {
    URL_SAFE_NO_PAD.encode(part.to_string())
}

fn part(text: &str) -> Value {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_token_that_was_made_up_changed_or_is_for_somebody_else_is_nobodys() {
    let cluster = cluster().await;
    administer(&cluster, Method::POST, ACCOUNTS, &json!({"metadata": {"name": "robot"}})).await;
    let genuine = token(&cluster, json!({})).await;
    assert_eq!(asked_with(&cluster, &genuine).await, 403);

    let [header, claims, signature] = genuine.split('.').collect::<Vec<_>>().try_into().unwrap();
    let mut changed = part(claims);
    changed["sub"] = "system:serviceaccount:kube-system:namespace-controller".into();
    let mut later = part(claims);
    later["exp"] = 99_999_999_999_u64.into();
    let algorithm = |name: &str| {
        let mut header = part(header);
        header["alg"] = name.into();
        in_base64(&header)
    };
    let mut flipped = URL_SAFE_NO_PAD.decode(signature).unwrap();
    flipped[0] ^= 1;
    for (what, attack) in [
        ("another subject", format!("{header}.{}.{signature}", in_base64(&changed))),
        ("a later end", format!("{header}.{}.{signature}", in_base64(&later))),
        ("no algorithm", format!("{}.{claims}.", algorithm("none"))),
        ("no algorithm, with a signature", format!("{}.{claims}.{signature}", algorithm("none"))),
        ("the public key as a secret", format!("{}.{claims}.{signature}", algorithm("HS256"))),
        ("another algorithm", format!("{}.{claims}.{signature}", algorithm("RS256"))),
        ("another signature", format!("{header}.{claims}.{}", URL_SAFE_NO_PAD.encode(flipped))),
        ("no signature", format!("{header}.{claims}.")),
        ("two parts", format!("{header}.{claims}")),
        ("a part more", format!("{genuine}.{signature}")),
    ] {
        assert_eq!(asked_with(&cluster, &attack).await, 401, "{what}");
    }
    let elsewhere = token(&cluster, json!({"audiences": ["https://elsewhere"]})).await;
    assert_eq!(asked_with(&cluster, &elsewhere).await, 401, "for another audience");
    let other = Cluster::builder().api_server_only().start().await.unwrap();
    administer(&other, Method::POST, ACCOUNTS, &json!({"metadata": {"name": "robot"}})).await;
    let foreign = token(&other, json!({})).await;
    assert_eq!(asked_with(&cluster, &foreign).await, 401, "signed with another key");
}

#[tokio::test(start_paused = true)]
async fn a_token_ends_with_its_time_its_account_and_what_it_is_bound_to() {
    let cluster = cluster().await;
    let robot = json!({"metadata": {"name": "robot"}});
    administer(&cluster, Method::POST, ACCOUNTS, &robot).await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = json!({"metadata": {"name": "s"}});
    let uid = administer(&cluster, Method::POST, secrets, &secret).await["metadata"]["uid"].clone();
    let bound = json!({"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "s", "uid": uid}});
    let bound = token(&cluster, bound).await;
    assert_eq!(asked_with(&cluster, &bound).await, 403);
    administer(&cluster, Method::DELETE, &format!("{secrets}/s"), &json!({})).await;
    assert_eq!(asked_with(&cluster, &bound).await, 401, "what it was bound to is gone");
    administer(&cluster, Method::POST, secrets, &secret).await;
    assert_eq!(asked_with(&cluster, &bound).await, 401, "another of that name is another");

    let short = token(&cluster, json!({"expirationSeconds": 600})).await;
    let long = token(&cluster, json!({"expirationSeconds": 7200})).await;
    assert_eq!(asked_with(&cluster, &short).await, 403);
    administer(&cluster, Method::DELETE, &format!("{ACCOUNTS}/robot"), &json!({})).await;
    assert_eq!(asked_with(&cluster, &long).await, 401, "its account is gone");
    administer(&cluster, Method::POST, ACCOUNTS, &robot).await;
    assert_eq!(asked_with(&cluster, &long).await, 401, "another account of that name is another");
}

#[tokio::test(start_paused = true)]
async fn nobody_grants_what_he_has_not_got() {
    let cluster = cluster().await;
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({"metadata": {"name": "writer"}, "rules": [
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles", "clusterrolebindings"],
            "verbs": ["get", "create", "patch"]}]});
    administer(&cluster, Method::POST, &format!("{rbac}/clusterroles"), &role).await;
    let subject = json!([{"kind": "User", "name": "nobody", "apiGroup": "rbac.authorization.k8s.io"}]);
    let binding = |name: &str, role: &str| {
        json!({"metadata": {"name": name}, "subjects": subject,
            "roleRef": {"kind": "ClusterRole", "name": role, "apiGroup": "rbac.authorization.k8s.io"}})
    };
    administer(&cluster, Method::POST, &format!("{rbac}/clusterrolebindings"), &binding("writer", "writer")).await;
    let try_to = async |method: Method, path: &str, body: &Value| {
        let media_type = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let request =
            Request::builder().method(method).uri(format!("{rbac}/{path}")).header("content-type", media_type);
        let request = request.header("authorization", format!("Bearer {NOBODYS_TOKEN}"));
        let body = Full::<Bytes>::from(body.to_string());
        cluster.front_door().oneshot(request.body(body).unwrap()).await.unwrap().status().as_u16()
    };
    let more = json!({"rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]});
    let mut new = more.clone();
    new["metadata"] = json!({"name": "mine"});
    assert_eq!(try_to(Method::POST, "clusterroles", &new).await, 403, "a role with more than he has");
    assert_eq!(try_to(Method::PATCH, "clusterroles/writer", &more).await, 403, "more for his own role");
    assert_eq!(try_to(Method::POST, "clusterrolebindings", &binding("b", "cluster-admin")).await, 403);
    assert_eq!(try_to(Method::POST, "clusterrolebindings", &binding("c", "writer")).await, 201, "what he has");
}
