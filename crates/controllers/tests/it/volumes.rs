//! Claims, the volumes that they are bound to, and who keeps both.

use coracle_api::core_v1::{Event, Node, PersistentVolume, PersistentVolumeClaim, Pod, ServiceAccount};
use coracle_api::storage_v1::{StorageClass, VolumeAttachment, VolumeAttributesClass};
use coracle_client::{DeleteParams, ListParams, Patch};
use coracle_controllers::Config;
use coracle_meta::{ObjectKey, Resource};
use coracle_release::Release;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::world::{World, allow, until};

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

fn object<T: DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).unwrap()
}

fn volume(name: &str, size: &str, policy: &str) -> PersistentVolume {
    object(json!({"metadata": {"name": name}, "spec": {"storageClassName": "disk", "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp/a"}, "persistentVolumeReclaimPolicy": policy}}))
}

fn claim(name: &str) -> PersistentVolumeClaim {
    object(json!({"metadata": {"namespace": "default", "name": name}, "spec": {"storageClassName": "disk",
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}))
}

async fn phase_of_volume(world: &World, name: &str) -> String {
    let volume = world.api::<PersistentVolume>().find(&ObjectKey::cluster(name)).await.unwrap();
    volume.map_or("gone".to_owned(), |volume| volume.status.phase)
}

async fn phase_of_claim(world: &World, name: &str) -> String {
    let claim = world.api::<PersistentVolumeClaim>().find(&key(name)).await.unwrap();
    claim.map_or("gone".to_owned(), |claim| claim.status.phase)
}

/// A volume, once it is available, and a claim that is bound to it.
async fn bound(world: &World, policy: &str) {
    world.api::<PersistentVolume>().create(&volume("v", "1Gi", policy)).await.unwrap();
    until("the volume is available", async || phase_of_volume(world, "v").await == "Available").await;
    world.api::<PersistentVolumeClaim>().create(&claim("data")).await.unwrap();
    until("both are bound", async || {
        phase_of_volume(world, "v").await == "Bound" && phase_of_claim(world, "data").await == "Bound"
    })
    .await;
}

async fn delete<K: Resource>(world: &World, key: &ObjectKey) {
    world.api::<K>().delete(key, &DeleteParams::default()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_waits_takes_the_smallest_volume_that_comes() {
    let world = World::start().await;
    world.api::<PersistentVolumeClaim>().create(&claim("data")).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    assert_eq!(phase_of_claim(&world, "data").await, "Pending");
    for (name, size) in [("large", "3Gi"), ("fitting", "2Gi"), ("small", "500Mi")] {
        world.api::<PersistentVolume>().create(&volume(name, size, "Retain")).await.unwrap();
    }
    until("the claim is bound", async || phase_of_claim(&world, "data").await == "Bound").await;
    let bound = world.api::<PersistentVolumeClaim>().get(&key("data")).await.unwrap();
    assert_eq!(bound.spec.volume_name, "fitting");
    assert_eq!(bound.status.capacity["storage"].to_string(), "2Gi");
}

#[tokio::test(start_paused = true)]
async fn many_claims_at_once_share_no_volume() {
    let world = World::start().await;
    for index in 0..8 {
        world.api::<PersistentVolume>().create(&volume(&format!("v{index}"), "1Gi", "Retain")).await.unwrap();
        world.api::<PersistentVolumeClaim>().create(&claim(&format!("c{index}"))).await.unwrap();
    }
    let mut taken = Vec::new();
    for index in 0..8 {
        let name = format!("c{index}");
        until("the claim is bound", async || phase_of_claim(&world, &name).await == "Bound").await;
        taken.push(world.api::<PersistentVolumeClaim>().get(&key(&name)).await.unwrap().spec.volume_name);
    }
    taken.sort();
    taken.dedup();
    assert_eq!(taken.len(), 8);
}

#[tokio::test(start_paused = true)]
async fn a_volume_outlives_its_claim_or_goes_with_it_as_its_policy_has_it() {
    for (policy, after) in [("Retain", "Released"), ("Delete", "gone")] {
        let world = World::start().await;
        bound(&world, policy).await;
        delete::<PersistentVolumeClaim>(&world, &key("data")).await;
        until(after, async || phase_of_volume(&world, "v").await == after).await;
        assert_eq!(phase_of_claim(&world, "data").await, "gone");
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_volume_was_torn_away_is_lost() {
    let world = World::start().await;
    bound(&world, "Retain").await;
    delete::<PersistentVolume>(&world, &ObjectKey::cluster("v")).await;
    assert_eq!(phase_of_volume(&world, "v").await, "Bound", "a bound volume is protected");
    let torn = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    world.api::<PersistentVolume>().patch(&ObjectKey::cluster("v"), &torn).await.unwrap();
    until("the claim is lost", async || phase_of_claim(&world, "data").await == "Lost").await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_waits_for_its_pod() {
    let world = World::start().await;
    let accounts = world.api::<ServiceAccount>();
    until("pods have an account", async || accounts.find(&key("default")).await.unwrap().is_some()).await;
    bound(&world, "Retain").await;
    world.api().create(&object::<Node>(json!({"metadata": {"name": "node"}}))).await.unwrap();
    let pod = json!({"metadata": {"namespace": "default", "name": "user"}, "spec": {"nodeName": "node",
        "containers": [{"name": "c", "image": "i"}],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}});
    world.api::<Pod>().create(&object(pod)).await.unwrap();
    delete::<PersistentVolumeClaim>(&world, &key("data")).await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    assert_eq!(phase_of_claim(&world, "data").await, "Bound");
    world.api::<Pod>().delete(&key("user"), &DeleteParams::now()).await.unwrap();
    until("the claim is gone", async || phase_of_claim(&world, "data").await == "gone").await;
}

#[tokio::test(start_paused = true)]
async fn a_bound_claim_says_since_when_no_pod_uses_it_in_a_release_that_has_the_condition() {
    let release = Release::named("1.37").unwrap();
    let world = World::start_with(Config { release, ..Config::default() }).await;
    let may = json!([{"apiGroups": [""], "resources": ["persistentvolumeclaims/status"], "verbs": ["update"]}]);
    allow(&world.client, "pvc-protection-controller", may).await;
    let accounts = world.api::<ServiceAccount>();
    until("pods have an account", async || accounts.find(&key("default")).await.unwrap().is_some()).await;
    bound(&world, "Retain").await;
    let unused = async || {
        let claim = world.api::<PersistentVolumeClaim>().get(&key("data")).await.unwrap();
        let condition = claim.status.conditions.into_iter().find(|condition| condition.type_ == "Unused");
        condition.map(|condition| (condition.status, condition.reason)).unwrap_or_default()
    };
    let free = ("True".to_owned(), "NoPodsUsingPVC".to_owned());
    until("no pod uses it", async || unused().await == free).await;
    let pod = json!({"metadata": {"namespace": "default", "name": "user"}, "spec": {
        "containers": [{"name": "c", "image": "i"}],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}});
    world.api::<Pod>().create(&object(pod)).await.unwrap();
    let used = ("False".to_owned(), "PodUsingPVC".to_owned());
    until("a pod refers to it, though it has no node", async || unused().await == used).await;
    world.api::<Pod>().delete(&key("user"), &DeleteParams::now()).await.unwrap();
    until("the pod has gone", async || unused().await == free).await;
}

#[tokio::test(start_paused = true)]
async fn an_ephemeral_volume_has_a_claim_that_comes_again_and_goes_with_the_pod() {
    let world = World::start().await;
    let accounts = world.api::<ServiceAccount>();
    until("pods have an account", async || accounts.find(&key("default")).await.unwrap().is_some()).await;
    let pod = json!({"metadata": {"namespace": "default", "name": "user"}, "spec": {
        "containers": [{"name": "c", "image": "i"}],
        "volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {
            "storageClassName": "disk", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}}]}});
    world.api::<Pod>().create(&object(pod)).await.unwrap();
    let there = async || phase_of_claim(&world, "user-scratch").await == "Pending";
    until("the claim is there", there).await;
    let made = world.api::<PersistentVolumeClaim>().get(&key("user-scratch")).await.unwrap();
    assert_eq!(made.metadata.controller().map(|owner| owner.kind.as_str()), Some("Pod"));
    assert_eq!(made.metadata.labels["a"], "b");
    delete::<PersistentVolumeClaim>(&world, &key("user-scratch")).await;
    let again = async || {
        let claim = world.api::<PersistentVolumeClaim>().find(&key("user-scratch")).await.unwrap();
        claim.is_some_and(|claim| claim.metadata.uid != made.metadata.uid)
    };
    until("it comes again", again).await;
    world.api::<Pod>().delete(&key("user"), &DeleteParams::now()).await.unwrap();
    until("it goes", async || phase_of_claim(&world, "user-scratch").await == "gone").await;
}

#[tokio::test(start_paused = true)]
async fn a_class_of_attributes_is_kept_while_a_claim_has_it() {
    let world = World::start().await;
    let class = json!({"metadata": {"name": "gold"}, "driverName": "csi.example.com", "parameters": {"iops": "9"}});
    let gold = ObjectKey::cluster("gold");
    let classes = world.api::<VolumeAttributesClass>();
    classes.create(&object(class)).await.unwrap();
    until("it is protected", async || !classes.get(&gold).await.unwrap().metadata.finalizers.is_empty()).await;
    let mut claim = claim("data");
    claim.spec.volume_attributes_class_name = Some("gold".to_owned());
    world.api::<PersistentVolumeClaim>().create(&claim).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    delete::<VolumeAttributesClass>(&world, &gold).await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    assert!(classes.find(&gold).await.unwrap().is_some());
    delete::<PersistentVolumeClaim>(&world, &key("data")).await;
    until("it is gone", async || classes.find(&gold).await.unwrap().is_none()).await;
}

/// A bound claim of a driver's volume, and a node that leaves attaching to the controller.
async fn of_driver(world: &World) {
    let mut csi = volume("v", "1Gi", "Retain");
    csi.spec.host_path = None;
    csi.spec.csi = Some(object(json!({"driver": "csi.example.com", "volumeHandle": "x"})));
    world.api::<PersistentVolume>().create(&csi).await.unwrap();
    until("the volume is available", async || phase_of_volume(world, "v").await == "Available").await;
    world.api::<PersistentVolumeClaim>().create(&claim("data")).await.unwrap();
    until("it is bound", async || phase_of_claim(world, "data").await == "Bound").await;
    let accounts = world.api::<ServiceAccount>();
    until("pods have an account", async || accounts.find(&key("default")).await.unwrap().is_some()).await;
    for name in ["one", "two"] {
        let managed = json!({"volumes.kubernetes.io/controller-managed-attach-detach": "true"});
        let node: Node = object(json!({"metadata": {"name": name, "annotations": managed}}));
        world.api().create(&node).await.unwrap();
    }
}

async fn user(world: &World, name: &str, node: &str) {
    let pod = json!({"metadata": {"namespace": "default", "name": name}, "spec": {"nodeName": node,
        "containers": [{"name": "c", "image": "i"}],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}});
    world.api::<Pod>().create(&object(pod)).await.unwrap();
}

async fn events(world: &World, reason: &str) -> Vec<String> {
    let events = world.api::<Event>().list(&ListParams::fields(format!("reason={reason}"))).await.unwrap();
    events.items.into_iter().map(|event| event.message).collect()
}

#[tokio::test(start_paused = true)]
async fn a_drivers_volume_is_attached_to_one_node_and_to_the_next_when_it_is_free() {
    let world = World::start().await;
    of_driver(&world).await;
    user(&world, "p", "one").await;
    let attachments = world.api::<VolumeAttachment>();
    let all = async || attachments.list(&ListParams::default()).await.unwrap().items;
    until("the driver is asked", async || all().await.len() == 1).await;
    let asked = all().await.remove(0);
    assert_eq!((asked.spec.attacher.as_str(), asked.spec.node_name.as_str()), ("csi.example.com", "one"));
    let attached = Patch::Merge(json!({"status": {"attached": true}}));
    attachments.patch_status(&asked.key(), &attached).await.unwrap();
    let named = async |node: &str| {
        !world.api::<Node>().get(&ObjectKey::cluster(node)).await.unwrap().status.volumes_attached.is_empty()
    };
    until("the node has it", async || named("one").await).await;
    until("an event reports it", async || {
        events(&world, "SuccessfulAttachVolume").await == ["AttachVolume.Attach succeeded for volume \"v\" "]
    })
    .await;

    user(&world, "q", "two").await;
    let refused = ["Multi-Attach error for volume \"v\" Volume is already used by pod(s) p"];
    until("the second node is refused", async || events(&world, "FailedAttachVolume").await == refused).await;
    world.api::<Pod>().delete(&key("p"), &DeleteParams::now()).await.unwrap();
    until("it is asked for the second node", async || {
        all().await.iter().map(|one| one.spec.node_name.clone()).collect::<Vec<_>>() == ["two"]
    })
    .await;
    assert!(!named("one").await);
}

#[tokio::test(start_paused = true)]
async fn a_growing_claim_gets_an_event_with_its_resizer() {
    let world = World::start().await;
    let class = json!({"metadata": {"name": "disk"}, "provisioner": "csi.example.com", "allowVolumeExpansion": true});
    world.api::<StorageClass>().create(&object(class)).await.unwrap();
    bound(&world, "Retain").await;
    let more = Patch::Merge(json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}}));
    world.api::<PersistentVolumeClaim>().patch(&key("data"), &more).await.unwrap();
    until("an event reports it", async || {
        events(&world, "ExternalExpanding").await == ["waiting for an external controller to expand this PVC"]
    })
    .await;
}
