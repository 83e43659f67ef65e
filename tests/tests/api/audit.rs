//! The audit log, as a program that reads it sees it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use coracle::{Audit, AuditPolicy, AuditSink, Cluster, User};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::front::{Answer, call, send};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[derive(Default)]
struct Lines(Mutex<Vec<Value>>);

impl AuditSink for Lines {
    fn take(&self, line: Vec<u8>) {
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        self.0.lock().push(serde_json::from_slice(&line).unwrap());
    }
}

/// A cluster that keeps what these rules say of what people do.
async fn audited(rules: &str) -> (Cluster, Arc<Lines>) {
    let lines = Arc::new(Lines::default());
    let quiet = "- {level: None, users: [system:apiserver]}";
    let policy = format!("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n{quiet}\n{rules}\n");
    let policy = Arc::new(AuditPolicy::parse(&policy).unwrap());
    let audit = Audit { policy, sink: Arc::clone(&lines) as Arc<dyn AuditSink> };
    (Cluster::builder().audit(audit).api_server_only().start().await.unwrap(), lines)
}

fn stages(lines: &Lines) -> Vec<String> {
    lines.0.lock().iter().map(|event| event["stage"].as_str().unwrap().to_owned()).collect()
}

async fn create(cluster: &Cluster, name: &str) -> Answer {
    call(cluster, Method::POST, MAPS, &json!({"metadata": {"name": name}, "data": {"a": "b"}})).await
}

#[tokio::test(start_paused = true)]
async fn an_audited_write_has_user_verb_reason_and_both_objects() {
    let (cluster, lines) = audited("- {level: RequestResponse, omitManagedFields: true}").await;
    let made = create(&cluster, "m").await;
    assert_eq!(stages(&lines), ["RequestReceived", "ResponseComplete"]);
    let event = lines.0.lock()[1].clone();
    assert_eq!((&event["kind"], &event["apiVersion"]), (&json!("Event"), &json!("audit.k8s.io/v1")));
    assert_eq!(event["auditID"].as_str(), made.headers["audit-id"].to_str().ok());
    assert_eq!(
        (&event["requestURI"], &event["verb"], &event["level"]),
        (&json!(MAPS), &json!("create"), &json!("RequestResponse"))
    );
    assert_eq!(
        event["user"],
        json!({"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]})
    );
    let reference = json!({"resource": "configmaps", "namespace": "default", "name": "m", "apiVersion": "v1"});
    assert_eq!(event["objectRef"], reference);
    assert_eq!(event["responseStatus"], json!({"metadata": {}, "code": 201}));
    assert_eq!(
        (&event["requestObject"]["data"]["a"], &event["responseObject"]["data"]["a"]),
        (&json!("b"), &json!("b"))
    );
    assert_eq!(event["responseObject"]["metadata"]["managedFields"], Value::Null);
    assert_eq!(event["annotations"]["authorization.k8s.io/decision"], "allow");
    assert!(lines.0.lock()[0]["responseStatus"].is_null() && lines.0.lock()[0]["requestObject"].is_null());
}

#[tokio::test(start_paused = true)]
async fn of_metadata_no_object_is_kept_and_a_stage_that_is_left_out_is_not_written() {
    let (cluster, lines) = audited("- {level: Metadata, omitStages: [RequestReceived]}").await;
    create(&cluster, "m").await;
    let patch = json!({"data": {"a": "secret"}});
    call(&cluster, Method::PATCH, &format!("{MAPS}/m"), &patch).await;
    assert_eq!(stages(&lines), ["ResponseComplete", "ResponseComplete"]);
    let all = lines.0.lock().iter().map(ToString::to_string).collect::<String>();
    assert!(!all.contains("secret") && !all.contains("Object\":"), "{all}");
}

#[tokio::test(start_paused = true)]
async fn at_the_level_of_requests_a_patch_is_kept_as_it_came_and_options_of_a_deletion_too() {
    let (cluster, lines) = audited("- {level: Request, omitStages: [RequestReceived]}").await;
    create(&cluster, "m").await;
    let patch = json!({"data": {"a": "c"}});
    call(&cluster, Method::PATCH, &format!("{MAPS}/m"), &patch).await;
    call(&cluster, Method::DELETE, &format!("{MAPS}/m"), &json!({"gracePeriodSeconds": 0})).await;
    let lines = lines.0.lock();
    assert_eq!(lines[1]["requestObject"], patch);
    assert_eq!(lines[2]["requestObject"]["gracePeriodSeconds"], 0);
    assert!(lines.iter().all(|event| event["responseObject"].is_null()));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_audited_with_its_reason_and_the_impersonated_user() {
    let (cluster, lines) = audited("- {level: Metadata, omitStages: [RequestReceived]}").await;
    let request = Request::get(MAPS).header("impersonate-user", "jane").body(Vec::new()).unwrap();
    assert_eq!(send(&cluster, request).await.code, StatusCode::FORBIDDEN);
    let event = lines.0.lock()[0].clone();
    assert_eq!(event["user"]["username"], "kubernetes-admin");
    assert_eq!(event["impersonatedUser"]["username"], "jane");
    assert_eq!(event["annotations"]["authorization.k8s.io/decision"], "forbid");
    let status = &event["responseStatus"];
    assert_eq!(
        (&status["code"], &status["reason"], &status["status"]),
        (&json!(403), &json!("Forbidden"), &json!("Failure"))
    );
    assert!(status["message"].as_str().unwrap().contains("User \"jane\" cannot list resource \"configmaps\""));
    let unknown = Request::get(MAPS).header("authorization", "Bearer wrong").body(Full::new(Bytes::new())).unwrap();
    assert_eq!(cluster.front_door().oneshot(unknown).await.unwrap().status(), StatusCode::UNAUTHORIZED);
    assert_eq!(lines.0.lock()[1]["responseStatus"]["code"], 401);
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_kept_when_it_begins_and_when_it_ends_and_one_whose_client_goes_has_ended() {
    let (cluster, lines) = audited("- {level: RequestResponse}").await;
    let watch = |query: &str| Request::get(format!("{MAPS}?watch=1{query}")).body(Full::new(Bytes::new())).unwrap();
    let answer = cluster.service().oneshot(watch("&timeoutSeconds=60")).await.unwrap();
    assert_eq!(stages(&lines), ["RequestReceived", "ResponseStarted"]);
    answer.into_body().collect().await.unwrap();
    assert_eq!(stages(&lines)[2..], ["ResponseComplete"]);
    let answer = cluster.service().oneshot(watch("")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(stages(&lines).len(), 5);
    drop(answer);
    assert_eq!(stages(&lines)[5..], ["ResponseComplete"]);
    assert_eq!(lines.0.lock()[5]["responseStatus"]["code"], 200);
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_client_disconnects_is_audited_all_the_same() {
    let (cluster, lines) = audited("- {level: Metadata}").await;
    let user = User::new("kubernetes-admin", ["system:masters"]);
    let body = http_body_util::StreamBody::new(futures_util::stream::pending::<
        Result<http_body::Frame<Bytes>, std::io::Error>,
    >());
    let request = Request::post(MAPS).header("content-type", "application/json").body(body).unwrap();
    let asking = cluster.service_as(user).oneshot(request);
    assert!(tokio::time::timeout(Duration::from_secs(1), asking).await.is_err());
    assert_eq!(stages(&lines), ["RequestReceived", "ResponseComplete"]);
    assert_eq!(lines.0.lock()[1]["responseStatus"]["message"], "Connection closed early");
}

#[tokio::test(start_paused = true)]
async fn the_first_matching_rule_decides_and_unmatched_requests_are_not_audited() {
    let (cluster, lines) =
        audited("- {level: None, verbs: [get]}\n- {level: Metadata, resources: [{group: '', resources: [secrets]}]}")
            .await;
    create(&cluster, "m").await;
    send(&cluster, Request::get("/api/v1/namespaces/default/secrets/s").body(Vec::new()).unwrap()).await;
    assert_eq!(stages(&lines), [""; 0]);
    send(&cluster, Request::get("/api/v1/secrets").body(Vec::new()).unwrap()).await;
    assert_eq!(stages(&lines), ["RequestReceived", "ResponseComplete"]);
}

#[tokio::test(start_paused = true)]
async fn audit_annotations_of_a_webhook_are_under_its_name() {
    let program = tower::service_fn(|request: Request<_>| async move {
        let body = BodyExt::collect(request.into_body()).await.map(http_body_util::Collected::to_bytes).unwrap();
        let review: Value = serde_json::from_slice(&body).unwrap();
        let response = json!({"uid": review["request"]["uid"], "allowed": true, "auditAnnotations": {"why": "it may"}});
        let answer = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
        Ok::<_, std::convert::Infallible>(http::Response::new(Full::new(Bytes::from(answer.to_string()))))
    });
    let lines = Arc::new(Lines::default());
    let policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, verbs: [create], \
                  resources: [{resources: [configmaps]}], namespaces: [default]}]";
    let policy = Arc::new(AuditPolicy::parse(policy).unwrap());
    let audit = Audit { policy, sink: Arc::clone(&lines) as Arc<dyn AuditSink> };
    let mut routes = coracle::ServiceRoutes::default();
    routes.answer_for_service("hooks", "program", coracle::Transport::to(program));
    let builder = Cluster::builder().audit(audit).service_routes(routes);
    let cluster = builder.api_server_only().start().await.unwrap();
    let webhook = json!({
        "name": "says.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "clientConfig": {"service": {"namespace": "hooks", "name": "program", "path": "/"}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}],
    });
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let object = json!({"metadata": {"name": "says"}, "webhooks": [webhook]});
    assert_eq!(call(&cluster, Method::POST, path, &object).await.code, StatusCode::CREATED);
    create(&cluster, "m").await;
    let lines = lines.0.lock();
    assert_eq!(lines.last().unwrap()["annotations"]["says.example.com/why"], "it may");
}

#[tokio::test(start_paused = true)]
async fn a_running_watch_of_the_cluster_itself_has_no_final_audit_event() {
    let lines = Arc::new(Lines::default());
    let policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, verbs: [watch]}]";
    let policy = Arc::new(AuditPolicy::parse(policy).unwrap());
    let audit = Audit { policy, sink: Arc::clone(&lines) as Arc<dyn AuditSink> };
    let cluster = Cluster::builder().audit(audit).start().await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let count = |stage: &str| stages(&lines).iter().filter(|found| *found == stage).count();
    assert!(count("ResponseStarted") > 10, "{:?}", stages(&lines).len());
    assert_eq!(count("ResponseComplete"), 0);
    drop(cluster);
}
