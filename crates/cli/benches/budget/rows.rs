#![expect(clippy::async_yields_async, reason = "what is measured runs after what prepares it")]

use std::any::Any;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use coracle::api::core_v1::Pod;
use coracle::cluster::Body;
use coracle::prelude::*;
use coracle::simulation::Settle;
use coracle::{Builder, Cluster};
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

use crate::budget::TOLERANCE;

use Operation::{Command, InProcess, Server};

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const MERGE_PATCH: &str = "application/merge-patch+json";
const PODS: &str = "/api/v1/namespaces/default/pods";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SETS: &str = "/apis/apps/v1/namespaces/default";

/// The number of requests in a row about requests.
const TIMES: u64 = 50;

/// An operation whose cost is in the budget.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// How often the work does the operation.
    pub(crate) times: u64,
    pub(crate) operation: Operation,
}

impl Row {
    /// How much a figure of the row may rise above the file. A server runs on several threads, whose order is not always
    /// the same.
    pub(crate) fn tolerance(&self) -> f64 {
        if matches!(self.operation, Server(_)) { 1.10 } else { TOLERANCE }
    }
}

pub(crate) enum Operation {
    /// Runs in the process of the row. The function does what is not measured, and returns what is.
    InProcess(fn() -> Task<Work>),
    /// A command with these arguments, from the start of its process to its end.
    Command(&'static [&'static str]),
    /// A server with these arguments and a folder, from the start of its process to its greeting, and its stop.
    Server(&'static [&'static str]),
}

type Task<T> = Pin<Box<dyn Future<Output = T>>>;

/// What is measured. Its result is dropped later.
pub(crate) type Work = Task<Box<dyn Any>>;

/// All rows.
pub(crate) const ROWS: &[Row] = &[
    Row { name: "an API server becomes ready", times: 1, operation: InProcess(|| start(api_server())) },
    Row { name: "a cluster with two nodes settles", times: 1, operation: InProcess(|| start(nodes(2))) },
    Row { name: "a cluster with 200 objects starts again", times: 1, operation: InProcess(restart) },
    Row { name: "get a pod, JSON", times: TIMES, operation: InProcess(|| each("GET", pod_path, JSON, nothing)) },
    Row {
        name: "get a pod, protobuf",
        times: TIMES,
        operation: InProcess(|| each("GET", pod_path, PROTOBUF, nothing)),
    },
    Row {
        name: "create a pod",
        times: TIMES,
        operation: InProcess(|| each("POST", |_| PODS.to_owned(), JSON, |i, _| pod(TIMES + i))),
    },
    Row {
        name: "merge-patch a pod",
        times: TIMES,
        operation: InProcess(|| each("PATCH", pod_path, MERGE_PATCH, patch)),
    },
    Row { name: "put a pod", times: TIMES, operation: InProcess(|| each("PUT", pod_path, JSON, changed)) },
    Row { name: "delete a pod", times: TIMES, operation: InProcess(|| each("DELETE", pod_path, JSON, nothing)) },
    Row { name: "list 1,000 pods, JSON", times: 1, operation: InProcess(|| list(JSON, 0)) },
    Row { name: "list 1,000 pods again, JSON", times: 1, operation: InProcess(|| list(JSON, 1)) },
    Row { name: "list 1,000 pods, protobuf", times: 1, operation: InProcess(|| list(PROTOBUF, 0)) },
    Row { name: "list 1,000 pods again, protobuf", times: 1, operation: InProcess(|| list(PROTOBUF, 1)) },
    Row { name: "a change with one watcher", times: TIMES, operation: InProcess(|| watched(1)) },
    Row { name: "a change with 100 watchers", times: TIMES, operation: InProcess(|| watched(100)) },
    Row { name: "decode a pod, JSON", times: TIMES, operation: InProcess(decode) },
    Row { name: "encode a pod, JSON", times: TIMES, operation: InProcess(encode) },
    Row { name: "a pod runs", times: 1, operation: InProcess(|| settles(PODS.to_owned(), pod_value(0))) },
    Row {
        name: "a Deployment of three pods runs",
        times: 1,
        operation: InProcess(|| workload("deployments", "Deployment", true)),
    },
    Row {
        name: "a StatefulSet of three pods runs",
        times: 1,
        operation: InProcess(|| workload("statefulsets", "StatefulSet", true)),
    },
    Row {
        name: "a DaemonSet on two nodes runs",
        times: 1,
        operation: InProcess(|| workload("daemonsets", "DaemonSet", false)),
    },
    Row {
        name: "a Job of one pod runs",
        times: 1,
        operation: InProcess(|| settles("/apis/batch/v1/namespaces/default/jobs".to_owned(), job())),
    },
    Row { name: "a CronJob runs for an hour", times: 1, operation: InProcess(cron_job) },
    Row { name: "a deleted pod of a Deployment is replaced", times: 1, operation: InProcess(replacement) },
    Row { name: "a namespace with 50 objects is deleted", times: 1, operation: InProcess(namespace) },
    Row { name: "an idle hour of two nodes and three pods", times: 1, operation: InProcess(hour) },
    Row { name: "coracle version", times: 1, operation: Command(&["version"]) },
    Row {
        name: "coracle run delete-a-pod.yaml",
        times: 1,
        operation: Command(&["run", concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/delete-a-pod.yaml")]),
    },
    Row {
        name: "coracle up greets",
        times: 1,
        operation: Server(&["up", "--ephemeral", "--time=stepped", "--state-dir"]),
    },
];

fn api_server() -> Builder {
    Cluster::builder().api_server_only()
}

fn nodes(count: usize) -> Builder {
    Cluster::builder().nodes(count)
}

async fn settled(builder: Builder) -> Cluster {
    let cluster = builder.start().await.expect("a cluster starts");
    cluster.settle().await.expect("the cluster settles");
    cluster
}

/// Sends a request, and reads the whole response.
async fn send(cluster: &Cluster, method: &str, path: &str, media: &str, body: Vec<u8>) -> Bytes {
    let accept = if media == PROTOBUF { PROTOBUF } else { JSON };
    let request = Request::builder().method(method).uri(path).header("accept", accept).header("content-type", media);
    let request = request.body(Body::new(Full::new(Bytes::from(body)))).expect("a request");
    let response = cluster.service().send(request).await.expect("a response");
    let status = response.status();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    assert!(status.is_success(), "{method} {path}: {status} {}", String::from_utf8_lossy(&body));
    body
}

async fn post(cluster: &Cluster, path: &str, object: Value) {
    send(cluster, "POST", path, JSON, object.to_string().into_bytes()).await;
}

fn from(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("an object")
}

fn pod_path(index: u64) -> String {
    format!("{PODS}/web-{index}")
}

/// A pod with as many fields as one from a chart has.
fn pod_value(index: u64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("web-{index}"), "namespace": "default",
            "labels": {"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": "shop", "tier": "front"},
            "annotations": {"checksum/config": "7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d677284addd200126d9069"}},
        "spec": {
            "containers": [{"name": "web", "image": "nginx:1.29", "ports": [{"containerPort": 80, "name": "http"}],
                "env": [{"name": "MODE", "value": "production"}, {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}},
                "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 10},
                "volumeMounts": [{"name": "work", "mountPath": "/work"}]}],
            "volumes": [{"name": "work", "emptyDir": {}}],
            "tolerations": [{"key": "example.com/front", "operator": "Exists", "effect": "NoSchedule"}]},
    })
}

fn pod(index: u64) -> Vec<u8> {
    pod_value(index).to_string().into_bytes()
}

fn nothing(_: u64, _: &[u8]) -> Vec<u8> {
    Vec::new()
}

fn changed(_: u64, stored: &[u8]) -> Vec<u8> {
    let mut pod = from(stored);
    pod["metadata"]["labels"]["tier"] = json!("back");
    pod.to_string().into_bytes()
}

fn patch(_: u64, _: &[u8]) -> Vec<u8> {
    json!({"metadata": {"labels": {"tier": "back"}}}).to_string().into_bytes()
}

fn job() -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "once", "image": "busybox:1.37"}]}}}})
}

fn set(kind: &str, has_replicas: bool) -> Value {
    let mut set = json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "nginx:1.29"}]}}}});
    if has_replicas {
        set["spec"]["replicas"] = json!(3);
    }
    set
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": "value"}})
}

/// Awaits what prepares a row, and returns what is measured.
fn prepared<W>(prepare: impl Future<Output = W> + 'static) -> Task<Work>
where
    W: Future<Output: Any> + 'static,
{
    Box::pin(async {
        let work = prepare.await;
        let work: Work = Box::pin(async { Box::new(work.await) as Box<dyn Any> });
        work
    })
}

/// An API server that takes pods.
async fn pod_server() -> Cluster {
    let cluster = settled(api_server()).await;
    post(&cluster, "/api/v1/namespaces/default/serviceaccounts", json!({"metadata": {"name": "default"}})).await;
    cluster
}

/// A cluster with two nodes and a Deployment of three pods.
async fn deployed() -> Cluster {
    let cluster = settled(nodes(2)).await;
    post(&cluster, &format!("{SETS}/deployments"), set("Deployment", true)).await;
    cluster.settle().await.expect("the Deployment settles");
    cluster
}

/// From the start of a cluster until its components are at rest.
fn start(builder: Builder) -> Task<Work> {
    prepared(async { settled(builder) })
}

/// A cluster whose store has 200 objects starts again from the content of the store, until its components are at rest.
fn restart() -> Task<Work> {
    prepared(async {
        let cluster = settled(nodes(0)).await;
        for index in 0..200 {
            post(&cluster, CONFIG_MAPS, config_map(&format!("map-{index}"))).await;
        }
        let builder = nodes(0).kept_store(cluster.keep_store().expect("a store in memory"));
        cluster.kill_store().expect("a store in memory");
        async move {
            let new = builder.start().await.expect("the cluster starts again");
            let second = Duration::from_secs(1);
            let rest = Settle { quiet: second, horizon: second, within: 60 * second };
            new.settle_with(rest).await.expect("the components are at rest");
            (cluster, new)
        }
    })
}

/// The same request for each of some pods, in an API server that has them.
fn each(
    method: &'static str,
    path: fn(u64) -> String,
    media: &'static str,
    body: fn(u64, &[u8]) -> Vec<u8>,
) -> Task<Work> {
    prepared(async move {
        let cluster = pod_server().await;
        let mut requests = Vec::new();
        for index in 0..TIMES {
            let stored = send(&cluster, "POST", PODS, JSON, pod(index)).await;
            requests.push((path(index), body(index, &stored)));
        }
        async move {
            for (path, body) in requests {
                send(&cluster, method, &path, media, body).await;
            }
            cluster
        }
    })
}

/// A list of pods, after the same list was requested `before` times.
fn list(media: &'static str, before: usize) -> Task<Work> {
    prepared(async move {
        let cluster = pod_server().await;
        for index in 0..1000 {
            send(&cluster, "POST", PODS, JSON, pod(index)).await;
        }
        for _ in 0..before {
            send(&cluster, "GET", PODS, media, Vec::new()).await;
        }
        async move {
            let listed = send(&cluster, "GET", PODS, media, Vec::new()).await;
            assert!(listed.len() > 1_000_000, "1,000 pods");
            cluster
        }
    })
}

/// A ConfigMap is created, and each of `count` watchers gets the event.
fn watched(count: usize) -> Task<Work> {
    prepared(async move {
        let cluster = settled(api_server()).await;
        // From here on there is one event a change, and one frame an event.
        let listed = from(&send(&cluster, "GET", CONFIG_MAPS, JSON, Vec::new()).await);
        let version = listed["metadata"]["resourceVersion"].as_str().expect("a revision");
        let mut bodies = Vec::new();
        for _ in 0..count {
            let target = format!("{CONFIG_MAPS}?watch=true&resourceVersion={version}");
            let request = Request::get(target).header("accept", JSON);
            let request = request.body(Body::new(Full::new(Bytes::new()))).expect("a request");
            bodies.push(cluster.service().send(request).await.expect("a response").into_body());
        }
        let maps: Vec<_> = (0..TIMES).map(|index| config_map(&format!("map-{index}"))).collect();
        async move {
            for map in maps {
                post(&cluster, CONFIG_MAPS, map).await;
                for body in &mut bodies {
                    let frame = body.frame().await.expect("the watch continues").expect("a frame");
                    let data = frame.into_data().expect("data");
                    assert!(data.starts_with(br#"{"type":"ADDED""#) && data.ends_with(b"}\n"), "a whole event");
                }
            }
            (cluster, bodies)
        }
    })
}

/// A pod as an API server returns it.
async fn stored_pod() -> Bytes {
    let cluster = pod_server().await;
    send(&cluster, "POST", PODS, JSON, pod(0)).await
}

fn decode() -> Task<Work> {
    prepared(async {
        let json = stored_pod().await;
        async move {
            let decode = || serde_json::from_slice::<Pod>(&json).expect("a pod");
            (0..TIMES).map(|_| decode()).collect::<Vec<_>>()
        }
    })
}

fn encode() -> Task<Work> {
    prepared(async {
        let pod: Pod = serde_json::from_slice(&stored_pod().await).expect("a pod");
        async move {
            let encode = || serde_json::to_vec(&pod).expect("JSON");
            (0..TIMES).map(|_| encode()).collect::<Vec<_>>()
        }
    })
}

/// From the creation of an object in a cluster with two nodes until all components are at rest.
fn settles(path: String, object: Value) -> Task<Work> {
    prepared(async move {
        let cluster = settled(nodes(2)).await;
        async move {
            post(&cluster, &path, object).await;
            cluster.settle().await.expect("the object settles");
            cluster
        }
    })
}

fn workload(plural: &str, kind: &str, has_replicas: bool) -> Task<Work> {
    settles(format!("{SETS}/{plural}"), set(kind, has_replicas))
}

fn cron_job() -> Task<Work> {
    prepared(async {
        let cluster = settled(nodes(2)).await;
        let cron = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "often"},
            "spec": {"schedule": "*/10 * * * *", "jobTemplate": {"spec": job()["spec"]}}});
        async move {
            post(&cluster, "/apis/batch/v1/namespaces/default/cronjobs", cron).await;
            tokio::time::sleep(Duration::from_secs(3600)).await;
            cluster
        }
    })
}

fn replacement() -> Task<Work> {
    prepared(async {
        let cluster = deployed().await;
        let listed = from(&send(&cluster, "GET", PODS, JSON, Vec::new()).await);
        let name = listed["items"][0]["metadata"]["name"].as_str().expect("a pod").to_owned();
        async move {
            send(&cluster, "DELETE", &format!("{PODS}/{name}"), JSON, Vec::new()).await;
            cluster.settle().await.expect("the Deployment settles");
            cluster
        }
    })
}

fn namespace() -> Task<Work> {
    prepared(async {
        let cluster = settled(nodes(0)).await;
        post(&cluster, "/api/v1/namespaces", json!({"metadata": {"name": "shop"}})).await;
        for index in 0..50 {
            post(&cluster, "/api/v1/namespaces/shop/configmaps", config_map(&format!("map-{index}"))).await;
        }
        cluster.settle().await.expect("the namespace settles");
        async move {
            send(&cluster, "DELETE", "/api/v1/namespaces/shop", JSON, Vec::new()).await;
            cluster.settle().await.expect("the namespace is gone");
            cluster
        }
    })
}

fn hour() -> Task<Work> {
    prepared(async {
        let cluster = deployed().await;
        async move {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            cluster
        }
    })
}
