//! A test in virtual time with a killed component: what does a user notice while no controllers run?
//! Run it: `cargo test -p coracle-examples killed_component -- --nocapture`.
//!
//! `start_paused = true` makes the clock jump to the next timer when every task waits, so `settle` takes some
//! milliseconds. Controllers have no memory but the objects: one that comes back after a `kill -9` lists them and
//! creates what is missing.

use std::time::Duration;

use coracle::prelude::*;
use coracle::{Cluster, Component};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use serde_json::json;
use tokio::time::Instant;

/// The uids of the pods that run.
async fn running(pods: &Api<Pod>) -> Vec<String> {
    let list = pods.list(&ListParams::default().fields("status.phase=Running")).await.unwrap();
    let staying = list.items.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
    staying.filter_map(ResourceExt::uid).collect()
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_dies_while_the_controllers_are_dead_is_replaced_when_they_are_back() {
    let cluster = Cluster::builder().nodes(2).seed(1).start().await.unwrap();
    let pods = Api::<Pod>::default_namespaced(cluster.client());
    let containers = json!([{"name": "web", "image": "nginx"}]);
    let web: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 3, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}},
        },
    }))
    .unwrap();
    Api::default_namespaced(cluster.client()).create(&PostParams::default(), &web).await.unwrap();
    cluster.settle().await.unwrap();
    let before = running(&pods).await;

    println!("the controller-manager is killed, and a pod deleted");
    cluster.kill_component(Component::ControllerManager);
    let victim = pods.list(&ListParams::default()).await.unwrap().items.remove(0);
    pods.delete(&victim.name_any(), &DeleteParams::default()).await.unwrap();
    cluster.settle().await.unwrap();
    assert_eq!(running(&pods).await.len(), 2, "no controller makes another, and the others run");

    println!("it is started again");
    cluster.start_component(Component::ControllerManager);
    let start = Instant::now();
    let three = async || Some(running(&pods).await).filter(|pods| pods.len() == 3).ok_or("not three pods");
    let after = cluster.until(Duration::from_secs(10), three).await.unwrap();
    println!("three pods run after {:?}", start.elapsed());
    assert_eq!(before.iter().filter(|uid| after.contains(uid)).count(), 2, "the two that ran were left alone");
}
