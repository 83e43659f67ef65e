//! A value made from objects of definitions' kinds and of a kind that comes and goes.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Ambient;
use coracle_journal::Recorder;
use coracle_meta::{GroupVersionResource, Object, Status};
use coracle_registry::{DeleteOptions, Derived, Lists, PerObject, Registry, Request, Stored, Strategy, Verb, custom};
use coracle_release::Release;
use coracle_storage::Storage;
use coracle_store::{Engine, Options};
use parking_lot::Mutex;
use serde_json::{Value, json};

fn definitions() -> GroupVersionResource {
    GroupVersionResource::new("apiextensions.k8s.io", "v1", "customresourcedefinitions")
}

fn boats() -> GroupVersionResource {
    GroupVersionResource::new("o.example.com", "v1", "boats")
}

/// Reads boats only where they are defined.
fn reads(lists: &Lists) -> Vec<GroupVersionResource> {
    let are_defined = lists.of(&definitions()).any(|definition| definition.name() == "boats.o.example.com");
    if are_defined { vec![definitions(), boats()] } else { vec![definitions()] }
}

fn names(lists: &Lists, _before: &Vec<String>) -> Vec<String> {
    lists.of(&boats()).map(|boat| boat.name().to_owned()).collect()
}

fn registry() -> Registry {
    let ambient = Ambient::seeded(1);
    let engine = Engine::in_memory(Options::new(ambient.clone(), Recorder::off()));
    let storage = Storage::new(Arc::new(engine));
    tokio::spawn(storage.run());
    Registry::builder(storage, ambient, Recorder::off())
        .kinds([Arc::new(custom::definitions(&Release::default())) as Arc<dyn Strategy>])
        .build()
}

async fn create(registry: &Registry, resource: GroupVersionResource, body: Value) -> Result<(), Status> {
    let namespace = if resource == definitions() { "" } else { "default" };
    let request = Request::new(Verb::Create, resource, registry.ambient().clock.now()).object(namespace, "");
    registry.create(&request, Object::from_value(body).unwrap()).await.map(drop)
}

async fn define(registry: &Registry) {
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let versions = json!([{"name": "v1", "served": true, "storage": true, "schema": schema}]);
    let names = json!({"plural": "boats", "kind": "Boat"});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.o.example.com"},
        "spec": {"group": "o.example.com", "scope": "Namespaced", "names": names, "versions": versions}
    });
    create(registry, definitions(), definition).await.unwrap();
}

async fn launch(registry: &Registry, name: &str) {
    let boat = json!({"apiVersion": "o.example.com/v1", "kind": "Boat", "metadata": {"name": name}});
    create(registry, boats(), boat).await.unwrap();
}

async fn undefine(registry: &Registry) {
    let now = registry.ambient().clock.now();
    let request = Request::new(Verb::Delete, definitions(), now).object("", "boats.o.example.com");
    registry.delete(&request, &DeleteOptions::default()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_derived_value_includes_every_write_and_is_computed_once_per_change() {
    let registry = registry();
    let value = Derived::new(reads, names);
    assert!(value.current(&registry).await.unwrap().is_empty());
    define(&registry).await;
    launch(&registry, "a").await;
    let one = value.current(&registry).await.unwrap();
    assert_eq!(*one, ["a"]);
    assert!(Arc::ptr_eq(&one, &value.current(&registry).await.unwrap()));
    launch(&registry, "b").await;
    assert_eq!(*value.latest(), ["a"], "nobody has asked since");
    assert_eq!(*value.current(&registry).await.unwrap(), ["a", "b"]);
    undefine(&registry).await;
    assert!(value.current(&registry).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_follower_acts_on_each_change_and_retries_after_an_error() {
    let registry = registry();
    let acted = Arc::new(Mutex::new(Vec::new()));
    let act = {
        let acted = Arc::clone(&acted);
        move |_: Registry, value: Arc<Vec<String>>| {
            let mut acted = acted.lock();
            acted.push(value.len());
            let refuse = value.len() == 2 && !acted[..acted.len() - 1].contains(&2);
            std::future::ready(if refuse { Err(Status::internal("not now")) } else { Ok(()) })
        }
    };
    let task = tokio::spawn({
        let registry = registry.clone();
        async move { Derived::new(reads, names).follow(&registry, act).await }
    });
    let settle = async || {
        tokio::time::sleep(Duration::from_secs(10)).await;
        acted.lock().clone()
    };
    define(&registry).await;
    launch(&registry, "a").await;
    let one = settle().await;
    assert_eq!(one.last(), Some(&1));
    assert_eq!(settle().await, one, "nothing has changed");
    launch(&registry, "b").await;
    assert_eq!(settle().await[one.len()..], [2, 2]);
    undefine(&registry).await;
    assert_eq!(settle().await.last(), Some(&0));
    task.abort();
}

#[derive(Default)]
struct Fleet {
    boats: PerObject<String>,
    /// How many objects were read so far.
    read: usize,
}

fn fleet(lists: &Lists, before: &Fleet) -> Fleet {
    let read = Cell::new(before.read);
    let name = |boat: &Stored| {
        read.set(read.get() + 1);
        boat.object().name().to_owned()
    };
    let boats = before.boats.changed(lists, &boats(), name).unwrap_or_else(|| before.boats.clone());
    Fleet { boats, read: read.get() }
}

#[tokio::test(start_paused = true)]
async fn a_value_per_object_reads_only_the_objects_that_have_changed() {
    let registry = registry();
    let value = Derived::new(reads, fleet);
    define(&registry).await;
    launch(&registry, "b").await;
    launch(&registry, "c").await;
    assert_eq!(value.current(&registry).await.unwrap().read, 2);
    launch(&registry, "a").await;
    let all = value.current(&registry).await.unwrap();
    assert_eq!(
        (all.boats.iter().cloned().collect::<Vec<_>>(), all.read),
        (["a", "b", "c"].map(str::to_owned).to_vec(), 3)
    );
    let request = Request::new(Verb::Delete, boats(), registry.ambient().clock.now()).object("default", "b");
    registry.delete(&request, &DeleteOptions::default()).await.unwrap();
    launch(&registry, "b").await;
    let all = value.current(&registry).await.unwrap();
    assert_eq!((all.boats.iter().count(), all.read), (3, 4), "the new object of the name is another one");
}
