//! Pods on tainted devices.

use std::time::Duration;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::{Event, Node, Pod, ServiceAccount};
use coracle_api::meta_v1::Condition;
use coracle_api::resource_v1::{DeviceTaintRule, ResourceClaim, ResourceSlice};
use coracle_client::{DeleteParams, ListParams, Patch};
use coracle_cluster::Release;
use coracle_controllers::Config;
use coracle_meta::{ObjectKey, parse_time};
use serde_json::{Value, json};

use crate::world::{World, until};

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

/// A cluster with a slice of two devices, `one` and `two`, and a node without a kubelet.
async fn world(release: &str) -> World {
    let release = Release::named(release).unwrap();
    let world = World::start_with(Config { release, ..Config::default() }).await;
    let accounts = world.api::<ServiceAccount>();
    until("pods can be created", async || accounts.find(&key("default")).await.unwrap().is_some()).await;
    let _: Node = world.create(json!({"metadata": {"name": "node"}})).await;
    let pool = json!({"name": "pool", "generation": 1, "resourceSliceCount": 1});
    let spec = json!({
        "driver": "gpu.example.com", "pool": pool, "allNodes": true,
        "devices": [{"name": "one"}, {"name": "two"}],
    });
    let _: ResourceSlice = world.create(json!({"metadata": {"name": "slice"}, "spec": spec})).await;
    world
}

/// Creates a bound pod with a claim that has a device, and tolerates `NoExecute` taints as `seconds` says: not at all,
/// for some seconds, or for ever with null.
async fn pod_with(world: &World, name: &str, device: &str, seconds: Option<Value>) {
    let request = json!({"name": "r", "exactly": {"deviceClassName": "gpu"}});
    let _: ResourceClaim = world
        .create(json!({
            "metadata": {"namespace": "default", "name": name}, "spec": {"devices": {"requests": [request]}},
        }))
        .await;
    let pod: Pod = world
        .create(json!({
            "metadata": {"namespace": "default", "name": name},
            "spec": {
                "nodeName": "node", "schedulerName": "none", "containers": [{"name": "c", "image": "i"}],
                "tolerations": [{"operator": "Exists"}], "terminationGracePeriodSeconds": 0,
                "resourceClaims": [{"name": "gpu", "resourceClaimName": name}],
            },
        }))
        .await;
    let tolerations: Vec<Value> = seconds
        .into_iter()
        .map(|seconds| json!({"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}))
        .collect();
    let result = json!({
        "request": "r", "driver": "gpu.example.com", "pool": "pool", "device": device, "tolerations": tolerations,
    });
    let status = json!({"status": {
        "allocation": {"devices": {"results": [result]}},
        "reservedFor": [{"resource": "pods", "name": name, "uid": pod.metadata.uid}],
    }});
    world.api::<ResourceClaim>().patch_status(&key(name), &Patch::Merge(status)).await.unwrap();
}

/// Adds a taint to the device `one` in its slice.
async fn taint(world: &World) {
    let devices = json!([{"name": "one", "taints": [{"key": "broken", "effect": "NoExecute"}]}, {"name": "two"}]);
    let patch = Patch::Merge(json!({"spec": {"devices": devices}}));
    world.api::<ResourceSlice>().patch(&ObjectKey::cluster("slice"), &patch).await.unwrap();
}

async fn rule(world: &World, name: &str, effect: &str) -> DeviceTaintRule {
    let spec = json!({"deviceSelector": {"device": "one"}, "taint": {"key": "broken", "effect": effect}});
    world.create(json!({"metadata": {"name": name}, "spec": spec})).await
}

async fn condition(world: &World, rule: &str) -> Option<Condition> {
    let rule = world.api::<DeviceTaintRule>().get(&ObjectKey::cluster(rule)).await.unwrap();
    rule.status.conditions.into_iter().find(|condition| condition.type_ == "EvictionInProgress")
}

async fn exists(world: &World, pod: &str) -> bool {
    world.api::<Pod>().find(&key(pod)).await.unwrap().is_some()
}

/// The events about the eviction of pods: the message and the time.
async fn events(world: &World, pod: &str) -> Vec<(String, Timestamp)> {
    let events = world.api::<Event>().within("default").list(&ListParams::default()).await.unwrap().items;
    let of_pod = events
        .into_iter()
        .filter(|event| event.reason == "DeviceTaintManagerEviction" && event.involved_object.name == pod);
    of_pod.map(|event| (event.message, parse_time(&event.first_timestamp.unwrap()).unwrap())).collect()
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_evicted_in_the_second_in_which_the_toleration_of_its_claim_ends() {
    let world = world("1.36").await;
    pod_with(&world, "at-once", "one", None).await;
    pod_with(&world, "later", "one", Some(json!(90))).await;
    pod_with(&world, "never", "one", Some(Value::Null)).await;
    pod_with(&world, "other", "two", None).await;
    taint(&world).await;
    let slice = world.api::<ResourceSlice>().get(&ObjectKey::cluster("slice")).await.unwrap();
    let added = parse_time(slice.spec.devices[0].taints[0].time_added.as_deref().unwrap()).unwrap();
    until("the first pod is evicted", async || !exists(&world, "at-once").await).await;
    assert!(exists(&world, "later").await);
    until("the second pod is evicted", async || !exists(&world, "later").await).await;
    until("there is an event of it", async || !events(&world, "later").await.is_empty()).await;
    let [(message, time)] = events(&world, "later").await.try_into().unwrap();
    assert_eq!((message.as_str(), time.duration_since(added).as_secs()), ("Marking for deletion", 90));
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert!(exists(&world, "never").await && exists(&world, "other").await);
    assert_eq!(events(&world, "never").await, []);
}

#[tokio::test(start_paused = true)]
async fn an_evicted_pod_has_the_condition_of_a_disruption_until_it_is_gone() {
    let world = world("1.37").await;
    pod_with(&world, "p", "one", None).await;
    let finalizer = Patch::Merge(json!({"metadata": {"finalizers": ["example.com/keep"]}}));
    world.api::<Pod>().patch(&key("p"), &finalizer).await.unwrap();
    taint(&world).await;
    let pod = async || world.api::<Pod>().get(&key("p")).await.unwrap();
    until("it is deleted", async || pod().await.metadata.is_terminating()).await;
    let conditions = pod().await.status.conditions;
    let condition = conditions.iter().find(|condition| condition.type_ == "DisruptionTarget").unwrap();
    assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("True", "DeletionByDeviceTaintManager"));
    assert_eq!(condition.message, "Device Taint manager: deleting due to NoExecute taint");
}

#[tokio::test(start_paused = true)]
async fn a_rule_counts_the_pods_that_it_evicts_and_the_removal_of_a_rule_cancels_evictions() {
    let world = world("1.37").await;
    pod_with(&world, "soon", "one", Some(json!(60))).await;
    pod_with(&world, "later", "one", Some(json!(300))).await;
    rule(&world, "r", "NoExecute").await;
    let is = async |reason: &str| condition(&world, "r").await.is_some_and(|one| one.reason == reason);
    until("its condition counts both", async || is("PodsPendingEviction").await).await;
    let pending = condition(&world, "r").await.unwrap();
    assert_eq!(
        (pending.status.as_str(), pending.message.as_str()),
        ("True", "2 pods need to be evicted in 1 namespace.")
    );
    until("the first is evicted", async || !exists(&world, "soon").await).await;
    let counts = async || {
        let message = condition(&world, "r").await.unwrap().message;
        message == "1 pod needs to be evicted in 1 namespace. 1 pod evicted since starting the controller."
    };
    until("it is counted", counts).await;
    world.api::<DeviceTaintRule>().delete(&ObjectKey::cluster("r"), &DeleteParams::default()).await.unwrap();
    until("the other eviction is cancelled", async || {
        events(&world, "later").await.iter().any(|(message, _)| message == "Cancelling deletion")
    })
    .await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert!(exists(&world, "later").await);
}

#[tokio::test(start_paused = true)]
async fn a_rule_is_completed_ten_seconds_after_its_last_eviction() {
    let world = world("1.37").await;
    pod_with(&world, "p", "one", None).await;
    rule(&world, "r", "NoExecute").await;
    until("the pod is evicted", async || !exists(&world, "p").await).await;
    let is_completed = async || condition(&world, "r").await.is_some_and(|one| one.reason == "Completed");
    assert!(!is_completed().await);
    until("the rule is completed", is_completed).await;
    let completed = condition(&world, "r").await.unwrap();
    assert_eq!((completed.status.as_str(), completed.observed_generation), ("False", 1));
    let evicted = parse_time(completed.last_transition_time.as_deref().unwrap()).unwrap();
    let [(_, marked)] = events(&world, "p").await.try_into().unwrap();
    assert_eq!(evicted.duration_since(marked).as_secs(), 10);
    assert_eq!(completed.message, "1 pod evicted since starting the controller.");
}

#[tokio::test(start_paused = true)]
async fn a_rule_without_effect_states_what_it_would_evict_and_evicts_when_its_effect_changes() {
    let world = world("1.37").await;
    pod_with(&world, "p", "one", None).await;
    pod_with(&world, "q", "one", None).await;
    rule(&world, "r", "None").await;
    let is = async |reason: &str| condition(&world, "r").await.is_some_and(|one| one.reason == reason);
    until("it has its condition", async || is("NoEffect").await).await;
    assert_eq!(
        condition(&world, "r").await.unwrap().message,
        "1 published device selected. 2 allocated devices selected. 2 pods would be evicted in 1 namespace if the \
         effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an \
         update."
    );
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert!(exists(&world, "p").await && exists(&world, "q").await);
    let patch = Patch::Merge(json!({"spec": {"taint": {"effect": "NoExecute"}}}));
    world.api::<DeviceTaintRule>().patch(&ObjectKey::cluster("r"), &patch).await.unwrap();
    until("the pods are evicted", async || !exists(&world, "p").await && !exists(&world, "q").await).await;
}

#[tokio::test(start_paused = true)]
async fn nothing_evicts_a_pod_from_a_tainted_device_before_1_36() {
    let world = world("1.35").await;
    pod_with(&world, "p", "one", None).await;
    taint(&world).await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert!(exists(&world, "p").await);
    assert_eq!(events(&world, "p").await, []);
}
