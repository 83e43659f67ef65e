//! Disruption budgets.

use coracle_api::apps_v1::Deployment;
use coracle_api::core_v1::Pod;
use coracle_api::policy_v1::PodDisruptionBudget;
use coracle_client::{ListParams, Patch};
use coracle_meta::{ObjectKey, Resource};
use serde_json::{Value, json};

use crate::world::{World, until};

fn object<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

async fn budget(world: &World, spec: Value) {
    let budget = json!({"metadata": {"namespace": "default", "name": "web"}, "spec": spec});
    world.api::<PodDisruptionBudget>().create(&object(budget)).await.unwrap();
}

async fn status(world: &World) -> (i32, i32, i32, i32) {
    let status = world.api::<PodDisruptionBudget>().get(&key("web")).await.unwrap().status;
    (status.expected_pods, status.desired_healthy, status.current_healthy, status.disruptions_allowed)
}

async fn web(world: &World) -> Vec<Pod> {
    let web = json!({
        "metadata": {"namespace": "default", "name": "web"},
        "spec": {
            "replicas": 4, "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    });
    world.api::<Deployment>().create(&object(web)).await.unwrap();
    let pods = async || world.api::<Pod>().within("default").list(&ListParams::default()).await.unwrap().items;
    until("four pods run", async || pods().await.iter().filter(|pod| pod.is_ready()).count() == 4).await;
    pods().await
}

#[tokio::test(start_paused = true)]
async fn a_budget_counts_against_the_deployment_and_an_eviction_takes_of_it_until_the_pod_is_replaced() {
    let world = World::with_nodes(1).await;
    let pods = web(&world).await;
    budget(&world, json!({"maxUnavailable": "30%", "selector": {"matchLabels": {"app": "web"}}})).await;
    until("it is counted", async || status(&world).await == (4, 2, 4, 2)).await;
    let eviction = |pod: &Pod| json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"namespace": "default", "name": pod.name()}});
    let api = world.api::<Pod>();
    for pod in &pods[..2] {
        let evicted: Result<Value, _> = api.create_subresource(&pod.key(), "eviction", &eviction(pod)).await;
        evicted.unwrap();
    }
    let refused: Result<Value, _> = api.create_subresource(&pods[2].key(), "eviction", &eviction(&pods[2])).await;
    assert_eq!(refused.unwrap_err().status().unwrap().code, 429);
    until("the pods are replaced", async || status(&world).await == (4, 2, 4, 2)).await;
    let budget = world.api::<PodDisruptionBudget>().get(&key("web")).await.unwrap();
    assert!(budget.status.disrupted_pods.is_empty());
    assert_eq!(budget.status.conditions[0].reason, "SufficientPods");
}

#[tokio::test(start_paused = true)]
async fn pods_of_an_owner_that_cannot_be_scaled_allow_nothing() {
    let world = World::start().await;
    let pod = json!({
        "metadata": {"namespace": "default", "name": "a", "labels": {"app": "web"}, "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "u", "controller": true},
        ], "finalizers": ["test/stay"]},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let pod: Pod = object(pod);
    until("there is an account", async || world.api::<Pod>().create(&pod).await.is_ok()).await;
    budget(&world, json!({"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}})).await;
    let message = async || {
        let status = world.api::<PodDisruptionBudget>().get(&key("web")).await.unwrap().status;
        status.conditions.first().map(|condition| condition.message.clone()).unwrap_or_default()
    };
    until("it says why", async || message().await == "configmaps does not implement the scale subresource").await;
}

#[tokio::test(start_paused = true)]
async fn a_disruption_that_never_comes_is_taken_back() {
    let world = World::with_nodes(1).await;
    let pods = web(&world).await;
    let disrupted = Patch::Strategic(json!({"status": {"conditions": [
        {"type": "DisruptionTarget", "status": "True", "reason": "Test", "lastTransitionTime": "2020-01-01T00:00:00Z"},
    ]}}));
    let api = world.api::<Pod>();
    api.patch_subresource::<Pod>(&pods[0].key(), "status", &disrupted).await.unwrap();
    let is_disrupted = async || {
        let pod = api.get(&pods[0].key()).await.unwrap();
        pod.condition("DisruptionTarget").is_some_and(|condition| condition.status == "True")
    };
    until("it is taken back", async || !is_disrupted().await).await;
}
