//! What somebody tries who has no credentials, or no right: every verb of every kind, and every path.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use coracle_cluster::{ApiServerOptions, Audit, AuditPolicy, AuditSink, Cluster, PathRequest, PathService};
use coracle_meta::Status;
use coracle_store::{Operation, Txn};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;

/// Somebody who is known and was given nothing.
const UNPRIVILEGED_TOKEN: &str = "a-token-of-nobody";

async fn cluster() -> Cluster {
    let spec =
        ApiServerOptions { tokens: Some(format!("{UNPRIVILEGED_TOKEN},nobody,uid")), ..ApiServerOptions::default() };
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
async fn no_verb_runs_or_reveals_an_object_without_credentials_or_permission() {
    let cluster = cluster().await;
    let deeds = deeds(&cluster).await;
    assert!(deeds.len() > 500, "only {} deeds", deeds.len());
    for (deed, method, path) in &deeds {
        assert_eq!(code(&cluster, None, method, path).await, 403, "nobody known: {deed} at {path}");
        assert_eq!(code(&cluster, Some("another"), method, path).await, 401, "a wrong token: {deed} at {path}");
        if !is_about_oneself(deed) {
            assert_eq!(code(&cluster, Some(UNPRIVILEGED_TOKEN), method, path).await, 403, "no right: {deed} at {path}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn few_paths_are_public() {
    let cluster = cluster().await;
    let open = ["/healthz", "/livez", "/readyz", "/version"];
    let known = ["/api", "/apis", "/apis/apps", "/apis/apps/v1", "/api/v1", "/openapi/v2", "/openapi/v3"];
    for path in open {
        assert_eq!(code(&cluster, None, &Method::GET, path).await, 200, "{path}");
    }
    for path in known {
        assert_eq!(code(&cluster, None, &Method::GET, path).await, 403, "{path}");
        assert_eq!(code(&cluster, Some(UNPRIVILEGED_TOKEN), &Method::GET, path).await, 200, "{path}");
    }
    for path in
        ["/", "/metrics", "/logs", "/debug/pprof", "/openid/v1/jwks", "/healthz/../metrics", "//metrics", "/version/x"]
    {
        assert_eq!(code(&cluster, None, &Method::GET, path).await, 403, "{path}");
    }
    for path in ["/metrics", "/logs", "/debug/pprof"] {
        assert_eq!(code(&cluster, Some(UNPRIVILEGED_TOKEN), &Method::GET, path).await, 403, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn impersonation_without_permission_is_refused() {
    let cluster = cluster().await;
    for (header, value) in [
        ("impersonate-user", "admin"),
        ("impersonate-user", "system:serviceaccount:kube-system:namespace-controller"),
        ("impersonate-user", "system:node:node-1"),
    ] {
        let request = Request::get("/api/v1/secrets")
            .header("authorization", format!("Bearer {UNPRIVILEGED_TOKEN}"))
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
async fn forged_altered_or_foreign_tokens_are_rejected() {
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
    // In virtual time the key follows from the seed.
    let other = Cluster::builder().seed(1).api_server_only().start().await.unwrap();
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
async fn users_cannot_grant_permissions_that_they_do_not_have() {
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
        let request = request.header("authorization", format!("Bearer {UNPRIVILEGED_TOKEN}"));
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

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// Gives the user `nobody` a role with these rules.
async fn give(cluster: &Cluster, rules: Value) {
    let role = json!({"metadata": {"name": "given"}, "rules": rules});
    administer(cluster, Method::POST, &format!("{RBAC}/clusterroles"), &role).await;
    bind(cluster, "given").await;
}

async fn bind(cluster: &Cluster, role: &str) {
    let binding = binding(role, "ClusterRole", role);
    let bound = administer(cluster, Method::POST, &format!("{RBAC}/clusterrolebindings"), &binding).await;
    assert_eq!(bound["roleRef"]["name"], role, "{bound}");
}

/// A binding of a role to the user `nobody`.
fn binding(name: &str, kind: &str, role: &str) -> Value {
    let group = "rbac.authorization.k8s.io";
    json!({"metadata": {"name": name}, "subjects": [{"kind": "User", "name": "nobody", "apiGroup": group}],
        "roleRef": {"kind": kind, "name": role, "apiGroup": group}})
}

/// What the user `nobody` is answered: the code, and the message of a refusal.
async fn tried(cluster: &Cluster, method: Method, path: &str, media_type: &str, body: &Value) -> (u16, String) {
    let request = Request::builder().method(method).uri(path).header("content-type", media_type);
    let request = request.header("authorization", format!("Bearer {UNPRIVILEGED_TOKEN}"));
    let body = Full::<Bytes>::from(body.to_string());
    let answer = cluster.front_door().oneshot(request.body(body).unwrap()).await.unwrap();
    let code = answer.status().as_u16();
    let body: Value = serde_json::from_slice(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap();
    (code, body["message"].as_str().unwrap_or_default().to_owned())
}

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

fn editor_of_roles(verbs: &[&str]) -> Value {
    json!({"apiGroups": ["rbac.authorization.k8s.io"], "verbs": verbs,
        "resources": ["roles", "clusterroles", "rolebindings", "clusterrolebindings"]})
}

#[tokio::test(start_paused = true)]
async fn an_aggregation_rule_needs_the_rights_of_an_administrator_however_it_is_written() {
    let cluster = cluster().await;
    give(&cluster, json!([editor_of_roles(&["get", "create", "update", "patch"])])).await;
    let roles = format!("{RBAC}/clusterroles");
    let gathers = json!({"clusterRoleSelectors": [{"matchLabels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}]});
    let gathered = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "mine"}, "aggregationRule": gathers});
    let refused = |name: &str| {
        let why = "must have cluster-admin privileges to use the aggregationRule";
        (403, format!("clusterroles.rbac.authorization.k8s.io {name:?} is forbidden: {why}"))
    };
    let mine = format!("{roles}/mine");
    for (method, path, media_type) in [
        (Method::POST, roles.clone(), JSON),
        (Method::POST, format!("{roles}?dryRun=All"), JSON),
        (Method::PUT, mine.clone(), JSON),
        (Method::PATCH, format!("{mine}?fieldManager=m"), APPLY),
        (Method::PATCH, format!("{mine}?fieldManager=m&dryRun=All"), APPLY),
    ] {
        let answer = tried(&cluster, method.clone(), &path, media_type, &gathered).await;
        assert_eq!(answer, refused("mine"), "{method} {path} creates");
    }
    let given = format!("{roles}/given");
    let mut whole = administer(&cluster, Method::GET, &given, &Value::Null).await;
    whole["aggregationRule"] = gathers.clone();
    for (method, media_type, body) in [
        (Method::PUT, JSON, whole.clone()),
        (Method::PATCH, MERGE, json!({"aggregationRule": gathers})),
        (Method::PATCH, "application/strategic-merge-patch+json", json!({"aggregationRule": gathers})),
        (
            Method::PATCH,
            "application/json-patch+json",
            json!([{"op": "add", "path": "/aggregationRule", "value": gathers}]),
        ),
    ] {
        let answer = tried(&cluster, method, &given, media_type, &body).await;
        assert_eq!(answer, refused("given"), "{media_type} changes");
    }
    // Nor is a role written that gathers already, whatever of it changes, and whatever is taken from it.
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(tried(&cluster, Method::PATCH, &format!("{roles}/view"), MERGE, &label).await.0, 403);
    administer(&cluster, Method::POST, &roles, &gathered).await;
    let without = json!({"aggregationRule": null});
    assert_eq!(tried(&cluster, Method::PATCH, &mine, MERGE, &without).await.0, 403);
    // What only the garbage collector needs is no grant.
    let owned = json!({"metadata": {"finalizers": ["example.com/kept"]}});
    assert_eq!(tried(&cluster, Method::PATCH, &mine, MERGE, &owned).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_label_that_adds_a_role_to_one_that_gathers_needs_what_the_role_grants() {
    let cluster = cluster().await;
    give(&cluster, json!([editor_of_roles(&["get", "create", "update", "patch"])])).await;
    let label = json!({"metadata": {"labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}}});
    let role = format!("{RBAC}/clusterroles/cluster-admin");
    let (code, message) = tried(&cluster, Method::PATCH, &role, MERGE, &label).await;
    let expected = "clusterroles.rbac.authorization.k8s.io \"cluster-admin\" is forbidden: user \"nobody\" \
        (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n\
        {APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}\n{NonResourceURLs:[\"*\"], Verbs:[\"*\"]}";
    assert_eq!((code, message.as_str()), (403, expected));
    assert_eq!(tried(&cluster, Method::PATCH, &format!("{role}?dryRun=All"), MERGE, &label).await.0, 403);
    let own = format!("{RBAC}/clusterroles/given");
    assert_eq!(tried(&cluster, Method::PATCH, &own, MERGE, &label).await.0, 200, "what the user holds");
}

#[tokio::test(start_paused = true)]
async fn a_role_that_is_not_there_is_bound_by_those_alone_who_may_bind_it() {
    let cluster = cluster().await;
    give(&cluster, json!([editor_of_roles(&["get", "create", "update", "patch"])])).await;
    let of_cluster = format!("{RBAC}/clusterrolebindings");
    let of_namespace = format!("{RBAC}/namespaces/default/rolebindings");
    let mut applied = binding("x", "ClusterRole", "later");
    applied["apiVersion"] = "rbac.authorization.k8s.io/v1".into();
    applied["kind"] = "ClusterRoleBinding".into();
    // The message names the resource that was asked for, as in Kubernetes.
    let missing = |plural: &str| (404, format!("{plural}.rbac.authorization.k8s.io \"later\" not found"));
    for (method, path, media_type, body, plural) in [
        (Method::POST, of_cluster.clone(), JSON, binding("x", "ClusterRole", "later"), "clusterrolebindings"),
        (
            Method::POST,
            format!("{of_cluster}?dryRun=All"),
            JSON,
            binding("x", "ClusterRole", "later"),
            "clusterrolebindings",
        ),
        (Method::PUT, format!("{of_cluster}/x"), JSON, binding("x", "ClusterRole", "later"), "clusterrolebindings"),
        (Method::PATCH, format!("{of_cluster}/x?fieldManager=m"), APPLY, applied, "clusterrolebindings"),
        (Method::POST, of_namespace.clone(), JSON, binding("x", "ClusterRole", "later"), "rolebindings"),
        (Method::POST, of_namespace.clone(), JSON, binding("x", "Role", "later"), "rolebindings"),
    ] {
        let answer = tried(&cluster, method.clone(), &path, media_type, &body).await;
        assert_eq!(answer, missing(plural), "{method} {path}");
    }
    // Another's binding of a role that is not there is not widened, either.
    administer(&cluster, Method::POST, &of_cluster, &binding("theirs", "ClusterRole", "later")).await;
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    let answer = tried(&cluster, Method::PATCH, &format!("{of_cluster}/theirs"), MERGE, &label).await;
    assert_eq!(answer, missing("clusterrolebindings"));
    let rule = json!({"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"],
        "resourceNames": ["later"], "verbs": ["bind"]});
    let binder = json!({"metadata": {"name": "binder"}, "rules": [rule]});
    administer(&cluster, Method::POST, &format!("{RBAC}/clusterroles"), &binder).await;
    bind(&cluster, "binder").await;
    let body = binding("x", "ClusterRole", "later");
    assert_eq!(tried(&cluster, Method::POST, &of_cluster, JSON, &body).await.0, 201, "who may bind it");
}

#[tokio::test(start_paused = true)]
async fn the_right_to_escalate_a_role_of_a_name_is_no_right_to_create_it() {
    let cluster = cluster().await;
    let rule = json!({"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"],
        "resourceNames": ["mine"], "verbs": ["escalate"]});
    give(&cluster, json!([editor_of_roles(&["get", "create", "update", "patch"]), rule])).await;
    let role = json!({"metadata": {"name": "mine"},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]});
    let roles = format!("{RBAC}/clusterroles");
    // A POST names no object in its path, so that a right to one name does not cover it.
    assert_eq!(tried(&cluster, Method::POST, &roles, JSON, &role).await.0, 403);
    assert_eq!(tried(&cluster, Method::PUT, &format!("{roles}/mine"), JSON, &role).await.0, 201);
}

#[tokio::test(start_paused = true)]
async fn an_identity_in_a_header_that_is_not_ascii_is_taken_or_refused_and_never_passed_over() {
    let cluster = cluster().await;
    let users = json!({"apiGroups": [""], "resources": ["users", "groups"], "verbs": ["impersonate"]});
    let extras = json!({"apiGroups": ["authentication.k8s.io"], "resources": ["uids", "userextras/scope"],
        "verbs": ["impersonate"]});
    give(&cluster, json!([users, extras, {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}])).await;
    let asked = async |headers: &[(&str, &[u8])]| {
        let mut request =
            Request::get("/api/v1/secrets").header("authorization", format!("Bearer {UNPRIVILEGED_TOKEN}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = cluster.front_door().oneshot(request.body(Full::<Bytes>::default()).unwrap()).await.unwrap();
        let code = answer.status().as_u16();
        let body: Value = serde_json::from_slice(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap();
        (code, body["message"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(asked(&[]).await.0, 200, "the proxy itself");
    let (code, message) = asked(&[("impersonate-user", "jürgen".as_bytes())]).await;
    assert!(code == 403 && message.contains("User \"jürgen\" cannot list resource \"secrets\""), "{message}");
    let in_latin_1 = &b"j\xfcrgen"[..];
    assert_eq!(asked(&[("impersonate-user", in_latin_1)]).await.0, 400);
    for more in ["impersonate-group", "impersonate-uid", "impersonate-extra-scope"] {
        assert_eq!(asked(&[("impersonate-user", b"nobody"), (more, in_latin_1)]).await.0, 400, "{more}");
        assert_eq!(asked(&[(more, "ü".as_bytes())]).await.0, 400, "{more} without a user");
    }
    for token in ["Bearer schlüssel".as_bytes(), b"Bearer schl\xfcssel"] {
        let request = Request::get("/version").header("authorization", token);
        let answer = cluster.front_door().oneshot(request.body(Full::<Bytes>::default()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), 401);
    }
}

#[tokio::test(start_paused = true)]
async fn a_web_socket_that_cannot_set_headers_shows_its_token_as_a_subprotocol() {
    let cluster = cluster().await;
    let asked = async |token: &str, upgrade: &str| {
        let offered = format!("base64url.bearer.authorization.k8s.io.{}, x", URL_SAFE_NO_PAD.encode(token));
        let request = Request::get("/apis").header("connection", "Upgrade").header("upgrade", upgrade);
        let request = request.header("sec-websocket-protocol", offered).body(Full::<Bytes>::default()).unwrap();
        cluster.front_door().oneshot(request).await.unwrap().status().as_u16()
    };
    assert_eq!(asked(UNPRIVILEGED_TOKEN, "websocket").await, 200);
    assert_eq!(asked("another", "websocket").await, 401);
    assert_eq!(asked(UNPRIVILEGED_TOKEN, "h2c").await, 403, "no WebSocket shows a token so");
}

#[tokio::test(start_paused = true)]
async fn a_stored_api_service_of_a_built_in_group_takes_nothing_over() {
    let cluster = cluster().await;
    let groups = administer(&cluster, Method::GET, "/apis", &Value::Null).await;
    let versions = groups["groups"].as_array().unwrap().iter().flat_map(|group| group["versions"].as_array().unwrap());
    let versions: Vec<String> = versions.map(|version| version["groupVersion"].as_str().unwrap().to_owned()).collect();
    for of in versions.iter().map(String::as_str).chain(["other.example/v1"]) {
        let (group, version) = of.split_once('/').unwrap();
        let spec = json!({"group": group, "version": version, "groupPriorityMinimum": 2000, "versionPriority": 100,
            "service": {"namespace": "default", "name": "evil", "port": 443}, "insecureSkipTLSVerify": true});
        let metadata = json!({"name": format!("{version}.{group}"), "uid": format!("uid-{of}")});
        let object = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": metadata, "spec": spec});
        let key = format!("/registry/apiregistration.k8s.io/apiservices/{version}.{group}");
        let success = vec![Operation::put(key, object.to_string().into_bytes())];
        let write = Txn { compare: Vec::new(), success, failure: Vec::new(), cause: None };
        cluster.store().txn(write).await.unwrap();
    }
    // An hour is longer than anything takes by which the set of other servers is found out.
    tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
    let other = code(&cluster, Some("another"), &Method::GET, "/apis/other.example/v1").await;
    assert_eq!(other, 401, "credentials come first");
    let request = Request::get("/apis/other.example/v1").body(Full::<Bytes>::default()).unwrap();
    assert_eq!(cluster.service().oneshot(request).await.unwrap().status(), 503, "the other server is known");
    for of in &versions {
        let resources = administer(&cluster, Method::GET, &format!("/apis/{of}"), &Value::Null).await;
        assert_eq!(resources["kind"], "APIResourceList", "{of}: {resources}");
    }
    let spec = json!({"user": "nobody", "resourceAttributes": {"verb": "delete", "resource": "nodes"}});
    let reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let review = administer(&cluster, Method::POST, reviews, &json!({"spec": spec})).await;
    assert_eq!(review["status"]["allowed"], false, "{review}");
}

#[derive(Default)]
struct Lines(parking_lot::Mutex<Vec<Value>>);

impl AuditSink for Lines {
    fn take(&self, line: Vec<u8>) {
        self.0.lock().push(serde_json::from_slice(&line).unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn paths_outside_the_api_are_authenticated_authorized_and_audited() {
    let policy =
        "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n";
    let lines = Arc::new(Lines::default());
    let policy = Arc::new(AuditPolicy::parse(policy).unwrap());
    let audit = Audit { policy, sink: Arc::clone(&lines) as Arc<dyn AuditSink> };
    let tokens = Some(format!("{UNPRIVILEGED_TOKEN},nobody,uid"));
    let spec = ApiServerOptions { tokens, audit: Some(audit), ..ApiServerOptions::default() };
    let cluster = Cluster::builder().api_server(spec).api_server_only().start().await.unwrap();
    let service = PathService::new(async |asked: PathRequest| match asked.user.name.as_str() {
        "nobody" if asked.method == Method::GET => Ok(http::Response::new(Full::new(Bytes::from_static(b"secret")))),
        _ => Err(Status::failure(405, "MethodNotAllowed", "only GET")),
    });
    let asked = async |token: Option<&str>, method: Method| {
        let mut request = Request::builder().method(method).uri("/beside/the/api").extension(service.clone());
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let answer = cluster.front_door().oneshot(request.body(Full::<Bytes>::default()).unwrap()).await.unwrap();
        let code = answer.status().as_u16();
        (code, answer.into_body().collect().await.unwrap().to_bytes())
    };
    for method in [Method::GET, Method::HEAD, Method::POST] {
        assert_eq!(asked(None, method.clone()).await.0, 403, "{method}");
        assert_eq!(asked(Some("another"), method.clone()).await.0, 401, "{method}");
        assert_eq!(asked(Some(UNPRIVILEGED_TOKEN), method.clone()).await.0, 403, "{method}");
    }
    give(&cluster, json!([{"nonResourceURLs": ["/beside/*"], "verbs": ["get", "post"]}])).await;
    lines.0.lock().clear();
    assert_eq!(asked(Some(UNPRIVILEGED_TOKEN), Method::GET).await, (200, Bytes::from_static(b"secret")));
    assert_eq!(asked(Some(UNPRIVILEGED_TOKEN), Method::POST).await.0, 405);
    let events: Vec<String> = lines
        .0
        .lock()
        .iter()
        .map(|event| {
            let text = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
            format!(
                "{} {} {} {}",
                event["user"]["username"],
                text("verb"),
                text("requestURI"),
                event["responseStatus"]["code"]
            )
        })
        .collect();
    assert_eq!(events.last().unwrap(), "\"nobody\" post /beside/the/api 405");
    assert!(events.contains(&"\"nobody\" get /beside/the/api 200".to_owned()), "{events:?}");
}

/// A certificate request in PEM and base64, for a member of `system:masters`.
fn request_of_a_master() -> String {
    let mut params = rcgen::CertificateParams::default();
    params.distinguished_name.push(rcgen::DnType::OrganizationName, "system:masters");
    params.distinguished_name.push(rcgen::DnType::CommonName, "eve");
    let request = params.serialize_request(&rcgen::KeyPair::generate().unwrap()).unwrap();
    base64::engine::general_purpose::STANDARD.encode(request.pem().unwrap())
}

#[tokio::test(start_paused = true)]
async fn no_signer_of_kubernetes_certifies_a_master_and_there_is_no_legacy_signer() {
    let cluster = cluster().await;
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    give(
        &cluster,
        json!([{"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"],
        "verbs": ["create", "update", "patch", "get"]}]),
    )
    .await;
    let request = |signer: &str| {
        json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "eve"},
            "spec": {"request": request_of_a_master(), "signerName": signer, "usages": ["client auth"]}})
    };
    let (code, message) =
        tried(&cluster, Method::POST, path, JSON, &request("kubernetes.io/kube-apiserver-client")).await;
    let expected = "certificatesigningrequests.certificates.k8s.io \"eve\" is forbidden: use of \
        kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed";
    assert_eq!((code, message.as_str()), (403, expected));
    let legacy = request("kubernetes.io/legacy-unknown");
    let object = format!("{path}/eve?fieldManager=m");
    for (method, path, media_type) in [(Method::POST, path, JSON), (Method::PATCH, object.as_str(), APPLY)] {
        let (code, message) = tried(&cluster, method, path, media_type, &legacy).await;
        let expected = "CertificateSigningRequest.certificates.k8s.io \"eve\" is invalid: spec.signerName: Invalid value: \
            \"kubernetes.io/legacy-unknown\": the legacy signerName is not allowed via this API version";
        assert_eq!((code, message.as_str()), (422, expected));
    }
}

/// A definition of a kind, in a version of its group.
fn definition(group: &str, version: &str, plural: &str, kind: &str) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let names =
        json!({"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")});
    let approved = json!({"api-approved.kubernetes.io": "unapproved, experimental"});
    json!({"metadata": {"name": format!("{plural}.{group}"), "annotations": approved},
        "spec": {"group": group, "scope": "Namespaced", "names": names,
            "versions": [{"name": version, "served": true, "storage": true, "schema": schema}]}})
}

#[tokio::test(start_paused = true)]
async fn a_definition_takes_no_built_in_kind_over_and_takes_none_of_its_objects_along() {
    let cluster = cluster().await;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let groups = administer(&cluster, Method::GET, "/apis", &Value::Null).await;
    let mut kinds = Vec::new();
    for group in groups["groups"].as_array().unwrap() {
        for version in group["versions"].as_array().unwrap() {
            let at = format!("/apis/{}", version["groupVersion"].as_str().unwrap());
            let resources = administer(&cluster, Method::GET, &at, &Value::Null).await["resources"].clone();
            kinds.extend(resources.as_array().unwrap().iter().cloned().map(|resource| (at.clone(), resource)));
        }
    }
    // The group of a definition has a dot.
    let may_be_defined = |at: &str, resource: &Value| {
        let is_listed = resource["verbs"].as_array().unwrap().contains(&"list".into());
        is_listed && at.contains('.') && resource["name"] != "customresourcedefinitions"
    };
    kinds.retain(|(at, resource)| may_be_defined(at, resource));
    assert!(kinds.len() > 25, "only {} kinds", kinds.len());
    let policy = json!({"metadata": {"name": "p"}, "spec": {"podSelector": {}}});
    let policies = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies";
    administer(&cluster, Method::POST, policies, &policy).await;
    let listed = async |at: &str, plural: &str| {
        let list = administer(&cluster, Method::GET, &format!("{at}/{plural}"), &Value::Null).await;
        let items = list["items"].as_array().unwrap_or_else(|| panic!("{at}/{plural}: {list}")).clone();
        (list["kind"].clone(), items.iter().map(|item| item["metadata"]["name"].clone()).collect::<Vec<_>>())
    };
    let settled = || tokio::time::sleep(std::time::Duration::from_secs(30));
    for (at, resource) in &kinds {
        let (group, version) = at.strip_prefix("/apis/").unwrap().split_once('/').unwrap();
        let (plural, kind) = (resource["name"].as_str().unwrap(), resource["kind"].as_str().unwrap());
        let before = listed(at, plural).await;
        for version in [version, "v9"] {
            let body = definition(group, version, plural, kind);
            let made = administer(&cluster, Method::POST, definitions, &body).await;
            assert_eq!(made["kind"], "CustomResourceDefinition", "{made}");
            settled().await;
            assert_eq!(listed(at, plural).await, before, "defined as {version}");
            let path = format!("{definitions}/{plural}.{group}");
            administer(&cluster, Method::DELETE, &path, &json!({})).await;
            settled().await;
            let gone = administer(&cluster, Method::GET, &path, &Value::Null).await;
            assert_eq!(gone["code"], 404, "{gone}");
            assert_eq!(listed(at, plural).await, before, "after the definition of {version}");
        }
    }
    assert_eq!(asked_with(&cluster, UNPRIVILEGED_TOKEN).await, 403, "roles still count");
}
