//! What the driver's controllers do.

use std::time::Duration;

use coracle_api::core_v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use coracle_api::storage_v1::{CSINode, StorageClass, VolumeAttachment};
use coracle_client::{ListParams, Patch};
use coracle_cluster::{Cluster, NodeSpec};
use coracle_meta::{ObjectKey, Resource};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::world::{World, key, until};

async fn is_gone<K: Resource>(world: &World, key: &ObjectKey) -> bool {
    world.api::<K>().find(key).await.unwrap().is_none()
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_was_not_asked_for_the_driver_has_nothing_of_it() {
    let world = World::of(Cluster::builder().nodes(1).start().await.unwrap()).await;
    assert!(world.api::<StorageClass>().list(&ListParams::default()).await.unwrap().items.is_empty());
    assert!(world.api::<CSINode>().list(&ListParams::default()).await.unwrap().items.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_claim_is_provisioned_for_its_pods_node_and_deleted_with_its_volume() {
    let world = World::with_nodes(2).await;
    world.claim("data", json!({})).await;
    sleep(Duration::from_secs(30)).await;
    assert!(world.bound_claim("data").await.is_none());
    assert!(world.has_event_beginning("data", "WaitForFirstConsumer: waiting for first consumer").await);
    world.pod_with_claim("web", "data").await;
    until("the pod is ready", async || world.is_ready("web").await).await;
    let volume = world.volume_of("data").await;
    assert_eq!(volume.spec.csi.as_ref().unwrap().driver, "sim.csi.coracle.dev");
    assert!(world.has_event_beginning("data", "ExternalProvisioning: Waiting for a volume").await);
    assert!(
        world.has_event_beginning("data", "Provisioning: External provisioner is provisioning volume for claim").await
    );
    let done = format!("ProvisioningSucceeded: Successfully provisioned volume {}", volume.key().name);
    assert!(world.has_event_beginning("data", &done).await, "{:?}", world.events_of("data").await);
    assert!(world.has_event_beginning("web", "SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume").await);
    world.delete::<Pod>(&key("web")).await;
    world.delete::<PersistentVolumeClaim>(&key("data")).await;
    until("the volume is gone", async || is_gone::<PersistentVolume>(&world, &volume.key()).await).await;
    assert!(world.api::<VolumeAttachment>().list(&ListParams::default()).await.unwrap().items.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_failing_driver_reports_its_error_and_recovers() {
    let world = World::with_nodes(1).await;
    world.claim("data", json!({"coracle.dev/provision": "fail"})).await;
    world.pod_with_claim("web", "data").await;
    let failed =
        "ProvisioningFailed: failed to provision volume with StorageClass \"standard\": rpc error: code = Internal";
    until("it has failed", async || world.has_event_beginning("data", failed).await).await;
    world.annotate::<PersistentVolumeClaim>(&key("data"), json!({"coracle.dev/provision": "maybe"})).await;
    let unreadable = "InvalidBehaviour: annotation coracle.dev/provision: \"maybe\" is not ok, fail, hang or exhausted";
    until("an event reports it", async || world.has_event_beginning("data", unreadable).await).await;
    world.annotate::<PersistentVolumeClaim>(&key("data"), json!({"coracle.dev/provision": null})).await;
    until("the pod is ready", async || world.is_ready("web").await).await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_node_lacks_volume_capacity_is_rescheduled() {
    let world = World::with_nodes(2).await;
    world.claim("data", json!({"coracle.dev/provision": "exhausted"})).await;
    world.pod_with_claim("web", "data").await;
    until("no room", async || world.has_event_beginning("data", "ProvisioningFailed").await).await;
    world.annotate::<PersistentVolumeClaim>(&key("data"), json!({"coracle.dev/provision": "ok"})).await;
    until("the pod is ready", async || world.is_ready("web").await).await;
}

#[tokio::test(start_paused = true)]
async fn an_attachment_takes_its_time_or_fails_with_an_event_on_the_pod() {
    let world = World::with_nodes(1).await;
    world.claim("data", json!({"coracle.dev/attach": "fail", "coracle.dev/attach-delay": "20s"})).await;
    world.pod_with_claim("web", "data").await;
    let begun = Instant::now();
    let failed = "FailedAttachVolume: AttachVolume.Attach failed for volume";
    until("it has failed", async || world.has_event_beginning("web", failed).await).await;
    assert!(begun.elapsed() >= Duration::from_secs(20));
    assert!(!world.is_ready("web").await);
    let ok = json!({"coracle.dev/attach": null, "coracle.dev/attach-delay": null});
    world.annotate::<PersistentVolumeClaim>(&key("data"), ok).await;
    until("the pod is ready", async || world.is_ready("web").await).await;
}

#[tokio::test(start_paused = true)]
async fn volumes_are_made_in_the_zone_of_their_pod() {
    let node = |number: u32, zone: &str| {
        NodeSpec::new(format!("node-{number}")).with_label("topology.kubernetes.io/zone", zone)
    };
    let world = World::with_specs(vec![node(1, "a"), node(2, "b")]).await;
    world.claim("data", json!({})).await;
    world
        .create::<Pod>(json!({
            "metadata": {"namespace": "default", "name": "web"},
            "spec": {
                "nodeSelector": {"topology.kubernetes.io/zone": "b"},
                "containers": [{"name": "c", "image": "web:1"}],
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
            },
        }))
        .await;
    let volume = world.volume_of("data").await;
    let required = volume.spec.node_affinity.unwrap().required.unwrap();
    let expression = &required.node_selector_terms[0].match_expressions[0];
    assert_eq!((expression.key.as_str(), expression.values[0].as_str()), ("topology.kubernetes.io/zone", "b"));
    let csi: CSINode = world.api().get(&ObjectKey::cluster("node-2")).await.unwrap();
    let driver = &csi.spec.drivers[0];
    assert_eq!(driver.topology_keys, ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]);
    assert_eq!(driver.allocatable.as_ref().unwrap().count, Some(25));
}

#[tokio::test(start_paused = true)]
async fn a_claim_is_expanded_by_driver_and_node() {
    let world = World::with_nodes(1).await;
    world.claim("data", json!({})).await;
    world.pod_with_claim("web", "data").await;
    until("the pod is ready", async || world.is_ready("web").await).await;
    let more = Patch::Merge(json!({"spec": {"resources": {"requests": {"storage": "3Gi"}}}}));
    world.api::<PersistentVolumeClaim>().patch(&key("data"), &more).await.unwrap();
    until("the driver has done its part", async || {
        world
            .has_event_beginning("data", "FileSystemResizeRequired: Require file system resize of volume on node")
            .await
    })
    .await;
    assert!(world.has_event_beginning("data", "Resizing: External resizer is resizing volume pvc-").await);
    assert_eq!(world.volume_of("data").await.spec.capacity["storage"].to_string(), "3Gi");
    let size = async || world.bound_claim("data").await.unwrap().status.capacity["storage"].to_string();
    until("the node has done its part", async || size().await == "3Gi").await;
    let claim = world.bound_claim("data").await.unwrap();
    let resizing = claim.status.conditions.iter().filter(|condition| condition.type_ != "Unused").count();
    assert!(resizing == 0 && claim.status.allocated_resource_statuses.is_empty());
    let done = "FileSystemResizeSuccessful: MountVolume.NodeExpandVolume succeeded for volume";
    until("an event reports it", async || {
        world.has_event_beginning("web", done).await && world.has_event_beginning("data", done).await
    })
    .await;
}
