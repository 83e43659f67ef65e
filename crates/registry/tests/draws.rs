//! Which uids and names new objects get: those that follow from the seed, the requester and the object.

use std::sync::Arc;

use coracle_ambient::Ambient;
use coracle_journal::Recorder;
use coracle_meta::{GroupVersionKind, GroupVersionResource, Object, Scope};
use coracle_registry::{KindSpec, ListOptions, MemoryForm, Offers, Registry, Request, User, Verb};
use coracle_release::Release;
use coracle_schema::{KindSchema, ResourceRow};
use coracle_storage::Storage;
use coracle_store::{Engine, Options};
use proptest::prelude::*;
use serde_json::{Value, json};

fn resource() -> GroupVersionResource {
    GroupVersionResource::new("river.example", "v1", "boats")
}

fn boats() -> KindSpec {
    let kind = GroupVersionKind::new("river.example", "v1", "Boat");
    let row = ResourceRow {
        list_kind: "BoatList".to_owned(),
        kind,
        plural: "boats".to_owned(),
        singular: String::new(),
        short_names: Vec::new(),
        categories: Vec::new(),
        scope: Scope::Namespaced,
        verbs: ["create", "get", "list"].map(str::to_owned).to_vec(),
        subresources: Vec::new(),
        stored_as: resource(),
        storage_version: resource().group_version(),
        traits: [].into_iter().collect(),
    };
    let schema = KindSchema::built_in(&Release::default(), &GroupVersionKind::new("apps", "v1", "ReplicaSet"));
    KindSpec::new(&Release::default(), row, schema, Offers { form: MemoryForm::Maps, ..Offers::built_in(0) })
}

fn registry(ambient: Ambient) -> Registry {
    let storage = Storage::new(Arc::new(Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()))));
    tokio::spawn(storage.run());
    let kinds: Vec<Arc<dyn coracle_registry::Strategy>> = vec![Arc::new(boats())];
    Registry::builder(storage, ambient, Recorder::off()).kinds(kinds).build()
}

/// What a requester does; the metadata says the name.
#[derive(Clone, Debug)]
enum Act {
    Create { user: &'static str, program: &'static str, namespace: &'static str, metadata: Value },
    List,
}

/// The name and the uid of the object that this creates; `None` if it creates no object.
async fn act(registry: &Registry, act: &Act) -> Option<(String, String)> {
    let request = Request::new(Verb::List, resource(), registry.ambient().clock.now());
    let Act::Create { user, program, namespace, metadata } = act else {
        registry.list(&request, &ListOptions::default()).await.unwrap();
        return None;
    };
    let request = Request {
        verb: Verb::Create,
        user: Arc::new(User::new(*user, ["system:masters"])),
        user_agent: format!("{program}/v1 (linux)"),
        ..request.object(namespace, "")
    };
    let object = json!({"apiVersion": "river.example/v1", "kind": "Boat", "metadata": metadata, "spec": {}});
    let made = registry.create(&request, Object::from_value(object).unwrap()).await.ok()?.object();
    Some((made.name().to_owned(), made.uid().to_owned()))
}

fn made(ambient: fn() -> Ambient, acts: &[Act]) -> Vec<Option<(String, String)>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let (registry, mut all) = (registry(ambient()), Vec::new());
        for one in acts {
            all.push(act(&registry, one).await);
        }
        all
    })
}

/// What the requester does whose names are compared.
fn own(count: usize) -> Vec<Act> {
    let metadata = |number: usize| match number % 3 {
        0 => json!({"generateName": "skiff-"}),
        1 => json!({"generateName": "punt-"}),
        _ => json!({"name": format!("ferry-{number}")}),
    };
    let create = |number| Act::Create { user: "ann", program: "row", namespace: "ns", metadata: metadata(number) };
    (0..count).map(create).collect()
}

/// What another user, another program, or the same requester in another namespace or under another name does.
fn other() -> impl Strategy<Value = Act> {
    let create = |user, program, namespace, name: Value| Act::Create { user, program, namespace, metadata: name };
    let name = prop_oneof![Just(json!({"generateName": "skiff-"})), Just(json!({"name": "No Name"}))];
    prop_oneof![
        Just(Act::List),
        name.clone().prop_map(move |name| create("bob", "row", "ns", name)),
        name.clone().prop_map(move |name| create("ann", "sail", "ns", name)),
        name.prop_map(move |name| create("ann", "row", "elsewhere", name)),
        Just(create("ann", "row", "ns", json!({"generateName": "raft-"}))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn other_requests_change_no_uid_and_no_generated_name(
        others in prop::collection::vec((0..12_usize, other()), 0..24),
    ) {
        let own = own(12);
        let mut acts = Vec::new();
        let mut is_own = Vec::new();
        for (number, act) in own.iter().enumerate() {
            let before = others.iter().filter(|(at, _)| *at == number);
            acts.extend(before.map(|(_, act)| act.clone()));
            is_own.resize(acts.len(), false);
            acts.push(act.clone());
            is_own.push(true);
        }
        let quiet = made(|| Ambient::seeded(7), &own);
        let busy = made(|| Ambient::seeded(7), &acts).into_iter().zip(is_own);
        let busy: Vec<_> = busy.filter_map(|(made, is_own)| is_own.then_some(made)).collect();
        prop_assert!(quiet.iter().all(Option::is_some));
        prop_assert_eq!(quiet, busy);
    }
}

#[test]
fn no_uid_repeats_and_another_seed_gives_others() {
    let one = made(|| Ambient::seeded(7), &own(60));
    let other = made(|| Ambient::seeded(8), &own(60));
    let system = made(Ambient::system, &own(60));
    let uids: std::collections::BTreeSet<_> =
        [&one, &other, &system].into_iter().flatten().map(|made| made.clone().unwrap().1).collect();
    assert_eq!(uids.len(), 180);
}
