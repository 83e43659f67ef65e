//! Who goes with whom, and what is left.

use coracle_api::core_v1::ConfigMap;
use coracle_client::{DeleteParams, Patch, Propagation};
use coracle_meta::{ObjectKey, OwnerReference, Resource};
use serde_json::json;

use crate::world::{World, until};

fn map(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.namespace = Some("default".to_owned());
    map.metadata.name = Some(name.to_owned());
    map
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

fn reference(owner: &ConfigMap, blocks: bool) -> OwnerReference {
    OwnerReference {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: owner.metadata.name.clone().unwrap(),
        uid: owner.metadata.uid.clone().unwrap(),
        block_owner_deletion: Some(blocks),
        ..OwnerReference::default()
    }
}

/// An owner and one dependent of it.
async fn family(world: &World) -> ConfigMap {
    let maps = world.api::<ConfigMap>();
    let owner = maps.create(&map("owner")).await.unwrap();
    let mut child = map("child");
    child.metadata.owner_references.push(reference(&owner, true));
    maps.create(&child).await.unwrap();
    owner
}

#[tokio::test(start_paused = true)]
async fn dependents_go_after_their_owner() {
    let world = World::start().await;
    let maps = world.api::<ConfigMap>();
    family(&world).await;
    maps.delete(&key("owner"), &DeleteParams::propagating(Propagation::Background)).await.unwrap();
    until("the child is gone", async || maps.find(&key("child")).await.unwrap().is_none()).await;
}

#[tokio::test(start_paused = true)]
async fn an_owner_in_the_foreground_waits_for_its_dependents() {
    let world = World::start().await;
    let maps = world.api::<ConfigMap>();
    family(&world).await;
    let hold = Patch::Merge(json!({"metadata": {"finalizers": ["test/hold"]}}));
    maps.patch(&key("child"), &hold).await.unwrap();
    maps.delete(&key("owner"), &DeleteParams::propagating(Propagation::Foreground)).await.unwrap();
    let child_goes = async || maps.get(&key("child")).await.unwrap().meta().is_terminating();
    until("the child is being deleted", child_goes).await;
    assert_eq!(maps.get(&key("owner")).await.unwrap().metadata.finalizers, ["foregroundDeletion"]);
    maps.patch(&key("child"), &Patch::Merge(json!({"metadata": {"finalizers": null}}))).await.unwrap();
    until("the owner is gone", async || maps.find(&key("owner")).await.unwrap().is_none()).await;
}

#[tokio::test(start_paused = true)]
async fn orphans_stay_and_forget_their_owner() {
    let world = World::start().await;
    let maps = world.api::<ConfigMap>();
    family(&world).await;
    maps.delete(&key("owner"), &DeleteParams::propagating(Propagation::Orphan)).await.unwrap();
    until("the owner is gone", async || maps.find(&key("owner")).await.unwrap().is_none()).await;
    assert!(maps.get(&key("child")).await.unwrap().metadata.owner_references.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_never_was_is_no_owner_and_one_of_an_unknown_kind_keeps_its_dependents() {
    let world = World::start().await;
    let maps = world.api::<ConfigMap>();
    let mut stranger = map("stranger");
    stranger.metadata.uid = Some("00000000-0000-4000-8000-000000000000".to_owned());
    let mut lost = map("lost");
    lost.metadata.owner_references.push(reference(&stranger, false));
    let mut kept = map("kept");
    let unknown =
        OwnerReference { api_version: "example.com/v1".into(), kind: "Nothing".into(), ..reference(&stranger, false) };
    kept.metadata
        .owner_references
        .push(OwnerReference { uid: "00000000-0000-4000-8000-000000000001".into(), ..unknown });
    maps.create(&lost).await.unwrap();
    maps.create(&kept).await.unwrap();
    until("the lost one is gone", async || maps.find(&key("lost")).await.unwrap().is_none()).await;
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert!(maps.find(&key("kept")).await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_solid_owner_keeps_an_object_and_the_others_are_struck_off() {
    let world = World::start().await;
    let maps = world.api::<ConfigMap>();
    let one = maps.create(&map("one")).await.unwrap();
    let other = maps.create(&map("other")).await.unwrap();
    let mut child = map("child");
    child.metadata.owner_references = vec![reference(&one, false), reference(&other, false)];
    maps.create(&child).await.unwrap();
    maps.delete(&key("one"), &DeleteParams::default()).await.unwrap();
    let owners = async || maps.get(&key("child")).await.unwrap().metadata.owner_references;
    until("one owner is left", async || owners().await.len() == 1).await;
    assert_eq!(owners().await[0].name, "other");
}
