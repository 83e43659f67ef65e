//! A pod on every node.

use std::collections::BTreeSet;

use coracle_api::apps_v1::{ControllerRevision, DaemonSet};
use coracle_api::core_v1::Node;
use coracle_client::{ListParams, Patch};
use coracle_meta::ObjectKey;
use serde_json::json;

use crate::world::{World, until};

async fn agent(world: &World) {
    let template = json!({
        "metadata": {"labels": {"app": "agent"}},
        "spec": {"containers": [{"name": "agent", "image": "agent:1"}]},
    });
    let spec = json!({"selector": {"matchLabels": {"app": "agent"}}, "template": template});
    world.create::<DaemonSet>(json!({"metadata": {"name": "agent", "namespace": "default"}, "spec": spec})).await;
}

fn key() -> ObjectKey {
    ObjectKey::new("default", "agent")
}

async fn ready(world: &World, wanted: i32) {
    until(&format!("{wanted} are ready"), async || {
        let status = world.api::<DaemonSet>().get(&key()).await.unwrap().status;
        status.number_ready == wanted && status.desired_number_scheduled == wanted
    })
    .await;
}

/// The nodes of the pods that stay.
async fn nodes(world: &World) -> BTreeSet<String> {
    world.pods().await.into_iter().filter(|pod| pod.is_active()).map(|pod| pod.spec.node_name).collect()
}

#[tokio::test(start_paused = true)]
async fn each_node_has_one_pod_and_a_new_node_gets_one() {
    let world = World::with_nodes(2).await;
    agent(&world).await;
    ready(&world, 2).await;
    assert_eq!(world.pods().await.len(), 2);
    world.create::<Node>(json!({"metadata": {"name": "late"}})).await;
    until("the late node has its pod", async || world.pods().await.len() == 3).await;
    let at_home = async || nodes(&world).await.contains("late");
    let allow = json!({"spec": {"taints": null}, "status": {"allocatable": {"pods": "10"}}});
    world.api::<Node>().patch_status(&ObjectKey::cluster("late"), &Patch::Merge(allow.clone())).await.unwrap();
    world.api::<Node>().patch(&ObjectKey::cluster("late"), &Patch::Merge(allow)).await.unwrap();
    until("the scheduler put it there", at_home).await;
}

#[tokio::test(start_paused = true)]
async fn a_taint_that_the_pods_do_not_bear_sends_one_away_and_without_it_one_comes_back() {
    let world = World::with_nodes(2).await;
    agent(&world).await;
    ready(&world, 2).await;
    let node = nodes(&world).await.into_iter().next().unwrap();
    let taint = async |taints| {
        let patch = Patch::Merge(json!({"spec": {"taints": taints}}));
        world.api::<Node>().patch(&ObjectKey::cluster(&node), &patch).await.unwrap();
    };
    taint(json!([{"key": "mine", "effect": "NoExecute"}])).await;
    ready(&world, 1).await;
    assert!(!nodes(&world).await.contains(&node));
    taint(json!(null)).await;
    until("there is one again", async || nodes(&world).await.contains(&node)).await;
    ready(&world, 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_new_template_reaches_all_nodes_and_has_a_revision_of_its_own() {
    let world = World::with_nodes(3).await;
    agent(&world).await;
    ready(&world, 3).await;
    let image = async |image: &str| {
        let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "agent", "image": image}]}}}});
        world.api::<DaemonSet>().patch(&key(), &Patch::Strategic(patch)).await.unwrap();
        until("all run it", async || {
            let pods = world.pods().await;
            pods.len() == 3 && pods.iter().all(|pod| pod.spec.containers[0].image == image && pod.is_ready())
        })
        .await;
        ready(&world, 3).await;
    };
    let numbers = async || {
        let revisions = world.api::<ControllerRevision>().within("default").list(&ListParams::default()).await.unwrap();
        revisions.items.iter().map(|revision| revision.revision).collect::<BTreeSet<_>>()
    };
    image("agent:2").await;
    assert_eq!(numbers().await, [1, 2].into());
    image("agent:1").await;
    assert_eq!(numbers().await, [2, 3].into(), "the first template is used again");
}
