//! A test in virtual time with a killed component: what does a user notice while the controllers are dead?
//! Run it: `cargo test -p coracle-examples killed_component -- --nocapture`.
//!
//! `start_paused = true` makes the clock jump to the next timer when every task waits: ten minutes of an outage take
//! some milliseconds. Controllers have no memory but the objects, so that one that comes back after a `kill -9` lists
//! them, sees what is missing, and goes on.

use std::time::Duration;

use coracle::{Cluster, Component};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use serde_json::json;
use tokio::time::{Instant, sleep};

/// The uids of the pods that run.
async fn running(pods: &Api<Pod>) -> Vec<String> {
    let list = pods.list(&ListParams::default().fields("status.phase=Running")).await.unwrap();
    let staying = list.items.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
    staying.filter_map(ResourceExt::uid).collect()
}

/// Looks again on the cluster's clock until so many pods run; how long that took.
async fn until(pods: &Api<Pod>, count: usize) -> Duration {
    let began = Instant::now();
    while running(pods).await.len() != count {
        assert!(began.elapsed() < Duration::from_secs(60), "{count} pods do not run after a minute");
        sleep(Duration::from_millis(100)).await;
    }
    println!("{count} pods run after {:?}", began.elapsed());
    began.elapsed()
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
    until(&pods, 3).await;
    let before = running(&pods).await;

    println!("the controller-manager is killed, and a pod deleted");
    cluster.parts().kill_component(Component::ControllerManager);
    let victim = pods.list(&ListParams::default()).await.unwrap().items.remove(0);
    pods.delete(&victim.name_any(), &DeleteParams::default()).await.unwrap();
    sleep(Duration::from_secs(600)).await;
    assert_eq!(running(&pods).await.len(), 2, "nobody makes another, and nobody touches the rest");

    println!("ten minutes later it is started again");
    cluster.parts().start_component(Component::ControllerManager);
    assert!(until(&pods, 3).await < Duration::from_secs(10));
    let after = running(&pods).await;
    assert_eq!(before.iter().filter(|uid| after.contains(uid)).count(), 2, "the two that ran were left alone");
}
