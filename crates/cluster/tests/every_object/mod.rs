//! Objects of every kind with numbers, amounts, times and texts at their limits, drawn from bytes: those that the API accepts
//! are left to the controllers, the scheduler and the nodes, in virtual time, and the cluster is started again on the state.

use std::time::Duration;

use bytes::Bytes;
use coracle_cluster::{Body, Cluster, KeptStore};
use coracle_meta::{GroupVersion, GroupVersionKind, Quantity, parse_time, percent};
use coracle_registry::{ListOptions, Request, Verb};
use coracle_schema::Table;
use coracle_schema::sample::{Choices, graft};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::time::sleep;
use tower::ServiceExt;

/// What a kube-apiserver has stored of each kind, as it shows it.
const VALUES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../resources/tests/kube_apiserver_values/values.jsonl");
/// The namespace of what is drawn; it has room for few pods, so that no number of replicas takes long.
const NAMESPACE: &str = "drawn";
/// How many steps one run has at most.
const MOST_STEPS: usize = 50;

const NUMBERS: [i64; 10] = [
    0,
    1,
    -1,
    i32::MAX as i64,
    i32::MIN as i64,
    i64::MAX,
    i64::MIN,
    1 << 32,
    9_000_000_000_000_000_000,
    253_402_300_800,
];
const AMOUNTS: [&str; 8] = ["100E", "1e100", "9223372036854775807", "1e-100", "9223372036854775807E", "8Ei", "0", "1n"];
const PERCENTAGES: [&str; 4] = ["2147483647%", "100%", "0%", "99999999999%"];
const TIMES: [&str; 4] =
    ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59.999999Z"];
const COMMANDS: [&str; 3] = ["9000000000000000000", "1e300", "infinity"];

/// Choices, from bytes.
struct Draw<'b> {
    bytes: &'b [u8],
}

impl Draw<'_> {
    /// A number below `bound`; 0 once there are no more bytes.
    fn below(&mut self, bound: usize) -> usize {
        let (taken, rest) = self.bytes.split_at(self.bytes.len().min(2));
        self.bytes = rest;
        taken.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)) % bound.max(1)
    }

    fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.below(among.len())]
    }
}

/// An object of a kind, as a client would send it.
struct Template {
    kind: GroupVersionKind,
    path: String,
    object: Value,
}

/// An object of every kind that a client may make. What decides about the requests of others comes last.
fn templates() -> Vec<Template> {
    let read = |line: &str| serde_json::from_str::<Value>(line).unwrap()["object"].take();
    let values = std::fs::read_to_string(VALUES).unwrap();
    let mut all: Vec<Template> = values.lines().filter_map(|line| template(read(line))).collect();
    all.sort_by_key(|template| template.kind.group == "admissionregistration.k8s.io");
    all
}

fn template(mut object: Value) -> Option<Template> {
    let version = GroupVersion::parse(object["apiVersion"].as_str()?)?;
    let kind = version.kind(object["kind"].as_str()?);
    // Webhooks that nothing answers refuse everything else.
    if kind.kind.ends_with("WebhookConfiguration") {
        return None;
    }
    let table = Table::newest();
    let row = table.resources().iter().find(|row| row.kind == kind)?;
    let prefix =
        if kind.group.is_empty() { "/api/v1".to_owned() } else { format!("/apis/{}", object["apiVersion"].as_str()?) };
    let metadata = object["metadata"].as_object_mut()?;
    for given in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "ownerReferences"] {
        metadata.remove(given);
    }
    metadata.remove("deletionTimestamp");
    metadata.remove("deletionGracePeriodSeconds");
    let path = match row.scope == coracle_meta::Scope::Namespaced {
        true => {
            metadata.insert("namespace".to_owned(), NAMESPACE.into());
            format!("{prefix}/namespaces/{NAMESPACE}/{}", row.plural)
        }
        false => format!("{prefix}/{}", row.plural),
    };
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        // Addresses and nodes are given by the server.
        ["clusterIP", "clusterIPs", "nodeName"].iter().for_each(|given| drop(spec.remove(*given)));
    }
    Some(Template { kind, path, object })
}

/// Lets what is drawn from `bytes` happen to a cluster, and starts another on what it has left.
///
/// # Panics
/// If anything of the cluster does, or a value cannot be read again.
pub(super) fn survive(bytes: &[u8]) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(run(&mut Draw { bytes }));
}

async fn run(draw: &mut Draw<'_>) {
    let cluster = start(None).await;
    let quota =
        json!({"pods": "6", "count/jobs.batch": "6", "count/replicasets.apps": "12", "persistentvolumeclaims": "12"});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    let quota =
        json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": quota}});
    assert_eq!(call(&cluster, "POST", "/api/v1/namespaces", &namespace).await.0, 201);
    let quotas = format!("/api/v1/namespaces/{NAMESPACE}/resourcequotas");
    assert_eq!(call(&cluster, "POST", &quotas, &quota).await.0, 201);
    sleep(Duration::from_secs(5)).await;

    let templates = templates();
    let mut accepted: Vec<String> = Vec::new();
    for step in 0..MOST_STEPS {
        if draw.bytes.is_empty() {
            break;
        }
        match draw.below(10) {
            0..6 => accepted.extend(create(&cluster, draw, &templates, step).await),
            6 => change_status(&cluster, draw, &accepted).await,
            7 => delete(&cluster, draw, &accepted).await,
            8 => taint(&cluster, draw).await,
            _ => sleep(Duration::from_secs(draw.pick(&[1, 30, 300]))).await,
        }
    }
    sleep(Duration::from_secs(60)).await;
    let kept = cluster.keep_store().unwrap();
    cluster.shutdown().await;

    let again = start(Some(kept)).await;
    sleep(Duration::from_secs(20)).await;
    for kind in again.registry().kinds().iter().filter(|kind| kind.serves(Verb::List) && kind.spec().computed.is_none())
    {
        let request = Request::new(Verb::List, kind.gvr(), again.registry().ambient().clock.now());
        if let Err(status) = again.registry().list(&request, &ListOptions::default()).await {
            panic!("{:?}: {}", kind.gvr(), status.message);
        }
    }
    for path in accepted {
        let (code, answer) = call(&again, "GET", &path, &Value::Null).await;
        assert!(matches!(code, 200 | 404), "{path}: {answer}");
    }
    again.shutdown().await;
}

async fn start(kept: Option<KeptStore>) -> Cluster {
    let builder = Cluster::builder().nodes(2).seed(1).csi_driver();
    let builder = match kept {
        Some(kept) => builder.kept_store(kept),
        None => builder,
    };
    builder.start().await.unwrap()
}

async fn call(cluster: &Cluster, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
    let media_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = http::Request::builder().method(method).uri(path).header("content-type", media_type);
    let request = request.body(Full::new(body)).unwrap();
    let answer: http::Response<Body> = cluster.service().oneshot(request).await.unwrap();
    let code = answer.status().as_u16();
    let text = answer.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&text).unwrap_or_default())
}

/// Sends an object of some kind with a few extremes; its path if it is accepted.
async fn create(cluster: &Cluster, draw: &mut Draw<'_>, templates: &[Template], step: usize) -> Option<String> {
    let Template { kind, path, object } = &templates[draw.below(templates.len())];
    let mut object = object.clone();
    let is_named_freely = !matches!(kind.kind.as_str(), "APIService" | "CustomResourceDefinition" | "ServiceCIDR");
    if is_named_freely && draw.below(4) > 0 {
        object["metadata"]["name"] = format!("drawn-{step}").into();
    }
    exaggerate(draw, kind, &mut object);
    let (code, answer) = call(cluster, "POST", path, &object).await;
    assert!(code < 500 || code == 503 || code == 504, "{path}: {answer}");
    (code == 201)
        .then(|| format!("{path}/{}", percent::component(answer["metadata"]["name"].as_str().unwrap_or_default())))
}

/// Puts extremes into an object of a kind.
fn exaggerate(draw: &mut Draw<'_>, kind: &GroupVersionKind, object: &mut Value) {
    for _ in 0..=draw.below(3) {
        if draw.below(4) == 0
            && let Some(schema) = Table::newest().kind(kind)
        {
            let mut choices = Choices::new(draw.below(1 << 16) as u64);
            graft(schema.root(), object, &mut choices);
            continue;
        }
        let mut places = Vec::new();
        collect(object, "", &mut places);
        if places.is_empty() {
            continue;
        }
        let place = places.swap_remove(draw.below(places.len()));
        if let Some(value) = object.pointer_mut(&place) {
            *value = extreme(draw, value);
        }
    }
    if kind.kind == "Pod" && draw.below(4) == 0 {
        let command = json!(["sleep", draw.pick(&COMMANDS)]);
        if let Some(Value::Object(container)) = object.pointer_mut("/spec/containers/0") {
            container.insert("command".to_owned(), command);
        }
    }
}

/// The places of the values that have extremes.
fn collect(value: &Value, pointer: &str, places: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, below) in fields.iter().filter(|(name, _)| *name != "managedFields") {
                collect(below, &format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1")), places);
            }
        }
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(at, below)| collect(below, &format!("{pointer}/{at}"), places));
        }
        Value::Number(_) => places.push(pointer.to_owned()),
        Value::String(text) if has_extremes(text) => places.push(pointer.to_owned()),
        _ => {}
    }
}

fn has_extremes(text: &str) -> bool {
    text.ends_with('%') || parse_time(text).is_some() || Quantity::parse(text).is_ok()
}

fn extreme(draw: &mut Draw<'_>, value: &Value) -> Value {
    match value {
        Value::String(text) if text.ends_with('%') => draw.pick(&PERCENTAGES).into(),
        Value::String(text) if parse_time(text).is_some() => draw.pick(&TIMES).into(),
        Value::String(_) => draw.pick(&AMOUNTS).into(),
        _ => draw.pick(&NUMBERS).into(),
    }
}

/// Puts extremes into the status of an object that was accepted.
async fn change_status(cluster: &Cluster, draw: &mut Draw<'_>, accepted: &[String]) {
    let Some(path) = accepted.get(draw.below(accepted.len())) else { return };
    let (code, mut object) = call(cluster, "GET", path, &Value::Null).await;
    let Some(version) = object["apiVersion"].as_str().and_then(GroupVersion::parse).filter(|_| code == 200) else {
        return;
    };
    let kind = version.kind(object["kind"].as_str().unwrap_or_default());
    // Kubernetes answers 500, too, to a version that is no number.
    let read_at = object["metadata"]["resourceVersion"].clone();
    exaggerate(draw, &kind, &mut object);
    object["metadata"]["resourceVersion"] = read_at;
    let (code, answer) = call(cluster, "PUT", &format!("{path}/status"), &object).await;
    assert!(code < 500 || code == 503 || code == 504, "{path}/status: {answer}");
}

async fn delete(cluster: &Cluster, draw: &mut Draw<'_>, accepted: &[String]) {
    let Some(path) = accepted.get(draw.below(accepted.len())) else { return };
    let grace = draw.pick(&[0, 1, 30, i64::MAX, -1, i64::MIN]);
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": grace});
    let (code, answer) = call(cluster, "DELETE", path, &options).await;
    assert!(code < 500 || code == 503 || code == 504, "{path}: {answer}");
}

/// Drives pods off a node, so that their tolerations count.
async fn taint(cluster: &Cluster, draw: &mut Draw<'_>) {
    let taints = match draw.below(2) {
        0 => json!([{"key": "drawn", "effect": "NoExecute"}]),
        _ => json!([]),
    };
    let (code, answer) = call(cluster, "PATCH", "/api/v1/nodes/node-1", &json!({"spec": {"taints": taints}})).await;
    assert!(code < 500, "{answer}");
}
