//! What a kube-apiserver 1.35.3 has put into its etcd is read as that kube-apiserver shows it.
//!
//! `values.jsonl` has a line for each object: its key, its value in base64, and what `kubectl get -o json` showed of it,
//! without the resource version. A second copy is in `cli`'s tests: a whole etcd, where the tools for it are there.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use coracle_ambient::Ambient;
use coracle_journal::Recorder;
use coracle_meta::Object;
use coracle_registry::{ListOptions, Registry, Request, Verb};
use coracle_release::Release;
use coracle_resources::{Config, kinds};
use coracle_storage::Storage;
use coracle_store::{Engine, Operation, Options, Store, Txn};
use serde_json::{Value, json};

struct Row {
    key: String,
    value: Vec<u8>,
    object: Value,
}

fn rows() -> Vec<Row> {
    let read = |line: &str| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        let key = row["key"].as_str().unwrap().to_owned();
        let value = STANDARD.decode(row["value"].as_str().unwrap()).unwrap();
        Row { key, value, object: row["object"].take() }
    };
    include_str!("values.jsonl").lines().map(read).collect()
}

async fn put(engine: &Engine, key: &str, value: impl Into<Vec<u8>>) {
    let put = Operation::put(key.to_owned(), value.into());
    engine.txn(Txn { compare: Vec::new(), success: vec![put], failure: Vec::new(), cause: None }).await.unwrap();
}

/// An API server's registry over a store that another API server has filled.
async fn over(engine: &Engine) -> Registry {
    let storage = Storage::new(Arc::new(engine.clone()));
    tokio::spawn(storage.run());
    let builder = Registry::builder(storage, Ambient::seeded(1), Recorder::off());
    let release = Release::named("1.35").unwrap();
    let mut all = kinds(&Config { release: release.clone(), ..Config::default() });
    all.push(Arc::new(coracle_registry::custom::definitions(&release)));
    let registry = builder.release(release).kinds(all).build();
    registry.load_custom_kinds().await.unwrap();
    registry
}

fn engine() -> Engine {
    Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()))
}

/// All objects that can be listed, by version, kind, namespace and name, without their resource versions.
async fn served(registry: &Registry) -> BTreeMap<[String; 4], Value> {
    let mut found = BTreeMap::new();
    for kind in registry.kinds().iter().filter(|kind| kind.serves(Verb::List) && kind.spec().computed.is_none()) {
        let request = Request::new(Verb::List, kind.gvr(), registry.ambient().clock.now());
        let list = registry.list(&request, &ListOptions::default()).await;
        let list = list.unwrap_or_else(|status| panic!("{}: {}", kind.row().plural, status.message));
        for stored in list.items {
            let mut object = Object::clone(&stored.object());
            object.remove("metadata.resourceVersion");
            found.insert(name(object.as_value()), object.into_value());
        }
    }
    found
}

fn name(object: &Value) -> [String; 4] {
    let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or("").to_owned();
    [text("/apiVersion"), text("/kind"), text("/metadata/namespace"), text("/metadata/name")]
}

#[tokio::test(start_paused = true)]
async fn every_kind_that_kube_apiserver_stored_is_shown_as_it_shows_it() {
    let engine = engine();
    for row in rows() {
        put(&engine, &row.key, row.value).await;
    }
    let served = served(&over(&engine).await).await;
    for row in rows() {
        let found = served.get(&name(&row.object)).unwrap_or_else(|| panic!("{} is not served", row.key));
        assert_eq!(found, &row.object, "{}", row.key);
    }
    let kinds: std::collections::BTreeSet<_> = rows().iter().map(|row| row.object["kind"].to_string()).collect();
    assert!(kinds.len() > 55, "{}", kinds.len());
}

#[tokio::test(start_paused = true)]
async fn json_of_kube_apiserver_is_read_in_whichever_served_version_it_is() {
    let engine = engine();
    let scaler = json!({"kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v1",
        "metadata": {"name": "h", "namespace": "shop"}, "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 50,
        "scaleTargetRef": {"kind": "Deployment", "name": "d"}}});
    put(&engine, "/registry/horizontalpodautoscalers/shop/h", format!("{scaler}\n")).await;
    let served = served(&over(&engine).await).await;
    let newer = &served[&["autoscaling/v2", "HorizontalPodAutoscaler", "shop", "h"].map(str::to_owned)];
    assert_eq!(newer["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 50);
}

#[tokio::test(start_paused = true)]
async fn unreadable_values_are_reported_by_list_and_get_until_deleted() {
    let engine = engine();
    let key = "/registry/secrets/shop/pw";
    put(&engine, key, "k8s:enc:aescbc:v1:key1:0123456789").await;
    put(&engine, "/registry/configmaps/shop/torn", b"k8s\0\x0a\x50".to_vec()).await;
    put(
        &engine,
        "/registry/limitranges/shop/other",
        rows().iter().find(|row| row.key.contains("/pods/")).unwrap().value.clone(),
    )
    .await;
    let registry = over(&engine).await;
    let now = registry.ambient().clock.now();
    let about = |verb, plural: &str| Request::new(verb, coracle_meta::GroupVersionResource::new("", "v1", plural), now);
    let list = async |plural: &str| registry.list(&about(Verb::List, plural), &ListOptions::default()).await;
    let encrypted =
        "/registry/secrets/shop/pw: the stored value cannot be read: it is encrypted (aescbc, v1, key key1)";
    let refused = list("secrets").await.unwrap_err();
    assert!(refused.message.contains(encrypted) && refused.code == 500, "{}", refused.message);
    let refused =
        registry.get(&about(Verb::Get, "secrets").object("shop", "pw"), &Default::default()).await.unwrap_err();
    assert!(refused.message.contains(encrypted), "{}", refused.message);
    assert!(list("configmaps").await.unwrap_err().message.contains("/registry/configmaps/shop/torn"));
    let refused = list("limitranges").await.unwrap_err();
    assert!(refused.message.ends_with("it is a v1 Pod, of which no v1 LimitRange can be made"), "{}", refused.message);
    let delete = Operation::delete(key.to_owned());
    engine.txn(Txn { compare: Vec::new(), success: vec![delete], failure: Vec::new(), cause: None }).await.unwrap();
    assert_eq!(list("secrets").await.unwrap().items.len(), 0);
}
