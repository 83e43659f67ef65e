//! Pods that wait for their claims, and claims that wait for their pods.

use coracle_api::core_v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod, ServiceAccount};
use coracle_api::storage_v1::StorageClass;
use coracle_meta::ObjectKey;
use serde_json::{Value, json};

use crate::world::{World, until};

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

/// Two nodes, a class whose claims wait, and a pod with the claim `data`.
async fn world_with_user(provisioner: &str) -> World {
    let world = World::with_nodes(2).await;
    let accounts = world.api::<ServiceAccount>();
    until("pods have an account", async || accounts.find(&key("default")).await.unwrap().is_some()).await;
    until("the nodes are there", async || {
        world.api::<Node>().find(&ObjectKey::cluster("node-2")).await.unwrap().is_some()
    })
    .await;
    world
        .create::<StorageClass>(json!({"metadata": {"name": "disk"}, "provisioner": provisioner,
            "volumeBindingMode": "WaitForFirstConsumer"}))
        .await;
    world
        .create::<Pod>(json!({"metadata": {"namespace": "default", "name": "user"}, "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}}))
        .await;
    world
}

async fn claim(world: &World) {
    world
        .create::<PersistentVolumeClaim>(json!({"metadata": {"namespace": "default", "name": "data"}, "spec": {
            "storageClassName": "disk", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}))
        .await;
}

fn volume(reference: Value) -> Value {
    let on_second = json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-2"]}]}]}});
    json!({"metadata": {"name": "v"}, "spec": {"storageClassName": "disk", "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"], "local": {"path": "/tmp/a"}, "nodeAffinity": on_second, "claimRef": reference}})
}

async fn user(world: &World) -> Pod {
    world.api::<Pod>().get(&key("user")).await.unwrap()
}

async fn why(world: &World) -> String {
    user(world).await.condition("PodScheduled").map(|condition| condition.message.clone()).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_pod_waits_for_its_claim_and_says_so_and_gets_the_node_that_its_volume_is_on() {
    let world = world_with_user("kubernetes.io/no-provisioner").await;
    let missing = "0/2 nodes are available: persistentvolumeclaim \"data\" not found. not found";
    until("the claim is missed", async || why(&world).await == missing).await;
    claim(&world).await;
    let no_volume = "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind. \
                     preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.";
    until("a volume is missed", async || why(&world).await == no_volume).await;
    world.create::<PersistentVolume>(volume(Value::Null)).await;
    until("the pod has its node", async || user(&world).await.node_name() == Some("node-2")).await;
    assert!(world.api::<PersistentVolumeClaim>().get(&key("data")).await.unwrap().is_bound());
}

#[tokio::test(start_paused = true)]
async fn a_volume_is_asked_for_where_the_pod_will_be_and_the_pod_waits_for_it() {
    let world = world_with_user("csi.example.com").await;
    claim(&world).await;
    let claims = world.api::<PersistentVolumeClaim>();
    let selected = async || {
        let annotations = claims.get(&key("data")).await.unwrap().metadata.annotations;
        annotations.get("volume.kubernetes.io/selected-node").cloned()
    };
    until("a node is selected", async || selected().await.is_some()).await;
    let node = selected().await.unwrap();
    until("the pod says where it is going", async || user(&world).await.status.nominated_node_name == node).await;
    tokio::time::sleep(std::time::Duration::from_secs(30)).await;
    assert_eq!(user(&world).await.node_name(), None);

    let uid = claims.get(&key("data")).await.unwrap().metadata.uid;
    let reference = json!({"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data", "uid": uid});
    let mut made = volume(reference);
    made["spec"]["nodeAffinity"] = Value::Null;
    made["spec"]["local"] = Value::Null;
    made["spec"]["csi"] = json!({"driver": "csi.example.com", "volumeHandle": "x"});
    world.create::<PersistentVolume>(made).await;
    until("the pod has its node", async || user(&world).await.node_name() == Some(node.as_str())).await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_not_bound_at_once_holds_its_pod() {
    let world = world_with_user("csi.example.com").await;
    world.create::<StorageClass>(json!({"metadata": {"name": "now"}, "provisioner": "csi.example.com"})).await;
    world
        .create::<PersistentVolumeClaim>(json!({"metadata": {"namespace": "default", "name": "other"}, "spec": {
            "storageClassName": "now", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}))
        .await;
    world
        .create::<Pod>(json!({"metadata": {"namespace": "default", "name": "second"}, "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "other"}}]}}))
        .await;
    let held = "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found";
    let second = async || world.api::<Pod>().get(&key("second")).await.unwrap();
    until("the second pod is held", async || {
        second().await.condition("PodScheduled").is_some_and(|condition| condition.message == held)
    })
    .await;
    assert_eq!(second().await.node_name(), None);
}
