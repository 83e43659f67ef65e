//! Admission webhooks, answered by services in the same process, in virtual time.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use coracle::journal::{EntryId, Recorder};
use coracle::{Cluster, ServiceRoutes, Transport};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tower::service_fn;

use crate::front::{Answer, call, get, send};

/// What webhooks were asked, in order: the path and the request of the review.
type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// A program that decides by `decide` (the path, the request) what to answer as `response`.
fn program(asked: &Asked, decide: fn(&str, &Value) -> Value) -> Transport {
    let asked = Arc::clone(asked);
    Transport::to(service_fn(move |request: Request<_>| {
        let asked = Arc::clone(&asked);
        async move {
            let (head, body) = request.into_parts();
            let body: Bytes = BodyExt::collect(body).await.map(http_body_util::Collected::to_bytes).unwrap();
            let review: Value = serde_json::from_slice(&body).unwrap();
            let path = head.uri.path().to_owned();
            asked.lock().push((path.clone(), review["request"].clone()));
            if path == "/hang" {
                std::future::pending::<()>().await;
            }
            let mut response = decide(&path, &review["request"]);
            response["uid"] = review["request"]["uid"].clone();
            let answer = json!({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response});
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(answer.to_string()))))
        }
    }))
}

async fn cluster(program: Transport) -> Cluster {
    let mut routes = ServiceRoutes::default();
    routes.answer_for_service("hooks", "program", program);
    Cluster::builder().service_routes(routes).api_server_only().start().await.unwrap()
}

fn webhook(name: &str, more: Value) -> Value {
    let mut webhook = json!({
        "name": format!("{name}.example.com"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "clientConfig": {"service": {"namespace": "hooks", "name": "program", "path": format!("/{name}")}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}
    });
    for (field, value) in more.as_object().unwrap() {
        webhook[field] = value.clone();
    }
    webhook
}

async fn configure(cluster: &Cluster, sort: &str, webhooks: &[Value]) {
    let path = format!("/apis/admissionregistration.k8s.io/v1/{sort}webhookconfigurations");
    let made = call(cluster, Method::POST, &path, &json!({"metadata": {"name": sort}, "webhooks": webhooks})).await;
    assert_eq!(made.code, StatusCode::CREATED, "{:?}", made.json());
}

async fn create(cluster: &Cluster, map: Value) -> Answer {
    call(cluster, Method::POST, "/api/v1/namespaces/default/configmaps", &map).await
}

fn named(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

fn allowed() -> Value {
    json!({"allowed": true})
}

/// An answer that patches; in base64, as webhooks have to.
fn patched(patch: &Value) -> Value {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let encode = |group: &[u8]| {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
        (0..4)
            .map(|at| match at <= group.len() {
                true => char::from(SIGNS[(bits >> (18 - 6 * at) & 63) as usize]),
                false => '=',
            })
            .collect::<String>()
    };
    let patch: String = patch.to_string().as_bytes().chunks(3).map(encode).collect();
    json!({"allowed": true, "patchType": "JSONPatch", "patch": patch})
}

#[tokio::test(start_paused = true)]
async fn a_webhook_changes_what_is_stored_and_the_next_sees_it_so() {
    let asked = Asked::default();
    let cluster = cluster(program(&asked, |path, request| match path {
        "/first" => patched(&json!([{"op": "add", "path": "/data", "value": {"by": "first"}}])),
        _ => patched(&json!([{"op": "add", "path": "/data/seen", "value": request["object"]["data"]["by"]}])),
    }))
    .await;
    configure(&cluster, "mutating", &[webhook("first", json!({})), webhook("second", json!({}))]).await;
    assert_eq!(create(&cluster, named("m")).await.json()["data"], json!({"by": "first", "seen": "first"}));
    let stored = get(&cluster, "/api/v1/namespaces/default/configmaps/m").await;
    assert_eq!(stored["data"], json!({"by": "first", "seen": "first"}));
    let asked = asked.lock().clone();
    let paths: Vec<_> = asked.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["/first", "/second"]);
    let request = &asked[0].1;
    assert_eq!(request["kind"], json!({"group": "", "version": "v1", "kind": "ConfigMap"}));
    assert_eq!(request["resource"], json!({"group": "", "version": "v1", "resource": "configmaps"}));
    assert_eq!((&request["operation"], &request["name"]), (&json!("CREATE"), &json!("m")));
    assert_eq!((&request["namespace"], &request["dryRun"]), (&json!("default"), &json!(false)));
    assert_eq!(request["userInfo"]["username"], "kubernetes-admin");
    assert_eq!(request["object"]["kind"], "ConfigMap");
    assert_eq!((&request["oldObject"], &request["options"]["kind"]), (&Value::Null, &json!("CreateOptions")));
}

#[tokio::test(start_paused = true)]
async fn only_webhooks_with_reinvocation_are_called_again() {
    let asked = Asked::default();
    let cluster = cluster(program(&asked, |path, _| match path {
        "/changes" => patched(&json!([{"op": "add", "path": "/data", "value": {"a": "b"}}])),
        _ => allowed(),
    }))
    .await;
    let again = json!({"reinvocationPolicy": "IfNeeded"});
    let webhooks = [webhook("again", again.clone()), webhook("once", json!({})), webhook("changes", again)];
    configure(&cluster, "mutating", &webhooks).await;
    create(&cluster, named("m")).await;
    let paths: Vec<_> = asked.lock().iter().map(|(path, _)| path.clone()).collect();
    assert_eq!(paths, ["/again", "/once", "/changes", "/again"]);
}

#[tokio::test(start_paused = true)]
async fn a_webhook_refuses_with_its_own_words_and_code() {
    let asked = Asked::default();
    let cluster = cluster(program(&asked, |_, request| match request["operation"].as_str() {
        Some("DELETE") => {
            json!({"allowed": false, "status": {"code": 403, "reason": "Forbidden", "message": "it stays"}})
        }
        _ => json!({"allowed": true, "warnings": ["mind the gap"]}),
    }))
    .await;
    configure(&cluster, "validating", &[webhook("keeps", json!({}))]).await;
    let made = create(&cluster, named("m")).await;
    assert_eq!(made.code, StatusCode::CREATED);
    assert_eq!(made.headers["warning"], "299 - \"mind the gap\"");
    let refused = call(&cluster, Method::DELETE, "/api/v1/namespaces/default/configmaps/m", &json!({})).await;
    assert_eq!(refused.code, StatusCode::FORBIDDEN);
    assert_eq!(refused.json()["message"], "admission webhook \"keeps.example.com\" denied the request: it stays");
    let (_, request) = asked.lock().last().unwrap().clone();
    assert_eq!((&request["object"], &request["oldObject"]["metadata"]["name"]), (&Value::Null, &json!("m")));
}

#[tokio::test(start_paused = true)]
async fn a_hanging_webhook_times_out_and_its_failure_policy_decides() {
    let asked = Asked::default();
    let cluster = cluster(program(&asked, |_, _| allowed())).await;
    let began = tokio::time::Instant::now();
    configure(&cluster, "validating", &[webhook("hang", json!({"timeoutSeconds": 3}))]).await;
    let refused = create(&cluster, named("a")).await;
    assert_eq!(began.elapsed().as_secs(), 3);
    assert_eq!(refused.code, StatusCode::INTERNAL_SERVER_ERROR);
    let why = "failed calling webhook \"hang.example.com\": failed to call webhook: \
               Post \"https://program.hooks.svc:443/hang?timeout=3s\": context deadline exceeded";
    assert_eq!(refused.json()["message"], format!("Internal error occurred: {why}"));
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/validating";
    let ignoring = json!({"webhooks": [webhook("hang", json!({"timeoutSeconds": 3, "failurePolicy": "Ignore"}))]});
    assert_eq!(call(&cluster, Method::PATCH, path, &ignoring).await.code, StatusCode::OK);
    assert_eq!(create(&cluster, named("a")).await.code, StatusCode::CREATED);
    assert!(began.elapsed() < Duration::from_secs(7));
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_asks_only_those_who_have_no_side_effects() {
    let asked = Asked::default();
    let cluster = cluster(program(&asked, |_, _| allowed())).await;
    configure(&cluster, "validating", &[webhook("pure", json!({}))]).await;
    let path = "/api/v1/namespaces/default/configmaps?dryRun=All";
    assert_eq!(call(&cluster, Method::POST, path, &named("m")).await.code, StatusCode::CREATED);
    assert_eq!(asked.lock()[0].1["dryRun"], true);
    let path_of = "/apis/admissionregistration.k8s.io/v1beta1/validatingwebhookconfigurations";
    assert_eq!(call(&cluster, Method::GET, path_of, &json!({})).await.code, StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn conditions_and_selectors_spare_a_webhook_calls() {
    let asked = Asked::default();
    let cluster = cluster(program(&asked, |_, _| allowed())).await;
    let conditions = json!([{"name": "big", "expression": "has(object.data) && object.data.size() > 1"}]);
    let selector = json!({"matchLabels": {"watched": "yes"}});
    let more = json!({"matchConditions": conditions, "objectSelector": selector});
    configure(&cluster, "validating", &[webhook("picky", more)]).await;
    let map = |name: &str, watched: &str, data: Value| json!({"metadata": {"name": name, "labels": {"watched": watched}}, "data": data});
    for map in [
        map("unwatched", "no", json!({"a": "1", "b": "2"})),
        map("small", "yes", json!({"a": "1"})),
        map("big", "yes", json!({"a": "1", "b": "2"})),
    ] {
        assert_eq!(create(&cluster, map).await.code, StatusCode::CREATED);
    }
    let names: Vec<_> = asked.lock().iter().map(|(_, request)| request["name"].clone()).collect();
    assert_eq!(names, ["big"]);
}

#[tokio::test(start_paused = true)]
async fn a_rule_for_another_version_gets_the_object_in_that_version() {
    let asked = Asked::default();
    let cluster = cluster(program(&asked, |_, _| {
        patched(&json!([{"op": "replace", "path": "/spec/metrics/0/resource/target/averageUtilization", "value": 7}]))
    }))
    .await;
    let rules = json!([{"apiGroups": ["autoscaling"], "apiVersions": ["v2"], "operations": ["CREATE"],
        "resources": ["horizontalpodautoscalers"]}]);
    configure(&cluster, "mutating", &[webhook("v2", json!({"rules": rules}))]).await;
    let spec = json!({"scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
        "maxReplicas": 3, "targetCPUUtilizationPercentage": 50});
    let path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
    let made = call(&cluster, Method::POST, path, &json!({"metadata": {"name": "h"}, "spec": spec})).await;
    assert_eq!(made.code, StatusCode::CREATED, "{:?}", made.json());
    assert_eq!(made.json()["spec"]["targetCPUUtilizationPercentage"], 7);
    let request = asked.lock()[0].1.clone();
    assert_eq!((&request["kind"]["version"], &request["requestKind"]["version"]), (&json!("v2"), &json!("v1")));
    assert_eq!(request["object"]["apiVersion"], "autoscaling/v2");
}

#[tokio::test(start_paused = true)]
async fn a_webhook_is_shown_a_scale_where_a_scale_is_written_and_may_change_it() {
    let asked = Asked::default();
    let cluster = cluster(program(&asked, |path, _| match path {
        "/changes" => patched(&json!([{"op": "replace", "path": "/spec/replicas", "value": 7}])),
        _ => allowed(),
    }))
    .await;
    let rules = json!([{"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments/scale"], "operations": ["*"]}]);
    configure(&cluster, "mutating", &[webhook("changes", json!({"rules": rules}))]).await;
    configure(&cluster, "validating", &[webhook("sees", json!({"rules": rules}))]).await;
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let deployment = json!({"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
        "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    assert_eq!(call(&cluster, Method::POST, deployments, &deployment).await.code, StatusCode::CREATED);
    let scale = json!({"metadata": {"name": "d"}, "spec": {"replicas": 3}});
    let path = format!("{deployments}/d/scale?fieldManager=tool");
    let written = call(&cluster, Method::PUT, &path, &scale).await;
    assert_eq!((written.code, &written.json()["spec"]), (StatusCode::OK, &json!({"replicas": 7})));
    assert_eq!(get(&cluster, &format!("{deployments}/d")).await["spec"]["replicas"], 7);

    let asked = asked.lock().clone();
    let paths: Vec<_> = asked.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["/changes", "/sees"]);
    for ((_, request), replicas) in asked.iter().zip([3, 7]) {
        let kind = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
        assert_eq!((&request["kind"], &request["requestKind"]), (&kind, &kind));
        assert_eq!((&request["subResource"], &request["requestSubResource"]), (&json!("scale"), &json!("scale")));
        assert_eq!(
            (&request["object"]["kind"], &request["object"]["spec"]),
            (&json!("Scale"), &json!({"replicas": replicas}))
        );
        assert_eq!(
            (&request["oldObject"]["kind"], &request["oldObject"]["spec"]),
            (&json!("Scale"), &json!({"replicas": 1}))
        );
        let options = json!({"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions", "fieldManager": "tool"});
        assert_eq!(request["options"], options);
        assert!(request["userInfo"].get("extra").is_none(), "{}", request["userInfo"]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_eviction_is_shown_as_one_in_its_newest_version_and_not_as_a_deletion() {
    let asked = Asked::default();
    let cluster = cluster(program(&asked, |_, _| allowed())).await;
    let pods = "/api/v1/namespaces/default/pods";
    let account = call(&cluster, Method::POST, "/api/v1/namespaces/default/serviceaccounts", &named("default")).await;
    assert!(account.code == StatusCode::CREATED || account.code == StatusCode::CONFLICT, "{:?}", account.json());
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    assert_eq!(call(&cluster, Method::POST, pods, &pod).await.code, StatusCode::CREATED);
    let rules =
        json!([{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/*", "pods"], "operations": ["*"]}]);
    configure(&cluster, "validating", &[webhook("sees", json!({"rules": rules}))]).await;
    let path = format!("{pods}/p/eviction");
    let other = call(&cluster, Method::POST, &path, &named("q")).await;
    assert_eq!(other.json()["message"], "name in URL does not match name in Eviction object");
    let eviction = json!({"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "p"}});
    assert_eq!(call(&cluster, Method::POST, &path, &eviction).await.code, StatusCode::CREATED);
    let asked = asked.lock().clone();
    let seen: Vec<_> = asked.iter().map(|(_, request)| (&request["operation"], &request["kind"])).collect();
    let kind = json!({"group": "policy", "version": "v1", "kind": "Eviction"});
    assert_eq!(seen, [(&json!("CREATE"), &kind)]);
}

#[tokio::test(start_paused = true)]
async fn a_url_is_not_called_in_virtual_time_without_a_local_handler() {
    let asked = Asked::default();
    let cluster = cluster(program(&asked, |_, _| allowed())).await;
    let url = json!({"clientConfig": {"url": "https://127.0.0.1:9/x"}});
    configure(&cluster, "validating", &[webhook("url", url)]).await;
    let refused = create(&cluster, named("m")).await;
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("in virtual time the server calls services in this process only"), "{message}");
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/validating";
    let removed = send(&cluster, Request::delete(path).body(Vec::new()).unwrap()).await;
    assert_eq!(removed.code, StatusCode::OK, "configurations themselves are not held up");
    assert_eq!(create(&cluster, named("m")).await.code, StatusCode::CREATED);
}

#[tokio::test(start_paused = true)]
async fn an_invalid_response_is_an_error_with_a_reason() {
    let asked = Asked::default();
    let cluster = cluster(program(&asked, |_, _| patched(&json!([{"op": "remove", "path": "/absent"}])))).await;
    configure(&cluster, "mutating", &[webhook("odd", json!({}))]).await;
    let refused = create(&cluster, named("m")).await;
    assert_eq!(refused.code, StatusCode::INTERNAL_SERVER_ERROR, "{:?}", refused.json());
    let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/mutating";
    send(&cluster, Request::delete(path).body(Vec::new()).unwrap()).await;
    configure(&cluster, "validating", &[webhook("odd", json!({}))]).await;
    let refused = create(&cluster, named("m")).await;
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    assert!(message.ends_with("received invalid webhook response: validating webhook may not return response.patch"));
}

/// The event log of a cluster with nodes and controllers, in which a webhook labels each pod and another looks at it, each
/// after a while.
fn log_of(seed: u64) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let asked = Asked::default();
        let answers = program(&asked, |path, _| match path {
            "/label" => patched(&json!([{"op": "add", "path": "/metadata/labels/seen", "value": "yes"}])),
            _ => allowed(),
        });
        let mut routes = ServiceRoutes::default();
        let late = tower::ServiceBuilder::new().map_future(|answer| async {
            tokio::time::sleep(Duration::from_millis(3)).await;
            answer.await
        });
        routes.answer_for_service("hooks", "program", Transport::to(late.service(answers)));
        let log = Recorder::ring(200_000);
        let cluster = Cluster::builder().seed(seed).nodes(2).recorder(log.clone()).service_routes(routes);
        let cluster = cluster.start().await.unwrap();
        let pods = json!([{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}]);
        configure(&cluster, "mutating", &[webhook("label", json!({"rules": pods}))]).await;
        configure(&cluster, "validating", &[webhook("look", json!({"rules": pods}))]).await;
        let labels = json!({"app": "web"});
        let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        let spec = json!({"replicas": 4, "selector": {"matchLabels": labels}, "template": template});
        let deployments = "/apis/apps/v1/namespaces/default/deployments";
        let made = call(&cluster, Method::POST, deployments, &json!({"metadata": {"name": "web"}, "spec": spec})).await;
        assert_eq!(made.code, StatusCode::CREATED, "{:?}", made.json());
        tokio::time::sleep(Duration::from_secs(30)).await;
        let labelled = get(&cluster, "/api/v1/namespaces/default/pods?labelSelector=seen%3Dyes").await;
        assert_eq!(labelled["items"].as_array().unwrap().len(), 4);
        cluster.shutdown().await;
        let entries = log.entries(EntryId(0));
        entries.iter().map(|entry| serde_json::to_string(entry).unwrap() + "\n").collect()
    })
}

#[test]
fn the_same_seed_gives_the_same_log_with_webhooks_in_it() {
    let first = log_of(5);
    assert!(first.matches("webhook.answer").count() >= 8, "each pod was labelled and looked at");
    assert!(first == log_of(5), "the same seed gives another log");
    assert!(first != log_of(6), "another seed gives the same log");
}

#[tokio::test(start_paused = true)]
async fn managed_fields_that_a_webhook_makes_invalid_are_restored_with_a_warning() {
    let asked = Asked::default();
    let empties =
        |_: &str, _: &Value| patched(&json!([{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]));
    let cluster = cluster(program(&asked, empties)).await;
    let hooks = json!({"metadata": {"name": "w"}, "webhooks": [webhook("empties", json!({}))]});
    let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    assert_eq!(call(&cluster, Method::POST, path, &hooks).await.code, StatusCode::CREATED);
    let object = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
    let made = call(&cluster, Method::POST, "/api/v1/namespaces/default/configmaps", &object).await;
    assert_eq!(made.code, StatusCode::CREATED, "{:?}", made.json());
    let expected = ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated \
        mutating admission controller; please fix your requests: operation must be `Apply` or `Update`";
    let warning = made.headers["warning"].to_str().unwrap().to_owned();
    assert!(warning.contains(expected), "{warning}");
    let entry = made.json()["metadata"]["managedFields"][0].clone();
    assert_eq!(entry["fieldsV1"], json!({"f:data": {".": {}, "f:k": {}}}));
    assert_eq!(asked.lock().len(), 1);
}
