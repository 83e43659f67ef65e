//! A made-up kind, added as a row and a description, goes through every verb.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use coracle_ambient::Ambient;
use coracle_journal::Recorder;
use coracle_meta::{
    FieldError, GroupVersionKind, GroupVersionResource, LabelSelector, Object, Scope, Status, WatchEvent,
};
use coracle_registry::{
    Admission, DeleteOptions, Deleted, GetOptions, KindSpec, ListOptions, MemoryForm, Offers, Operation, Patch,
    PatchKind, Preconditions, Propagation, Registry, Request, Review, Strategy, Verb,
};
use coracle_release::Release;
use coracle_schema::{KindSchema, ResourceRow, SubresourceRow, Trait};
use coracle_storage::Storage;
use coracle_store::{Engine, Options};
use serde_json::{Value, json};

fn gvr(plural: &str) -> GroupVersionResource {
    GroupVersionResource::new("river.example", "v1", plural)
}

/// A kind that looks like a ReplicaSet and behaves as its row says.
fn boats(plural: &str, kind: &str, traits: &[Trait]) -> KindSpec {
    let kind = GroupVersionKind::new("river.example", "v1", kind);
    let verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    let status = SubresourceRow {
        name: "status".to_owned(),
        kind: kind.clone(),
        verbs: vec!["get".to_owned(), "patch".to_owned(), "update".to_owned()],
        foreign: false,
    };
    let row = ResourceRow {
        list_kind: format!("{}List", kind.kind),
        kind,
        plural: plural.to_owned(),
        singular: String::new(),
        short_names: Vec::new(),
        categories: Vec::new(),
        scope: Scope::Namespaced,
        verbs: verbs.map(str::to_owned).to_vec(),
        subresources: vec![status],
        stored_as: gvr(plural),
        storage_version: gvr(plural).group_version(),
        traits: traits.iter().copied().collect(),
    };
    let schema = KindSchema::built_in(&Release::default(), &GroupVersionKind::new("apps", "v1", "ReplicaSet"));
    KindSpec {
        set_defaults: |boat, _| {
            if boat.number("spec.replicas").is_none() {
                boat.set("spec.replicas", 1);
            }
        },
        takes_any_finalizer: true,
        validate: |boat, _| {
            let replicas = boat.number("spec.replicas").unwrap_or(0);
            let wrong = (replicas < 0).then(|| FieldError::invalid("spec.replicas", replicas, "must not be negative"));
            wrong.into_iter().collect()
        },
        grace_period: |_, requested| requested,
        reset_by_status: &["spec", "metadata.labels"],
        ..KindSpec::new(&Release::default(), row, schema, Offers { form: MemoryForm::Maps, ..Offers::built_in(0) })
    }
}

/// Refuses whatever is labelled so, and labels whatever is created.
struct Customs;

#[async_trait]
impl Admission for Customs {
    fn name(&self) -> &'static str {
        "Customs"
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        if review.operation == Operation::Create
            && let Some(object) = review.object_mut()
        {
            object.set("metadata.annotations.seen", "yes");
        }
        Ok(())
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        let object = review.object().or(review.old);
        match object.and_then(|object| object.label("contraband")) {
            Some(_) => Err(Status::forbidden(&review.request.group_resource(), &review.request.at.name, "contraband")),
            None => Ok(()),
        }
    }
}

/// Counts how often it is asked, to change and to refuse.
#[derive(Default)]
struct Toll {
    mutated: AtomicUsize,
    validated: AtomicUsize,
}

#[async_trait]
impl Admission for Toll {
    fn name(&self) -> &'static str {
        "Toll"
    }

    async fn mutate(&self, _review: &mut Review<'_>) -> Result<(), Status> {
        self.mutated.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn validate(&self, _review: &Review<'_>) -> Result<(), Status> {
        self.validated.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn engine() -> Engine {
    Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()))
}

fn registry() -> Registry {
    registry_over(engine(), Arc::new(Customs))
}

fn registry_over(engine: Engine, plugin: Arc<dyn Admission>) -> Registry {
    let all = [Trait::Generation, Trait::UnconditionalUpdate];
    let ferries = KindSpec {
        grace_period: |_, requested| requested.or(Some(30)),
        ..boats("ferries", "Ferry", &[Trait::Graceful, Trait::Generation])
    };
    let kinds: Vec<Arc<dyn Strategy>> = vec![
        Arc::new(boats("boats", "Boat", &all)),
        Arc::new(boats("locks", "Lock", &[Trait::CreateOnUpdate])),
        Arc::new(ferries),
        Arc::new(boats("wrecks", "Wreck", &[Trait::ReturnsDeleted])),
    ];
    let storage = Storage::new(Arc::new(engine));
    tokio::spawn(storage.run());
    Registry::builder(storage, Ambient::seeded(1), Recorder::off()).kinds(kinds).admission([plugin]).build()
}

fn request(registry: &Registry, verb: Verb, plural: &str, name: &str) -> Request {
    let request = Request::new(verb, gvr(plural), registry.ambient().clock.now()).object("ns", name);
    Request { field_manager: "test".to_owned(), ..request }
}

fn boat(metadata: Value, spec: Value) -> Object {
    Object::from_value(json!({"apiVersion": "river.example/v1", "kind": "Boat", "metadata": metadata, "spec": spec}))
        .unwrap()
}

async fn create(registry: &Registry, plural: &str, metadata: Value) -> Result<Arc<Object>, Status> {
    let request = request(registry, Verb::Create, plural, "");
    Ok(registry.create(&request, boat(metadata, json!({}))).await?.object())
}

async fn get(registry: &Registry, plural: &str, name: &str) -> Result<Arc<Object>, Status> {
    let request = request(registry, Verb::Get, plural, name);
    Ok(registry.get(&request, &GetOptions::default()).await?.object())
}

async fn patch(
    registry: &Registry,
    plural: &str,
    name: &str,
    kind: PatchKind,
    body: Value,
) -> Result<Arc<Object>, Status> {
    let request = request(registry, Verb::Patch, plural, name);
    let patch = Patch { kind, body: Bytes::from(body.to_string()) };
    Ok(registry.patch(&request, &patch).await?.object.object())
}

async fn merge(registry: &Registry, plural: &str, name: &str, body: Value) -> Result<Arc<Object>, Status> {
    patch(registry, plural, name, PatchKind::Merge, body).await
}

async fn delete(registry: &Registry, plural: &str, name: &str, options: DeleteOptions) -> Result<Deleted, Status> {
    registry.delete(&request(registry, Verb::Delete, plural, name), &options).await
}

#[tokio::test(start_paused = true)]
async fn a_created_object_has_what_the_server_gives_and_not_what_the_client_may_not_set() {
    let registry = registry();
    let metadata = json!({"name": "a", "uid": "mine", "creationTimestamp": "2000-01-01T00:00:00Z", "generation": 9,
        "deletionTimestamp": "2000-01-01T00:00:00Z"});
    let created = create(&registry, "boats", metadata).await.unwrap();
    assert_eq!(created.uid().len(), 36);
    assert_eq!(created.text("metadata.creationTimestamp"), "2026-01-01T00:00:00Z");
    assert_eq!((created.generation(), created.namespace(), created.is_terminating()), (1, "ns", false));
    assert_eq!(created.number("spec.replicas"), Some(1));
    assert_eq!(created.annotation("seen"), Some("yes"));
    assert_eq!(created.field("metadata.managedFields").unwrap()[0]["manager"], "test");
    assert_eq!(get(&registry, "boats", "a").await.unwrap(), created);
}

#[tokio::test(start_paused = true)]
async fn creating_refuses_with_kubernetes_words() {
    let registry = registry();
    create(&registry, "boats", json!({"name": "a"})).await.unwrap();
    let twice = create(&registry, "boats", json!({"name": "a"})).await.unwrap_err();
    assert_eq!((twice.code, &*twice.message), (409, "boats.river.example \"a\" already exists"));
    let unnamed = create(&registry, "boats", json!({})).await.unwrap_err();
    assert_eq!(
        (unnamed.code, &*unnamed.message),
        (422, "Boat.river.example \"\" is invalid: metadata.name: Required value: name or generateName is required")
    );
    let elsewhere = create(&registry, "boats", json!({"name": "b", "namespace": "other"})).await.unwrap_err();
    assert_eq!(elsewhere.code, 400);
    let versioned = create(&registry, "boats", json!({"name": "b", "resourceVersion": "7"})).await.unwrap_err();
    assert_eq!(
        (versioned.code, &*versioned.message),
        (500, "resourceVersion should not be set on objects to be created")
    );
    let smuggled = create(&registry, "boats", json!({"name": "b", "labels": {"contraband": "x"}})).await.unwrap_err();
    assert_eq!(smuggled.code, 403);
    let negative = registry
        .create(&request(&registry, Verb::Create, "boats", ""), boat(json!({"name": "b"}), json!({"replicas": -1})))
        .await
        .unwrap_err();
    assert!(negative.message.ends_with("spec.replicas: Invalid value: -1: must not be negative"), "{negative}");
    let unknown = get(&registry, "boats", "b").await.unwrap_err();
    assert_eq!((unknown.code, &*unknown.message), (404, "boats.river.example \"b\" not found"));
}

#[tokio::test(start_paused = true)]
async fn a_generated_name_is_generated_again_until_it_is_free() {
    let registry = registry();
    let mut names = Vec::new();
    for _ in 0..20 {
        let created = create(&registry, "boats", json!({"generateName": "b-"})).await.unwrap();
        assert!(created.name().starts_with("b-") && created.name().len() == 7, "{}", created.name());
        assert!(!names.contains(&created.name().to_owned()));
        names.push(created.name().to_owned());
    }
}

#[tokio::test(start_paused = true)]
async fn plug_ins_change_an_object_once_however_many_names_are_tried() {
    let engine = engine();
    let first = registry_over(engine.clone(), Arc::new(Customs));
    let first = create(&first, "boats", json!({"generateName": "b-"})).await.unwrap();
    // A server with the same seed draws the same name first.
    let toll = Arc::new(Toll::default());
    let second = registry_over(engine, Arc::clone(&toll) as Arc<dyn Admission>);
    let second = create(&second, "boats", json!({"generateName": "b-"})).await.unwrap();
    assert_ne!(first.name(), second.name());
    let asked = (toll.mutated.load(Ordering::Relaxed), toll.validated.load(Ordering::Relaxed));
    assert_eq!(asked, (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_does_everything_but_the_write() {
    let registry = registry();
    let dry = Request { dry_run: true, ..request(&registry, Verb::Create, "boats", "") };
    let created = registry.create(&dry, boat(json!({"name": "a"}), json!({}))).await.unwrap().object();
    assert_eq!((created.resource_version(), created.generation()), ("", 1));
    let versioned = registry.create(&dry, boat(json!({"name": "a", "resourceVersion": "7"}), json!({}))).await;
    assert_eq!(versioned.unwrap().object().resource_version(), "7", "only a store minds that it has one");
    assert!(get(&registry, "boats", "a").await.unwrap_err().is_not_found());
    let before = create(&registry, "boats", json!({"name": "a"})).await.unwrap();
    let again = registry.create(&dry, boat(json!({"name": "a"}), json!({}))).await.unwrap_err();
    assert!(again.is_already_exists());
    let dry = Request { dry_run: true, ..request(&registry, Verb::Delete, "boats", "a") };
    registry.delete(&dry, &DeleteOptions::default()).await.unwrap();
    let dry = Request { dry_run: true, ..request(&registry, Verb::Patch, "boats", "a") };
    let body = Bytes::from_static(br#"{"spec":{"replicas":7}}"#);
    let patched = registry.patch(&dry, &Patch { kind: PatchKind::Merge, body }).await.unwrap().object.object();
    assert_eq!((patched.number("spec.replicas"), patched.generation()), (Some(7), 2));
    assert_eq!(get(&registry, "boats", "a").await.unwrap(), before);
}

#[tokio::test(start_paused = true)]
async fn updates_lock_by_resource_version_and_overwrite_where_the_kind_allows() {
    let registry = registry();
    let first = create(&registry, "boats", json!({"name": "a"})).await.unwrap();
    let update = |object: Object| {
        let registry = registry.clone();
        async move { registry.update(&request(&registry, Verb::Update, "boats", "a"), object).await }
    };
    let mut changed = Object::clone(&first);
    changed.set("spec.replicas", 2);
    changed.set("status.replicas", 9);
    let second = update(changed.clone()).await.unwrap().object.object();
    assert_eq!((second.generation(), second.field("status.replicas")), (2, None));
    let stale = update(changed.clone()).await.unwrap_err();
    assert!(stale.is_conflict() && stale.message.contains("the object has been modified"), "{stale}");
    changed.remove("metadata.resourceVersion");
    let same = update(changed.clone()).await.unwrap().object.object();
    assert_eq!(same.resource_version(), second.resource_version(), "a write that changes nothing makes no revision");
    changed.set("metadata.uid", "other");
    let other = update(changed.clone()).await.unwrap_err();
    assert!(other.is_conflict() && other.message.contains("UID in precondition: other"), "{other}");
    let misnamed = update(boat(json!({"name": "b"}), json!({}))).await.unwrap_err();
    assert_eq!(misnamed.message, "the name of the object (b) does not match the name on the URL (a)");
    let locks = request(&registry, Verb::Update, "locks", "x");
    let mut lock = boat(json!({"name": "x"}), json!({}));
    lock.set("kind", "Lock");
    assert!(registry.update(&locks, lock.clone()).await.unwrap().created, "this kind is created by an update");
    let unlocked = registry.update(&locks, lock).await.unwrap_err();
    assert!(unlocked.message.ends_with("metadata.resourceVersion: Invalid value: 0: must be specified for an update"));
}

#[tokio::test(start_paused = true)]
async fn status_is_written_through_its_own_path_alone() {
    let registry = registry();
    create(&registry, "boats", json!({"name": "a"})).await.unwrap();
    let status = request(&registry, Verb::Patch, "boats", "a").subresource("status");
    let body = Bytes::from_static(br#"{"spec":{"replicas":5},"status":{"replicas":3}}"#);
    let patched = registry.patch(&status, &Patch { kind: PatchKind::Merge, body }).await.unwrap().object.object();
    assert_eq!((patched.number("spec.replicas"), patched.number("status.replicas")), (Some(1), Some(3)));
    assert_eq!(patched.generation(), 1);
    let entries = patched.field("metadata.managedFields").unwrap().as_array().unwrap();
    assert!(entries.iter().any(|entry| entry["subresource"] == "status"), "{entries:?}");
}

#[tokio::test(start_paused = true)]
async fn patches_and_applies_change_what_they_say() {
    let registry = registry();
    create(&registry, "boats", json!({"name": "a"})).await.unwrap();
    let patched = merge(&registry, "boats", "a", json!({"metadata": {"labels": {"x": "y"}}})).await.unwrap();
    assert_eq!((patched.label("x"), patched.generation()), (Some("y"), 1));
    let body = json!([{"op": "replace", "path": "/spec/replicas", "value": 4}]);
    let patched = patch(&registry, "boats", "a", PatchKind::Json, body).await.unwrap();
    assert_eq!(patched.number("spec.replicas"), Some(4));
    let failing = json!([{"op": "test", "path": "/spec/replicas", "value": 5}]);
    assert_eq!(patch(&registry, "boats", "a", PatchKind::Json, failing).await.unwrap_err().code, 422);
    let apply = PatchKind::Apply { force: false };
    let config =
        json!({"apiVersion": "river.example/v1", "kind": "Boat", "metadata": {"name": "n"}, "spec": {"replicas": 2}});
    let applied = patch(&registry, "boats", "n", apply, config.clone()).await.unwrap();
    assert_eq!((applied.generation(), applied.number("spec.replicas")), (1, Some(2)));
    let again = patch(&registry, "boats", "n", apply, config.clone()).await.unwrap();
    assert_eq!(again.resource_version(), applied.resource_version());
    let other = Request { field_manager: "other".into(), ..request(&registry, Verb::Patch, "boats", "n") };
    let mut theirs = config;
    theirs["spec"]["replicas"] = json!(3);
    let body = Bytes::from(theirs.to_string());
    let conflict = registry.patch(&other, &Patch { kind: apply, body: body.clone() }).await.unwrap_err();
    assert!(conflict.message.starts_with("Apply failed with 1 conflict: conflict with \"test\""), "{conflict}");
    let forced = Patch { kind: PatchKind::Apply { force: true }, body };
    assert!(!registry.patch(&other, &forced).await.unwrap().created);
}

#[tokio::test(start_paused = true)]
async fn finalizers_hold_an_object_and_the_last_one_lets_it_go() {
    let registry = registry();
    create(&registry, "boats", json!({"name": "a", "finalizers": ["x/a", "x/b"]})).await.unwrap();
    let Deleted::Object(held) = delete(&registry, "boats", "a", DeleteOptions::default()).await.unwrap() else {
        panic!("it stays")
    };
    let held = held.object();
    assert!(held.is_terminating());
    assert_eq!((held.generation(), held.number("metadata.deletionGracePeriodSeconds")), (2, Some(0)));
    let added = merge(&registry, "boats", "a", json!({"metadata": {"finalizers": ["x/a", "x/b", "x/c"]}})).await;
    assert!(added.unwrap_err().is_invalid());
    let kept = merge(&registry, "boats", "a", json!({"metadata": {"deletionTimestamp": null, "finalizers": ["x/b"]}}));
    assert!(kept.await.unwrap().is_terminating(), "a deletion cannot be taken back");
    let last = merge(&registry, "boats", "a", json!({"metadata": {"finalizers": null}})).await.unwrap();
    assert!(last.finalizers().is_empty());
    assert!(get(&registry, "boats", "a").await.unwrap_err().is_not_found());
}

#[tokio::test(start_paused = true)]
async fn propagation_sets_the_finalizers_of_the_garbage_collector() {
    let registry = registry();
    for (policy, finalizer) in [(Propagation::Foreground, "foregroundDeletion"), (Propagation::Orphan, "orphan")] {
        create(&registry, "boats", json!({"name": "a"})).await.unwrap();
        let options = DeleteOptions { propagation: Some(policy), ..DeleteOptions::default() };
        let Deleted::Object(held) = delete(&registry, "boats", "a", options).await.unwrap() else { panic!("it stays") };
        assert_eq!(held.object().finalizers(), [finalizer]);
        let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
        let Deleted::Status(status) = delete(&registry, "boats", "a", options).await.unwrap() else {
            panic!("it goes")
        };
        assert_eq!(status.details.unwrap().kind, "boats");
    }
    let both = DeleteOptions {
        propagation: Some(Propagation::Orphan),
        orphan_dependents: Some(true),
        ..DeleteOptions::default()
    };
    assert_eq!(delete(&registry, "boats", "a", both).await.unwrap_err().code, 422);
}

#[tokio::test(start_paused = true)]
async fn grace_is_granted_once_and_can_only_be_shortened() {
    let registry = registry();
    create(&registry, "ferries", json!({"name": "a"})).await.unwrap();
    let seconds = |grace| DeleteOptions { grace_period_seconds: grace, ..DeleteOptions::default() };
    let mut granted = Vec::new();
    for requested in [None, Some(60), Some(5), None, Some(-3)] {
        drop(delete(&registry, "ferries", "a", seconds(requested)).await.unwrap());
        let object = get(&registry, "ferries", "a").await.unwrap();
        granted.push((object.number("metadata.deletionGracePeriodSeconds"), object.generation()));
    }
    assert_eq!(granted, [(Some(30), 2), (Some(30), 2), (Some(5), 2), (Some(5), 2), (Some(1), 2)]);
    delete(&registry, "ferries", "a", seconds(Some(0))).await.unwrap();
    assert!(get(&registry, "ferries", "a").await.unwrap_err().is_not_found());
}

#[tokio::test(start_paused = true)]
async fn a_precondition_keeps_a_delete_from_the_wrong_object() {
    let registry = registry();
    let object = create(&registry, "wrecks", json!({"name": "a"})).await.unwrap();
    let wrong = Preconditions { uid: Some("other".into()), ..Preconditions::default() };
    let refused = delete(&registry, "wrecks", "a", DeleteOptions { preconditions: wrong, ..DeleteOptions::default() });
    assert!(refused.await.unwrap_err().message.contains("the UID in the precondition (other)"));
    let right = Preconditions { uid: Some(object.uid().into()), ..Preconditions::default() };
    let options = DeleteOptions { preconditions: right, ..DeleteOptions::default() };
    let Deleted::Object(gone) = delete(&registry, "wrecks", "a", options).await.unwrap() else {
        panic!("kind answers so")
    };
    assert_eq!(gone.object().name(), "a");
}

#[tokio::test(start_paused = true)]
async fn a_collection_is_deleted_by_selector_and_returned() {
    let registry = registry();
    for (name, color) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        create(&registry, "boats", json!({"name": name, "labels": {"color": color}})).await.unwrap();
    }
    let red = ListOptions { label_selector: LabelSelector::parse("color=red").unwrap(), ..ListOptions::default() };
    let all = request(&registry, Verb::DeleteCollection, "boats", "");
    let gone = registry.delete_collection(&all, &DeleteOptions::default(), &red).await.unwrap();
    assert_eq!(gone.items.len(), 2);
    let left = registry.list(&request(&registry, Verb::List, "boats", ""), &ListOptions::default()).await.unwrap();
    assert_eq!(left.items.iter().map(|item| item.object().name().to_owned()).collect::<Vec<_>>(), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn owners_that_are_there_twice_are_dropped_with_a_warning() {
    let registry = registry();
    let owner = json!({"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u"});
    let asked = request(&registry, Verb::Create, "boats", "");
    let object = boat(json!({"name": "a", "ownerReferences": [owner, owner]}), json!({}));
    let created = registry.create(&asked, object).await.unwrap().object();
    assert_eq!(created.owner_references().len(), 1);
    assert!(asked.warnings.texts()[0].ends_with("duplicate UID(s) observed: u"));
}

#[tokio::test(start_paused = true)]
async fn a_watch_sees_what_the_verbs_did() {
    let registry = registry();
    let first = create(&registry, "boats", json!({"name": "a"})).await.unwrap();
    merge(&registry, "boats", "a", json!({"spec": {"replicas": 3}})).await.unwrap();
    merge(&registry, "boats", "a", json!({"spec": {"replicas": 3}})).await.unwrap();
    delete(&registry, "boats", "a", DeleteOptions::default()).await.unwrap();
    let options = ListOptions { resource_version: first.resource_version().to_owned(), ..ListOptions::default() };
    let mut watch = registry.watch(&request(&registry, Verb::Watch, "boats", ""), &options).await.unwrap();
    let Some(WatchEvent::Modified(changed)) = watch.next().await else { panic!("the patch") };
    let Some(WatchEvent::Deleted(gone)) = watch.next().await else { panic!("the deletion, and no empty write") };
    assert_eq!((changed.revision() + 1, gone.object().number("spec.replicas")), (gone.revision(), Some(3)));
    let nonsense = ListOptions { resource_version: "x".into(), ..ListOptions::default() };
    let asked = request(&registry, Verb::Watch, "boats", "");
    let refused = registry.watch(&asked, &nonsense).await.unwrap_err();
    assert_eq!(refused.code, 500, "as in Kubernetes, which passes the error of its storage on");
}

#[tokio::test(start_paused = true)]
async fn kinds_come_and_go_while_the_server_runs() {
    let registry = registry();
    let before = registry.kinds();
    let waiting = tokio::spawn({
        let registry = registry.clone();
        async move { registry.kinds_changed(before.version).await }
    });
    tokio::task::yield_now().await;
    let rafts: Arc<dyn Strategy> = Arc::new(boats("rafts", "Raft", &[]));
    registry.add_kind(&rafts);
    assert!(waiting.await.unwrap().resource(&gvr("rafts")).is_some());
    create(&registry, "rafts", json!({"name": "a"})).await.unwrap();
    registry.remove_kind(&gvr("rafts"));
    let gone = get(&registry, "rafts", "a").await.unwrap_err();
    assert_eq!((gone.code, &*gone.message), (404, "the server could not find the requested resource"));
}
