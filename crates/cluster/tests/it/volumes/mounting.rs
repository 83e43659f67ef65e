//! What nodes do with volumes.

use std::time::Duration;

use coracle_api::core_v1::{ConfigMap, PersistentVolume, PersistentVolumeClaim, Pod};
use coracle_api::storage_v1::VolumeAttachment;
use coracle_client::ListParams;
use serde_json::json;
use tokio::time::sleep;

use super::world::{World, key, until};

#[tokio::test(start_paused = true)]
async fn no_container_begins_before_its_volumes_are_mounted() {
    let world = World::with_nodes(1).await;
    world.claim("data", json!({"coracle.dev/attach-delay": "30s", "coracle.dev/stage-delay": "40s"})).await;
    world.pod_with_claim("web", "data").await;
    let pod = async || world.api::<Pod>().get(&key("web")).await.unwrap();
    until("the pod has a node", async || world.node_of("web").await.is_some()).await;
    sleep(Duration::from_secs(60)).await;
    let waits = pod().await;
    assert!(waits.status.pod_ip.is_empty() && waits.status.phase == "Pending");
    assert_eq!(waits.status.container_statuses[0].state.waiting.as_ref().unwrap().reason, "ContainerCreating");
    until("the pod is ready", async || world.is_ready("web").await).await;
    let handle = world.volume_of("data").await.spec.csi.unwrap().volume_handle;
    assert_eq!(world.in_use("node-1").await, [format!("kubernetes.io/csi/sim.csi.coracle.dev^{handle}")]);
}

#[tokio::test(start_paused = true)]
async fn every_sort_of_volume_that_is_simulated_is_mounted() {
    let world = World::with_nodes(1).await;
    world.create::<ConfigMap>(json!({"metadata": {"name": "m", "namespace": "default"}, "data": {"a": "b"}})).await;
    let template = json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    let volumes = json!([
        {"name": "empty", "emptyDir": {}},
        {"name": "map", "configMap": {"name": "m"}},
        {"name": "secret", "secret": {"secretName": "none", "optional": true}},
        {"name": "down", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {"name": "many", "projected": {"sources": [{"configMap": {"name": "m"}}, {"serviceAccountToken": {"path": "token"}}]}},
        {"name": "host", "hostPath": {"path": "/srv"}},
        {"name": "own", "ephemeral": {"volumeClaimTemplate": template}},
        {"name": "inline", "csi": {"driver": "sim.csi.coracle.dev"}},
        {"name": "image", "image": {"reference": "model:1"}},
    ]);
    world.pod("web", volumes).await;
    until("the pod is ready", async || world.is_ready("web").await).await;
    world.delete::<Pod>(&key("web")).await;
    until("nothing is in use", async || {
        let left = world.api::<VolumeAttachment>().list(&ListParams::default()).await.unwrap().items;
        world.in_use("node-1").await.is_empty() && left.is_empty()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn mount_errors_have_the_kubelets_words() {
    let world = World::with_nodes(1).await;
    world.pod("map", json!([{"name": "v", "configMap": {"name": "absent"}}])).await;
    let text = "FailedMount: MountVolume.SetUp failed for volume \"v\" : configmap \"absent\" not found";
    until("an event reports it", async || world.has_event_beginning("map", text).await).await;
    world.pod("shared", json!([{"name": "v", "nfs": {"server": "s", "path": "/"}}])).await;
    let text = "FailedMount: Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to \
                process volumes=[v]: failed to mount volume \"v\": volumes of type nfs are not simulated";
    until("an event reports it", async || world.has_event_beginning("shared", text).await).await;
    world.pod("inline", json!([{"name": "v", "csi": {"driver": "other.example.com"}}])).await;
    let text = "FailedMount: MountVolume.SetUp failed for volume \"v\" : kubernetes.io/csi: mounter.SetUpAt failed to get CSI \
                client: driver name other.example.com not found in the list of registered CSI drivers";
    until("an event reports it", async || world.has_event_beginning("inline", text).await).await;
    let placed = json!({
        "metadata": {"name": "placed", "namespace": "default"},
        "spec": {
            "nodeName": "node-1",
            "containers": [{"name": "c", "image": "web:1", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "absent"}}],
        },
    });
    world.create::<Pod>(placed).await;
    let text = "FailedMount: Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to \
                process volumes=[v]: error processing PVC default/absent: failed to fetch PVC from API server: \
                persistentvolumeclaims \"absent\" not found";
    until("an event reports it", async || world.has_event_beginning("placed", text).await).await;
}

#[tokio::test(start_paused = true)]
async fn a_mount_that_fails_is_tried_again_until_it_succeeds() {
    let world = World::with_nodes(1).await;
    world.claim("data", json!({"coracle.dev/mount": "fail"})).await;
    world.pod_with_claim("web", "data").await;
    let text = "FailedMount: MountVolume.SetUp failed for volume \"pvc-";
    until("an event reports it", async || world.has_event_beginning("web", text).await).await;
    world.annotate::<PersistentVolumeClaim>(&key("data"), json!({"coracle.dev/mount": null})).await;
    until("the pod is ready", async || world.is_ready("web").await).await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_does_not_go_before_its_volumes_are_unmounted() {
    let world = World::with_nodes(1).await;
    world.claim("data", json!({"coracle.dev/unmount": "fail"})).await;
    world.pod_with_claim("web", "data").await;
    until("the pod is ready", async || world.is_ready("web").await).await;
    world.delete::<Pod>(&key("web")).await;
    sleep(Duration::from_secs(300)).await;
    let pod = world.api::<Pod>().get(&key("web")).await.unwrap();
    assert!(pod.status.container_statuses[0].state.terminated.is_some(), "its containers have ended long ago");
    assert_eq!(world.in_use("node-1").await.len(), 1);
    world.annotate::<PersistentVolumeClaim>(&key("data"), json!({"coracle.dev/unmount": null})).await;
    until("it is gone", async || world.node_of("web").await.is_none()).await;
    until("nothing is in use", async || world.in_use("node-1").await.is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_comes_back_mounts_what_its_pods_want_and_lets_the_rest_go() {
    let world = World::with_nodes(1).await;
    for name in ["stays", "goes"] {
        world.claim(name, json!({})).await;
        world.pod_with_claim(name, name).await;
        until("the pod is ready", async || world.is_ready(name).await).await;
    }
    assert_eq!(world.in_use("node-1").await.len(), 2);
    assert!(world.cluster.kubelet().stop_node("node-1"));
    let now = coracle_client::DeleteParams::now();
    world.api::<Pod>().delete(&key("goes"), &now).await.unwrap();
    sleep(Duration::from_secs(20)).await;
    assert!(world.cluster.kubelet().start_node("node-1"));
    until("one is let go", async || world.in_use("node-1").await.len() == 1).await;
    sleep(Duration::from_secs(60)).await;
    assert!(world.is_ready("stays").await);
    let volume = world.volume_of("stays").await;
    let left = world.api::<VolumeAttachment>().list(&ListParams::default()).await.unwrap().items;
    let names: Vec<_> = left.iter().filter_map(|one| one.spec.source.persistent_volume_name.clone()).collect();
    assert_eq!(names, [volume.metadata.name.clone().unwrap()]);
    assert!(world.api::<PersistentVolume>().list(&ListParams::default()).await.unwrap().items.len() == 2);
}

#[tokio::test(start_paused = true)]
async fn a_node_removes_volumes_that_it_does_not_have_from_its_status() {
    let world = World::with_nodes(1).await;
    world.cluster.kubelet().stop_node("node-1");
    let node = coracle_meta::ObjectKey::cluster("node-1");
    let said = coracle_client::Patch::Merge(json!({"status": {"volumesInUse": ["kubernetes.io/csi/d^gone"]}}));
    world.api::<coracle_api::core_v1::Node>().patch_status(&node, &said).await.unwrap();
    world.cluster.kubelet().start_node("node-1");
    until("nothing is in use", async || world.in_use("node-1").await.is_empty()).await;
}
