//! Autoscalers.

use coracle_api::apps_v1::Deployment;
use coracle_api::autoscaling_v2::HorizontalPodAutoscaler;
use coracle_api::core_v1::Event;
use coracle_client::{Api, ListParams, Patch};
use coracle_controllers::Config;
use coracle_meta::{GroupVersionResource, Object, ObjectKey};
use coracle_release::Release;
use serde_json::{Value, json};

use crate::world::{World, until};

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

/// A Deployment of two pods that request one cpu each, and its autoscaler.
async fn web(world: &World, min: i32) {
    let _: Deployment = world
        .create(json!({
            "metadata": {"namespace": "default", "name": "web"},
            "spec": {
                "replicas": 2, "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]},
                },
            },
        }))
        .await;
    let _: HorizontalPodAutoscaler = world
        .create(json!({
            "metadata": {"namespace": "default", "name": "web"},
            "spec": {
                "minReplicas": min, "maxReplicas": 9,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "metrics": [{"type": "Resource", "resource": {
                    "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50},
                }}],
            },
        }))
        .await;
}

async fn condition(world: &World, type_: &str) -> (String, String) {
    let status = world.api::<HorizontalPodAutoscaler>().get(&key("web")).await.unwrap().status;
    let condition = status.conditions.into_iter().find(|condition| condition.type_ == type_);
    condition.map(|condition| (condition.reason, condition.message)).unwrap_or_default()
}

async fn replicas(world: &World) -> Option<i32> {
    world.api::<Deployment>().get(&key("web")).await.unwrap().spec.replicas
}

#[tokio::test(start_paused = true)]
async fn bounds_hold_without_metrics_and_what_is_missing_is_said() {
    let world = World::with_nodes(1).await;
    web(&world, 4).await;
    until("the least is there", async || replicas(&world).await == Some(4)).await;
    let reason = async || condition(&world, "ScalingActive").await.0;
    until("metrics are asked for", async || reason().await == "FailedGetResourceMetric").await;
    let why = "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from \
        resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)";
    let (_, message) = condition(&world, "ScalingActive").await;
    assert_eq!(message, format!("the HPA was unable to compute the replica count: {why}"));
    let told =
        format!("invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: {why}");
    let events = async || world.api::<Event>().within("default").list(&ListParams::default()).await.unwrap().items;
    let is_told = async || events().await.iter().any(|event| event.message == told);
    until("an event tells it", is_told).await;
    let rescaled = "New size: 4; reason: Current number of replicas below Spec.MinReplicas";
    assert!(events().await.iter().any(|event| event.message == rescaled));
}

/// Serves `metrics.k8s.io` from objects.
async fn serve_metrics(world: &World) -> Api<Object> {
    let definitions = GroupVersionResource::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "pods.metrics.k8s.io", "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": {
            "group": "metrics.k8s.io", "scope": "Namespaced",
            "names": {"plural": "pods", "singular": "pod", "kind": "PodMetrics"},
            "versions": [{"name": "v1beta1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }}}],
        },
    });
    world.dynamic(definitions).create(&serde_json::from_value(definition).unwrap()).await.unwrap();
    world.dynamic(GroupVersionResource::new("metrics.k8s.io", "v1beta1", "pods"))
}

#[tokio::test(start_paused = true)]
async fn a_target_grows_with_what_its_pods_use() {
    let world = World::with_nodes(1).await;
    let metrics = serve_metrics(&world).await;
    web(&world, 1).await;
    until("two pods run", async || world.pods().await.iter().filter(|pod| pod.is_ready()).count() == 2).await;
    tokio::time::sleep(std::time::Duration::from_secs(600)).await;
    for pod in world.pods().await {
        let measured: Value = json!({
            "apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
            "metadata": {"namespace": "default", "name": pod.name(), "labels": {"app": "web"}},
            "timestamp": "2100-01-01T00:00:00Z", "window": "30s",
            "containers": [{"name": "c", "usage": {"cpu": "1"}}],
        });
        metrics.create(&serde_json::from_value(measured).unwrap()).await.unwrap();
    }
    until("twice as many", async || replicas(&world).await == Some(4)).await;
    let status = world.api::<HorizontalPodAutoscaler>().get(&key("web")).await.unwrap().status;
    let shown = status.current_metrics[0].resource.as_ref().unwrap().current.average_utilization;
    assert_eq!((shown, status.desired_replicas), (Some(100), 4));
    assert_eq!(condition(&world, "ScalingActive").await.0, "ValidMetricFound");
}

#[tokio::test(start_paused = true)]
async fn a_missing_target_is_reported_and_a_target_of_zero_is_not_scaled() {
    let world = World::start().await;
    web(&world, 1).await;
    let target = Patch::Merge(json!({"spec": {"scaleTargetRef": {"name": "none"}}}));
    world.api::<HorizontalPodAutoscaler>().patch(&key("web"), &target).await.unwrap();
    let able = async || condition(&world, "AbleToScale").await;
    until("it is missed", async || able().await.0 == "FailedGetScale").await;
    let why = "the HPA controller was unable to get the target's current scale: deployments.apps \"none\" not found";
    assert_eq!(able().await.1, why);
    let target = Patch::Merge(json!({"spec": {"scaleTargetRef": {"name": "web"}}}));
    world.api::<Deployment>().patch_scale(&key("web"), 0).await.unwrap();
    world.api::<HorizontalPodAutoscaler>().patch(&key("web"), &target).await.unwrap();
    let reason = async || condition(&world, "ScalingActive").await.0;
    until("it is off", async || reason().await == "ScalingDisabled").await;
    assert_eq!(replicas(&world).await, Some(0));
}

#[tokio::test(start_paused = true)]
async fn a_new_autoscaler_acts_at_once_or_with_the_next_period_as_the_release_has_it() {
    for (version, at_once) in [("1.37", true), ("1.36", false)] {
        let config = Config { release: Release::named(version).unwrap(), ..Config::default() };
        let world = World::start_with(config).await;
        web(&world, 4).await;
        let created = tokio::time::Instant::now();
        until("the least is there", async || replicas(&world).await == Some(4)).await;
        assert_eq!(created.elapsed() < std::time::Duration::from_secs(10), at_once, "{:?}", created.elapsed());
    }
}
