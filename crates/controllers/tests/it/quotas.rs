//! What is used of quotas.

use coracle_api::core_v1::{ConfigMap, Pod, ResourceQuota};
use coracle_client::{Api, DeleteParams, Patch};
use coracle_meta::{GroupVersionResource, Object, ObjectKey};
use serde_json::{Value, json};

use crate::world::{World, until};

fn object<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

async fn used(world: &World, name: &str) -> String {
    let quota = world.api::<ResourceQuota>().get(&key("all")).await.unwrap();
    quota.status.used.get(name).map(ToString::to_string).unwrap_or_default()
}

async fn quota(world: &World, hard: Value) {
    let quota = json!({"metadata": {"namespace": "default", "name": "all"}, "spec": {"hard": hard}});
    world.api::<ResourceQuota>().create(&object(quota)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn deleted_and_finished_objects_release_their_quota() {
    let world = World::start().await;
    let (pods, maps) = (world.api::<Pod>(), world.api::<ConfigMap>());
    quota(&world, json!({"pods": "1", "requests.cpu": "1", "count/configmaps": "9"})).await;
    until("it is counted", async || used(&world, "count/configmaps").await == "1").await;
    let pod = json!({
        "metadata": {"namespace": "default", "name": "a"},
        "spec": {"restartPolicy": "Never", "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "300m"}}},
        ]},
    });
    let pod: Pod = object(pod);
    until("there is an account", async || pods.create(&pod).await.is_ok()).await;
    maps.create(&object(json!({"metadata": {"namespace": "default", "name": "m"}}))).await.unwrap();
    assert_eq!(
        (used(&world, "requests.cpu").await, used(&world, "count/configmaps").await),
        ("300m".into(), "2".into())
    );
    let ended = Patch::Merge(json!({"status": {"phase": "Succeeded"}}));
    pods.patch_subresource::<Pod>(&key("a"), "status", &ended).await.unwrap();
    maps.delete(&key("m"), &DeleteParams::default()).await.unwrap();
    until("the amounts are free again", async || used(&world, "requests.cpu").await == "0").await;
    until("the map is no longer counted", async || used(&world, "count/configmaps").await == "1").await;
    assert_eq!(used(&world, "pods").await, "0");
}

#[tokio::test(start_paused = true)]
async fn custom_kinds_are_counted_from_when_they_are_served() {
    let world = World::start().await;
    quota(&world, json!({"count/boats.sea.example": "2"})).await;
    let definition: Object = object(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.sea.example"},
        "spec": {
            "group": "sea.example", "scope": "Namespaced",
            "names": {"plural": "boats", "singular": "boat", "kind": "Boat"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                          "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    }));
    let definitions = GroupVersionResource::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    world.dynamic(definitions).create(&definition).await.unwrap();
    let boats: Api<Object> = world.dynamic(GroupVersionResource::new("sea.example", "v1", "boats"));
    let boat: Object = object(json!({
        "apiVersion": "sea.example/v1", "kind": "Boat", "metadata": {"namespace": "default", "name": "a"},
    }));
    until("a boat is made", async || boats.create(&boat).await.is_ok()).await;
    // Recounted when the limits change.
    let patch = Patch::Merge(json!({"spec": {"hard": {"count/boats.sea.example": "3"}}}));
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    world.api::<ResourceQuota>().patch(&key("all"), &patch).await.unwrap();
    until("it is counted", async || used(&world, "count/boats.sea.example").await == "1").await;
    boats.delete(&key("a"), &DeleteParams::default()).await.unwrap();
    until("it is free again", async || used(&world, "count/boats.sea.example").await == "0").await;
}
