//! What becomes of volumes whose node is lost.

use std::time::Duration;

use coracle_api::core_v1::{Node, Pod};
use coracle_client::{DeleteParams, Patch};
use coracle_meta::ObjectKey;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::world::{World, key, until};

async fn is_not_ready(world: &World, node: &str) -> bool {
    let node = world.api::<Node>().get(&ObjectKey::cluster(node)).await.unwrap();
    node.condition("Ready").is_some_and(|condition| condition.status != "True")
}

#[tokio::test(start_paused = true)]
async fn the_volume_of_a_lost_node_is_torn_off_after_six_minutes_and_its_pod_moves() {
    let world = World::with_nodes(2).await;
    world.stateful_set("db", 1).await;
    until("the pod is ready", async || world.is_ready("db-0").await).await;
    let lost = world.node_of("db-0").await.unwrap();
    world.cluster.kubelet().kill_node(&lost);
    until("the node is found to be lost", async || is_not_ready(&world, &lost).await).await;
    // Nobody knows whether the pod still runs, until a person says so.
    sleep(Duration::from_secs(360)).await;
    assert_eq!(world.node_of("db-0").await.unwrap(), lost);
    let begun = Instant::now();
    world.api::<Pod>().delete(&key("db-0"), &DeleteParams::now()).await.unwrap();
    until("it is refused", async || {
        world.has_event_beginning("db-0", "FailedAttachVolume: Multi-Attach error for volume").await
    })
    .await;
    until("the pod is ready", async || world.is_ready("db-0").await).await;
    assert_ne!(world.node_of("db-0").await.unwrap(), lost);
    let took = begun.elapsed();
    assert!(took >= Duration::from_secs(360) && took < Duration::from_secs(400), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_out_of_service_gives_its_volumes_up_at_once() {
    let world = World::with_nodes(2).await;
    world.stateful_set("db", 1).await;
    until("the pod is ready", async || world.is_ready("db-0").await).await;
    let lost = world.node_of("db-0").await.unwrap();
    world.cluster.kubelet().kill_node(&lost);
    until("the node is found to be lost", async || is_not_ready(&world, &lost).await).await;
    let begun = Instant::now();
    let taint = json!({"spec": {"taints": [
        {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"},
        {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"},
        {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]}});
    world.api::<Node>().patch(&ObjectKey::cluster(lost.as_str()), &Patch::Strategic(taint)).await.unwrap();
    until("the pod has moved", async || {
        world.is_ready("db-0").await && world.node_of("db-0").await.is_some_and(|node| node != lost)
    })
    .await;
    assert!(begun.elapsed() < Duration::from_secs(120), "{:?}", begun.elapsed());
    world.cluster.kubelet().start_node(&lost);
    until("the node lets go of what it had", async || world.in_use(&lost).await.is_empty()).await;
    assert!(world.is_ready("db-0").await);
}
