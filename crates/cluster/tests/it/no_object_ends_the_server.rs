//! An object that asks for more than a clock or a number can count, one that is nested deeply, and a stored value that cannot
//! be read: none of them ends anything, at once or when a server starts on the state.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use coracle_ambient::{Ambient, Panics};
use coracle_api::core_v1::ConfigMap;
use coracle_cluster::{Cluster, User};
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of};
use coracle_journal::Recorder;
use coracle_meta::ObjectKey;
use coracle_store::{KeyRange, Operation, RangeRequest, Txn};
use http::Request;
use http_body_util::{BodyExt, Full};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tower::ServiceExt;

async fn call(cluster: &Cluster, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    send(cluster, method, path, "application/json", text).await
}

/// As an administrator, and not as the server itself.
async fn send(cluster: &Cluster, method: &str, path: &str, media_type: &str, body: String) -> (u16, Value) {
    let request = Request::builder().method(method).uri(path).header("content-type", media_type);
    let request = request.body(Full::new(Bytes::from(body))).unwrap();
    let service = cluster.service_as(User::new("ann", ["system:masters"]));
    let answer = service.oneshot(request).await.unwrap();
    let code = answer.status().as_u16();
    let text = answer.into_body().collect().await.unwrap().to_bytes();
    (code, coracle_meta::json::from_slice(&text).unwrap_or(Value::Null))
}

async fn make(cluster: &Cluster, path: &str, object: Value) {
    let (code, answer) = call(cluster, "POST", path, &object).await;
    assert_eq!(code, 201, "{path}: {answer}");
}

async fn get(cluster: &Cluster, path: &str) -> Value {
    let (code, answer) = call(cluster, "GET", path, &Value::Null).await;
    assert_eq!(code, 200, "{path}: {answer}");
    answer
}

/// No task of the cluster has panicked.
async fn runs(cluster: &Cluster) {
    let ended = timeout(Duration::from_millis(1), cluster.unless_ended(pending::<()>())).await;
    assert!(ended.is_err(), "{ended:?}");
}

/// The cluster has not ended, and another starts on what it holds and does not end either.
async fn restarted(cluster: Cluster) -> Cluster {
    runs(&cluster).await;
    let kept = cluster.keep_store().unwrap();
    cluster.shutdown().await;
    let again = Cluster::builder().nodes(2).seed(2).kept_store(kept).start().await.unwrap();
    sleep(Duration::from_secs(20)).await;
    runs(&again).await;
    again
}

fn pod(name: &str, spec: Value, container: Value) -> Value {
    let mut pod = json!({"metadata": {"name": name}, "spec": spec});
    pod["spec"]["containers"] = json!([{"name": "c", "image": "busybox"}]);
    for (field, value) in container.as_object().unwrap() {
        pod["spec"]["containers"][0][field] = value.clone();
    }
    pod
}

const PODS: &str = "/api/v1/namespaces/default/pods";

#[tokio::test(start_paused = true)]
async fn times_beyond_what_a_clock_counts_last_as_long_as_it_counts() {
    let cluster = Cluster::builder().nodes(2).seed(1).start().await.unwrap();
    sleep(Duration::from_secs(5)).await;
    let longest = i64::MAX;
    for (index, time) in ["9000000000000000000", "315360000000", "1e300", "106751991167300d"].iter().enumerate() {
        let sleeps =
            pod(&format!("sleeps-{index}"), json!({"nodeName": "node-2"}), json!({"command": ["sleep", time]}));
        make(&cluster, PODS, sleeps).await;
    }
    let stop = json!({"preStop": {"sleep": {"seconds": longest}}});
    let slow = pod(
        "slow",
        json!({"terminationGracePeriodSeconds": longest}),
        json!({"lifecycle": stop, "command": ["sleep", "1e300"]}),
    );
    make(&cluster, PODS, slow).await;
    let tolerations = json!([{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": longest}]);
    make(&cluster, PODS, pod("tolerates", json!({"tolerations": tolerations, "nodeName": "node-1"}), json!({}))).await;
    make(&cluster, PODS, pod("deadline", json!({"activeDeadlineSeconds": i32::MAX, "nodeName": "node-2"}), json!({})))
        .await;
    let probe = |seconds: i32| {
        json!({"exec": {"command": ["true"]}, "initialDelaySeconds": seconds, "periodSeconds": seconds,
            "failureThreshold": seconds, "timeoutSeconds": seconds})
    };
    let probes = json!({"startupProbe": probe(i32::MAX), "livenessProbe": probe(i32::MAX),
        "readinessProbe": probe(i32::MAX)});
    make(&cluster, PODS, pod("probed", json!({}), probes)).await;
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    let job = json!({"activeDeadlineSeconds": longest, "ttlSecondsAfterFinished": i32::MAX, "template": template});
    make(&cluster, "/apis/batch/v1/namespaces/default/jobs", json!({"metadata": {"name": "j"}, "spec": job})).await;
    let cron = json!({"metadata": {"name": "c"}, "spec": {"schedule": "* * * * *", "startingDeadlineSeconds": longest,
        "jobTemplate": {"spec": job}}});
    make(&cluster, "/apis/batch/v1/namespaces/default/cronjobs", cron).await;
    let labels = json!({"app": "a"});
    let deployment = json!({"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": labels},
        "minReadySeconds": i32::MAX - 1, "progressDeadlineSeconds": i32::MAX,
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    make(&cluster, "/apis/apps/v1/namespaces/default/deployments", deployment).await;
    sleep(Duration::from_secs(30)).await;

    assert_eq!(get(&cluster, &format!("{PODS}/sleeps-0")).await["status"]["phase"], "Running");
    let log = format!("{PODS}/sleeps-0/log?sinceSeconds={longest}");
    assert_eq!(call(&cluster, "GET", &log, &Value::Null).await.0, 200);
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": longest});
    assert_eq!(call(&cluster, "DELETE", &format!("{PODS}/slow"), &options).await.0, 200);
    let taint = json!({"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}}).to_string();
    let merge = "application/merge-patch+json";
    assert_eq!(send(&cluster, "PATCH", "/api/v1/nodes/node-1", merge, taint).await.0, 200);
    let request = json!({"spec": {"expirationSeconds": longest}});
    let token = "/api/v1/namespaces/default/serviceaccounts/default/token";
    let (code, answer) = call(&cluster, "POST", token, &request).await;
    assert!(code == 201 || code == 422, "{answer}");
    sleep(Duration::from_secs(60)).await;
    assert!(get(&cluster, &format!("{PODS}/slow")).await["metadata"]["deletionTimestamp"].is_string());

    let cluster = restarted(cluster).await;
    for still in ["sleeps-0", "sleeps-1", "sleeps-2", "sleeps-3", "tolerates", "deadline"] {
        let phase = get(&cluster, &format!("{PODS}/{still}")).await["status"]["phase"].clone();
        assert_eq!(phase, "Running", "{still}");
    }
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_lasts_as_long_as_is_asked_however_long() {
    let cluster = Cluster::builder().api_server_only().start().await.unwrap();
    for seconds in [u64::MAX.to_string(), i64::MAX.to_string()] {
        let path = format!("/api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}");
        let request = Request::get(path).body(Full::new(Bytes::new())).unwrap();
        let answer = cluster.service().oneshot(request).await.unwrap();
        assert!(matches!(answer.status().as_u16(), 200 | 400), "{}", answer.status());
        let frame = timeout(Duration::from_secs(50), answer.into_body().frame()).await;
        drop(frame);
    }
    runs(&cluster).await;
}

#[tokio::test(start_paused = true)]
async fn numbers_at_their_limits_are_counted_with() {
    let cluster = Cluster::builder().nodes(2).seed(1).start().await.unwrap();
    let few = json!({"metadata": {"name": "few"}, "spec": {"hard": {"pods": "5"}}});
    make(&cluster, "/api/v1/namespaces/default/resourcequotas", few).await;
    sleep(Duration::from_secs(5)).await;
    let workload = |name: &str, more: Value| {
        let labels = json!({"app": name});
        let mut object = json!({"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels},
            "replicas": i32::MAX, "template": {"metadata": {"labels": labels},
            "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
        for (field, value) in more.as_object().unwrap() {
            object["spec"][field] = value.clone();
        }
        object
    };
    let apps = |plural: &str| format!("/apis/apps/v1/namespaces/default/{plural}");
    let rolling = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": i32::MAX, "maxUnavailable": i32::MAX}});
    let of_deployment = json!({"strategy": rolling, "revisionHistoryLimit": i32::MAX});
    make(&cluster, &apps("deployments"), workload("d", of_deployment)).await;
    let percent = json!({"type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": "2147483647%", "maxUnavailable": "100%"}});
    make(&cluster, &apps("deployments"), workload("e", json!({"strategy": percent}))).await;
    let parallel = json!({"podManagementPolicy": "Parallel", "serviceName": "s", "ordinals": {"start": i32::MAX}});
    make(&cluster, &apps("statefulsets"), workload("s", parallel)).await;
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    let many = json!({"parallelism": i32::MAX, "completions": i32::MAX, "template": template});
    make(&cluster, "/apis/batch/v1/namespaces/default/jobs", json!({"metadata": {"name": "j"}, "spec": many})).await;
    for (index, amount) in ["100E", "1e100", "9223372036854775807", "1e2147483647"].into_iter().enumerate() {
        let asks = json!({"resources": {"requests": {"cpu": amount, "memory": amount, "example.com/x": amount},
            "limits": {"example.com/x": amount}}});
        let asks = pod(&format!("asks-{index}"), json!({}), asks);
        let (code, answer) = call(&cluster, "POST", PODS, &asks).await;
        assert!(matches!(code, 201 | 400 | 403 | 422), "{answer}");
    }
    let budget = json!({"metadata": {"name": "b"}, "spec": {"maxUnavailable": i32::MAX,
        "selector": {"matchLabels": {"app": "d"}}}});
    make(&cluster, "/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget).await;
    sleep(Duration::from_secs(15)).await;
    let update = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "j"}]}}}}).to_string();
    let merge = "application/merge-patch+json";
    assert_eq!(send(&cluster, "PATCH", &format!("{}/d", apps("deployments")), merge, update).await.0, 200);
    sleep(Duration::from_secs(15)).await;
    restarted(cluster).await.shutdown().await;
}

fn nested(levels: usize) -> String {
    format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels))
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A definition of the kind X, or another letter, in the group `d.z`.
fn definition(kind: &str, schema: Value) -> Value {
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    let one = kind.to_lowercase();
    let names = json!({"kind": kind, "plural": format!("{one}s"), "singular": one, "listKind": format!("{kind}List")});
    json!({"metadata": {"name": format!("{one}s.d.z")},
        "spec": {"group": "d.z", "scope": "Namespaced", "names": names, "versions": [version]}})
}

async fn with_deep_kind() -> Cluster {
    let cluster = Cluster::builder().nodes(1).seed(1).start().await.unwrap();
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    make(&cluster, DEFINITIONS, definition("X", schema)).await;
    sleep(Duration::from_secs(5)).await;
    cluster
}

const XS: &str = "/apis/d.z/v1/namespaces/default/xs";

#[tokio::test(start_paused = true)]
async fn a_status_that_the_server_cannot_apply_to_does_not_keep_it_from_starting() {
    let cluster = Cluster::builder().nodes(0).seed(1).start().await.unwrap();
    let schemas = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
    let (code, mut schema) = call(&cluster, "GET", &format!("{schemas}/catch-all"), &Value::Null).await;
    assert_eq!(code, 200, "{schema}");
    schema["metadata"] = json!({"name": "odd"});
    make(&cluster, schemas, schema).await;
    let (_, mut schema) = call(&cluster, "GET", &format!("{schemas}/odd"), &Value::Null).await;
    schema["status"] = json!({"conditions": [{"status": "True", "reason": "NoType", "message": "m"}]});
    let (code, answer) = call(&cluster, "PUT", &format!("{schemas}/odd/status"), &schema).await;
    assert_eq!(code, 422, "{answer}");
    put(&cluster, "/registry/flowschemas/odd", schema.to_string()).await;
    let cluster = restarted(cluster).await;
    get(&cluster, &format!("{schemas}/odd")).await;
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_definition_with_a_deep_schema_defines_a_kind_and_goes_again() {
    let cluster = Cluster::builder().nodes(1).seed(1).start().await.unwrap();
    let deeper = |schema: Value, _| json!({"type": "object", "properties": {"a": schema}});
    let schema = (0..100).fold(json!({"type": "object", "properties": {"n": {"type": "integer"}}}), deeper);
    make(&cluster, DEFINITIONS, definition("Y", schema)).await;
    sleep(Duration::from_secs(5)).await;
    let ys = "/apis/d.z/v1/namespaces/default/ys";
    let (code, answer) = call(&cluster, "GET", ys, &Value::Null).await;
    assert_eq!(code, 200, "{answer}");
    let spec = (0..100).fold(json!({"n": 1}), |value, _| json!({"a": value}));
    let mut object = json!({"apiVersion": "d.z/v1", "kind": "Y", "metadata": {"name": "y"}});
    object.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    make(&cluster, ys, object).await;
    let cluster = restarted(cluster).await;
    get(&cluster, &format!("{ys}/y")).await;
    assert_eq!(call(&cluster, "DELETE", &format!("{DEFINITIONS}/ys.d.z"), &Value::Null).await.0, 200);
    sleep(Duration::from_secs(30)).await;
    assert_eq!(call(&cluster, "GET", ys, &Value::Null).await.0, 404);
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn accepted_deep_objects_are_readable_after_a_restart_and_deeper_ones_are_refused() {
    let cluster = with_deep_kind().await;
    let object = |levels: usize| {
        format!(r#"{{"apiVersion":"d.z/v1","kind":"X","metadata":{{"name":"o{levels}"}},"spec":{}}}"#, nested(levels))
    };
    let deepest = coracle_meta::json::DEEPEST_WRITTEN - 1;
    for levels in [127, 128, 200, deepest] {
        let (code, _) = send(&cluster, "POST", XS, "application/json", object(levels)).await;
        assert_eq!(code, 201, "{levels}");
    }
    let (code, refusal) = send(&cluster, "POST", XS, "application/json", object(deepest + 1)).await;
    assert_eq!(code, 400);
    assert!(refusal["message"].as_str().unwrap().contains("exceeded max depth of 500 levels"), "{refusal}");

    // What is put together by patches is as deep as what is sent whole.
    let path = "/a".repeat(deepest - 1);
    let patch = format!(r#"[{{"op":"replace","path":"/spec{path}","value":{}}}]"#, nested(3));
    let target = format!("{XS}/o{deepest}");
    let (code, refusal) = send(&cluster, "PATCH", &target, "application/json-patch+json", patch).await;
    assert_eq!(code, 413, "{refusal}");
    let message = refusal["message"].as_str().unwrap();
    assert_eq!(message, "Request entity too large: the JSON is nested deeper than 500 levels");
    let label = r#"{"metadata":{"labels":{"a":"b"}}}"#.to_owned();
    assert_eq!(send(&cluster, "PATCH", &target, "application/merge-patch+json", label).await.0, 200);
    let apply = "application/apply-patch+yaml";
    let applied = format!("{XS}/applied?fieldManager=m");
    let whole = object(300).replace("o300", "applied");
    assert_eq!(send(&cluster, "PATCH", &applied, apply, whole.clone()).await.0, 201);
    assert_eq!(send(&cluster, "PATCH", &applied, apply, whole).await.0, 200);

    // Fields of managers and foreign objects nest as well.
    let fields = format!(r#"{{"f:data":{}}}"#, r#"{"f:a":"#.repeat(200) + "{}" + &"}".repeat(200));
    let managed = format!(
        r#"{{"metadata":{{"name":"m","managedFields":[{{"manager":"m","operation":"Update","apiVersion":"v1",
            "fieldsType":"FieldsV1","time":"2026-01-01T00:00:00Z","fieldsV1":{fields}}}]}}}}"#
    );
    let maps = "/api/v1/namespaces/default/configmaps";
    let (code, answer) = send(&cluster, "POST", maps, "application/json", managed).await;
    assert_eq!(code, 201, "{answer}");
    let revision = format!(r#"{{"metadata":{{"name":"r"}},"revision":1,"data":{}}}"#, nested(400));
    let revisions = "/apis/apps/v1/namespaces/default/controllerrevisions";
    let (code, answer) = send(&cluster, "POST", revisions, "application/json", revision).await;
    assert_eq!(code, 201, "{answer}");

    let cluster = restarted(cluster).await;
    for levels in [127, 128, 200, deepest] {
        let found = get(&cluster, &format!("{XS}/o{levels}")).await;
        assert_eq!(coracle_meta::json::depth(&found["spec"]), levels);
    }
    assert_eq!(get(&cluster, XS).await["items"].as_array().unwrap().len(), 5);
    assert_eq!(coracle_meta::json::depth(&get(&cluster, &format!("{revisions}/r")).await["data"]), 400);
    get(&cluster, &format!("{maps}/m")).await;
    for levels in [127, 128, 200, deepest] {
        assert_eq!(call(&cluster, "DELETE", &format!("{XS}/o{levels}"), &Value::Null).await.0, 200);
    }
    cluster.shutdown().await;
}

async fn put(cluster: &Cluster, key: &str, value: impl Into<Vec<u8>>) {
    let put = Operation::put(key.to_owned(), value.into());
    cluster.store().txn(Txn { compare: vec![], success: vec![put], failure: vec![], cause: None }).await.unwrap();
}

async fn stored(cluster: &Cluster, key: &str) -> Vec<u8> {
    let range = KeyRange::key(key.to_owned());
    let found = cluster.store().range(RangeRequest { range, ..RangeRequest::default() }).await.unwrap();
    found.kvs.first().map(|kv| kv.value.to_vec()).unwrap_or_default()
}

/// An object of a kind whose part of this name is a text.
fn misshapen(api_version: &str, kind: &str, name: &str, part: &str) -> Vec<u8> {
    format!(r#"{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{{"name":"{name}"}},"{part}":"odd"}}"#).into()
}

#[tokio::test(start_paused = true)]
async fn values_that_cannot_be_read_are_kept_and_answered_as_such_and_a_server_starts_with_them() {
    let cluster = Cluster::builder().nodes(1).seed(1).start().await.unwrap();
    sleep(Duration::from_secs(5)).await;
    let deep = format!(r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{}},"data":{}}}"#, nested(1200));
    let values: Vec<(&str, &str, Vec<u8>)> = vec![
        ("/registry/pods/default/torn", "/api/v1/namespaces/default/pods/torn", b"k8s\0\x0a\x50".to_vec()),
        ("/registry/pods/default/list", "/api/v1/namespaces/default/pods/list", b"[]".to_vec()),
        ("/registry/pods/default/odd", "/api/v1/namespaces/default/pods/odd", misshapen("v1", "Pod", "odd", "spec")),
        ("/registry/configmaps/default/deep", "/api/v1/namespaces/default/configmaps/deep", deep.into()),
        (
            "/registry/configmaps/default/list",
            "/api/v1/namespaces/default/configmaps/list",
            br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{},"data":[]}"#.to_vec(),
        ),
        (
            "/registry/configmaps/default/twice",
            "/api/v1/namespaces/default/configmaps/twice",
            br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"twice"},"metadata":5}"#.to_vec(),
        ),
        ("/registry/minions/odd", "/api/v1/nodes/odd", misshapen("v1", "Node", "odd", "status")),
        (
            "/registry/services/specs/default/odd",
            "/api/v1/namespaces/default/services/odd",
            misshapen("v1", "Service", "odd", "spec"),
        ),
        (
            "/registry/services/specs/default/kubernetes",
            "/api/v1/namespaces/default/services/kubernetes",
            misshapen("v1", "Service", "kubernetes", "spec"),
        ),
        (
            "/registry/flowschemas/exempt",
            "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/exempt",
            misshapen("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "exempt", "spec"),
        ),
        (
            "/registry/flowschemas/odd",
            "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/odd",
            misshapen("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "odd", "status"),
        ),
        (
            "/registry/prioritylevelconfigurations/global-default",
            "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/global-default",
            b"nothing".to_vec(),
        ),
        (
            "/registry/apiregistration.k8s.io/apiservices/v1.odd",
            "/apis/apiregistration.k8s.io/v1/apiservices/v1.odd",
            misshapen("apiregistration.k8s.io/v1", "APIService", "v1.odd", "spec"),
        ),
        (
            "/registry/apiextensions.k8s.io/customresourcedefinitions/odds.z",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/odds.z",
            misshapen("apiextensions.k8s.io/v1", "CustomResourceDefinition", "odds.z", "spec"),
        ),
        (
            "/registry/clusterroles/view",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/view",
            misshapen("rbac.authorization.k8s.io/v1", "ClusterRole", "view", "rules"),
        ),
        (
            "/registry/clusterrolebindings/odd",
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/odd",
            misshapen("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "odd", "subjects"),
        ),
        (
            "/registry/priorityclasses/system-node-critical",
            "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical",
            b"{".to_vec(),
        ),
        ("/registry/namespaces/kube-public", "/api/v1/namespaces/kube-public", b"5".to_vec()),
    ];
    for (key, _, value) in &values {
        put(&cluster, key, value.clone()).await;
    }
    let cluster = restarted(cluster).await;
    for (key, path, value) in &values {
        let (code, answer) = call(&cluster, "GET", path, &Value::Null).await;
        assert_eq!((code, answer["reason"].as_str()), (500, Some("StorageReadError")), "{path}: {answer}");
        assert!(answer["message"].as_str().unwrap().contains(key), "{answer}");
        let at_hand = call(&cluster, "GET", &format!("{path}?resourceVersion=0"), &Value::Null).await;
        assert_eq!(at_hand.0, 500, "{path}: {}", at_hand.1);
        let changed = call(&cluster, "DELETE", path, &Value::Null).await;
        assert_eq!(changed.0, 500, "{path}: {}", changed.1);
        assert_eq!(&stored(&cluster, key).await, value, "{key}");
    }
    let (code, answer) = call(&cluster, "GET", PODS, &Value::Null).await;
    assert_eq!(code, 500, "a list without some of its objects would be wrong");
    assert!(answer["message"].as_str().unwrap().contains("/registry/pods/default/list"), "{answer}");

    let found = coracle_cluster::unreadable_values(cluster.store(), cluster.ambient()).await.unwrap();
    let mut keys: Vec<&str> = values.iter().map(|(key, ..)| *key).collect();
    keys.sort_unstable();
    assert_eq!(found.iter().map(|found| found.key.as_str()).collect::<Vec<_>>(), keys);
    let pods = found.iter().filter(|found| found.resource.to_string() == "pods").count();
    assert_eq!(pods, 3);
    assert!(found.iter().any(|found| found.why.contains("PodSpec")), "{found:?}");
    cluster.shutdown().await;
}

async fn take_away(cluster: &Cluster, key: &str) {
    let gone = Operation::delete(key.to_owned());
    cluster.store().txn(Txn { compare: vec![], success: vec![gone], failure: vec![], cause: None }).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_cannot_be_read_lets_nothing_through_that_it_may_be_about() {
    let admission = "admissionregistration.k8s.io";
    let odd = [
        ("validatingadmissionpolicies", "ValidatingAdmissionPolicy", "spec"),
        ("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", "spec"),
        ("validatingwebhookconfigurations", "ValidatingWebhookConfiguration", "webhooks"),
        ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration", "webhooks"),
    ]
    .map(|(plural, kind, part)| {
        (format!("/registry/{plural}/odd"), misshapen(&format!("{admission}/v1"), kind, "odd", part))
    });
    let maps = "/api/v1/namespaces/default/configmaps";
    let map = |name: &str| json!({"metadata": {"name": name}});
    let cluster = Cluster::builder().api_server_only().seed(1).start().await.unwrap();
    for (key, value) in &odd {
        put(&cluster, key, value.clone()).await;
        let (code, answer) = call(&cluster, "POST", maps, &map("m")).await;
        assert_eq!((code, answer["reason"].as_str()), (500, Some("StorageReadError")), "{key}: {answer}");
        assert!(answer["message"].as_str().unwrap().contains(key), "{answer}");
        // Reads are held up by none. Policies are not about policies and bindings, webhooks not about webhooks either.
        get(&cluster, maps).await;
        let other = format!("/apis/{admission}/v1/validatingadmissionpolicybindings");
        let binding = json!({"policyName": "none", "validationActions": ["Deny"]});
        make(&cluster, &other, json!({"metadata": {"name": "other"}, "spec": binding})).await;
        assert_eq!(call(&cluster, "DELETE", &format!("{other}/other"), &Value::Null).await.0, 200);
        take_away(&cluster, key).await;
        make(&cluster, maps, map("m")).await;
        assert_eq!(call(&cluster, "DELETE", &format!("{maps}/m"), &Value::Null).await.0, 200);
    }
    for (key, value) in &odd {
        put(&cluster, key, value.clone()).await;
    }
    let kept = cluster.keep_store().unwrap();
    cluster.shutdown().await;
    let cluster = Cluster::builder().api_server_only().seed(1).kept_store(kept).start().await.unwrap();
    assert_eq!(call(&cluster, "POST", maps, &map("m")).await.0, 500);
    for (key, _) in &odd {
        take_away(&cluster, key).await;
    }
    make(&cluster, maps, map("m")).await;
    cluster.shutdown().await;
}

/// Panics at the map `fault`, and notes the others.
struct Faulty(Arc<Mutex<BTreeSet<String>>>);

impl Reconciler for Faulty {
    async fn reconcile(&self, _: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        assert!(key.name != "fault", "no boat");
        self.0.lock().insert(key.to_string());
        Ok(Action::Done)
    }
}

/// Runs a controller of maps, one of which makes it panic; which others it has seen.
async fn reconciled_beside_a_fault(panics: Panics) -> (Cluster, BTreeSet<String>) {
    let ambient = Ambient { panics, ..Ambient::seeded(1) };
    let cluster = Cluster::builder().ambient(ambient).api_server_only().start().await.unwrap();
    let maps = "/api/v1/namespaces/default/configmaps";
    for name in ["a", "fault", "z"] {
        make(&cluster, maps, json!({"metadata": {"name": name}})).await;
    }
    let process = Process::new(
        "program",
        &cluster.client_as(User::new("ann", ["system:masters"])),
        cluster.ambient(),
        &Recorder::off(),
    );
    let seen: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let controller = Controller::new(&process, "maps", Faulty(Arc::clone(&seen)));
    let controller = controller.watches(&process.informers.informer::<ConfigMap>(), key_of);
    cluster.spawn("maps", controller.run());
    cluster.spawn("process", async move { process.run().await });
    sleep(Duration::from_secs(60)).await;
    let seen = seen.lock().clone();
    (cluster, seen)
}

#[tokio::test(start_paused = true)]
async fn a_key_at_which_a_controller_panics_is_tried_again_and_the_others_are_worked_on() {
    let reports: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&reports);
    let (cluster, seen) =
        reconciled_beside_a_fault(Panics::survived(move |report| kept.lock().push(report.to_owned()))).await;
    assert!(seen.contains("default/a") && seen.contains("default/z"), "{seen:?}");
    runs(&cluster).await;
    let reports = reports.lock();
    assert!(reports.len() > 3, "{reports:?}");
    assert!(reports.iter().all(|report| report == "program/maps at default/fault panicked: no boat"), "{reports:?}");
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_panics_ends_a_test() {
    let (cluster, _) = reconciled_beside_a_fault(Panics::default()).await;
    let panic = cluster.unless_ended(pending::<()>()).await.unwrap_err();
    assert_eq!(panic.to_string(), "the task maps panicked: no boat");
}
