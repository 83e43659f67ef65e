//! What an object costs in memory, share by share: `cargo bench -p coracle-storage --bench memory`.
//!
//! ```text
//! put into the store alone -> fill a watch cache over it -> change every object once
//! ```
//! Objects are as large as a pod and have as many labels and selectable fields. Figures are of resident memory.

use std::sync::Arc;

use coracle_ambient::Ambient;
use coracle_journal::Recorder;
use coracle_meta::{GroupResource, Object, ObjectKey};
use coracle_storage::{Draft, Freshness, ListQuery, Resource, Storage, Write, render};
use coracle_store::{Engine, Operation, Options, Store, Txn};
use serde_json::json;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const OBJECTS: usize = 100_000;
const FIELDS: [&str; 9] = [
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
];

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(measure());
}

async fn measure() {
    let store: Arc<dyn Store> = Arc::new(Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off())));
    let pods = Arc::new(pods());
    let storage = Storage::new(Arc::clone(&store));
    tokio::spawn(storage.run());
    let length = render(&pod(0, 0)).len();
    println!("{OBJECTS} objects of {length} bytes each");
    let empty = resident();
    for number in 0..OBJECTS {
        put(&*store, &pods, number).await;
    }
    let stored = resident();
    row("their JSON", length as f64);
    row(
        "the store: key, version, place in its map, the rest of the allocator's block",
        each(empty, stored) - length as f64,
    );
    let query = ListQuery { freshness: Freshness::Newest, ..ListQuery::default() };
    let count = storage.list(&pods, &query).await.expect("a list").items.len();
    assert_eq!(count, OBJECTS);
    let cached = resident();
    row("the watch cache: key, place in its map, labels and fields, slices", each(stored, cached));
    for number in 0..OBJECTS {
        change(&storage, &pods, number).await;
    }
    let changed = resident();
    row("an earlier version of each, until history is compacted", each(cached, changed));
    store.compact(store.status().await.expect("a status").revision).await.expect("a compaction");
    println!("after compaction: {:.0} MB, {:.0} bytes an object", resident() as f64 / 1e6, each(empty, resident()));
}

fn row(what: &str, bytes: f64) {
    println!("{what:<90} {bytes:>8.0} bytes");
}

fn each(before: u64, after: u64) -> f64 {
    (after as f64 - before as f64) / OBJECTS as f64
}

fn pods() -> Resource {
    let mut pods = Resource::new(GroupResource::new("", "pods"), "pods", true);
    pods.selectable = FIELDS.into_iter().map(str::to_owned).collect();
    pods.indexed = vec![FIELDS[0].to_owned()];
    pods.field = Box::new(|object, field| object.text(field).to_owned());
    pods
}

fn key(number: usize) -> ObjectKey {
    ObjectKey::new("bench", format!("web-{number:06}"))
}

/// An object as large as a pod of two containers, its owners booked.
fn pod(number: usize, round: usize) -> Object {
    let variables: Vec<_> = (0..70)
        .map(|at| json!({"name": format!("SETTING_{at}"), "value": format!("value-of-setting-{at}-for-the-container")}))
        .collect();
    let object = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("web-{number:06}"), "namespace": "bench",
            "labels": {"app": "bench", "round": format!("{round:010}"), "pod-template-hash": "5d59d67564",
                "app.kubernetes.io/name": "web", "app.kubernetes.io/part-of": "shop"},
        },
        "spec": {
            "nodeName": "", "restartPolicy": "Always", "schedulerName": "default-scheduler",
            "serviceAccountName": "default", "containers": [{"name": "web", "env": variables}],
        },
        "status": {"phase": "Pending"},
    });
    Object::from_value(object).expect("an object")
}

async fn put(store: &dyn Store, pods: &Resource, number: usize) {
    let put = Operation::Put {
        key: pods.key(&key(number)),
        value: render(&pod(number, 0)),
        lease: 0,
        prev_kv: false,
        ignore_value: false,
        ignore_lease: false,
    };
    store.txn(Txn { success: vec![put], ..Txn::default() }).await.expect("a write");
}

async fn change(storage: &Storage, pods: &Arc<Resource>, number: usize) {
    let current = storage.get(pods, &key(number), Freshness::Newest).await.expect("a read").expect("an object");
    let draft = Draft::new(pod(number, 1));
    let put = Write::Put { draft: &draft, ttl_seconds: None };
    storage.write(pods, &key(number), Some(&current), put, None).await.expect("a write");
}

/// Resident memory of this process in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<u64>().ok()).unwrap_or(0) * 1024
}
