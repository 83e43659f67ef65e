//! What a node does for its pods beside letting them live: other resources, a way out before it goes down, addresses.

use std::time::Duration;

use coracle_api::core_v1::{Event, Node, Pod};
use coracle_client::{Api, ListParams, Patch};
use coracle_cluster::{Cluster, Release};
use coracle_meta::ObjectKey;
use coracle_registry::User;
use serde_json::{Value, json};
use tokio::time::sleep;

async fn cluster() -> Cluster {
    cluster_of(Release::default()).await
}

async fn cluster_of(release: Release) -> Cluster {
    let node = coracle_cluster::kubelet::NodeSpec::new("node-1").with_capacity("cpu", "4");
    let cluster = Cluster::builder().kubernetes(release).node_specs(vec![node]).start().await.unwrap();
    // The namespace has its service account then, and pods may be made.
    sleep(Duration::from_secs(1)).await;
    cluster
}

fn pods(cluster: &Cluster) -> Api<Pod> {
    Api::of(&cluster.client_as(User::new("ann", ["system:masters"])))
}

fn nodes(cluster: &Cluster) -> Api<Node> {
    Api::of(&cluster.client_as(User::new("ann", ["system:masters"])))
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

async fn run(cluster: &Cluster, name: &str, spec: Value) {
    let pod = json!({"metadata": {"name": name, "namespace": "default"}, "spec": spec});
    pods(cluster).create(&serde_json::from_value(pod).unwrap()).await.unwrap();
    while !pods(cluster).get(&key(name)).await.unwrap().is_ready() {
        sleep(Duration::from_millis(100)).await;
    }
}

fn asking(cpu: &str) -> Value {
    json!({"containers": [{"name": "c", "image": "web:1", "resources": {"requests": {"cpu": cpu}}}]})
}

/// Asks for other resources; what the pod says after a while of its pending change, and what it was given.
async fn resize(cluster: &Cluster, name: &str, cpu: &str) -> (Option<(String, String)>, String) {
    let patch =
        Patch::Strategic(json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}));
    let _: Pod = pods(cluster).patch_subresource(&key(name), "resize", &patch).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    said(cluster, name).await
}

async fn said(cluster: &Cluster, name: &str) -> (Option<(String, String)>, String) {
    let pod = pods(cluster).get(&key(name)).await.unwrap();
    let pending = pod.condition("PodResizePending");
    let given = &pod.status.container_statuses[0];
    let of_actual = given.resources.as_ref().unwrap().requests["cpu"];
    assert_eq!(given.allocated_resources["cpu"], of_actual);
    (pending.map(|said| (said.reason.clone(), said.message.clone())), of_actual.to_string())
}

async fn events(cluster: &Cluster) -> Vec<String> {
    let client = cluster.client_as(User::new("ann", ["system:masters"]));
    let events = Api::<Event>::of(&client).list(&ListParams::default()).await.unwrap();
    events.items.iter().map(|event| format!("{} {}", event.reason, event.message)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_resized_while_the_node_has_room() {
    // Later releases refuse what no node could have.
    let cluster = cluster_of(Release::named("1.35").unwrap()).await;
    run(&cluster, "a", asking("1")).await;
    run(&cluster, "b", asking("2")).await;
    assert_eq!(resize(&cluster, "a", "1500m").await, (None, "1500m".to_owned()));
    let why = "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000";
    assert_eq!(resize(&cluster, "a", "3").await, (Some(("Deferred".into(), why.into())), "1500m".to_owned()));
    let why = "Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000";
    assert_eq!(resize(&cluster, "b", "5").await, (Some(("Infeasible".into(), why.into())), "2".to_owned()));
    pods(&cluster).delete(&key("b"), &coracle_client::DeleteParams::now()).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(said(&cluster, "a").await, (None, "3".to_owned()), "there is room now");
    let told = events(&cluster).await;
    for reason in ["ResizeStarted", "ResizeCompleted", "ResizeDeferred", "ResizeInfeasible"] {
        assert!(told.iter().any(|event| event.starts_with(&format!("{reason} Pod resize "))), "{reason}: {told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_shuts_down_ends_its_pods_and_accepts_no_more() {
    let cluster = cluster().await;
    run(&cluster, "web", asking("1")).await;
    let annotate = async |value: Value| {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {"coracle.dev/shutdown": value}}}));
        nodes(&cluster).patch(&ObjectKey::cluster("node-1"), &patch).await.unwrap();
        sleep(Duration::from_secs(3)).await;
    };
    annotate(json!("true")).await;
    let pod = pods(&cluster).get(&key("web")).await.unwrap();
    assert_eq!((pod.status.phase.as_str(), pod.status.reason.as_str()), ("Failed", "Terminated"));
    assert_eq!(pod.status.message, "Pod was terminated in response to imminent node shutdown.");
    assert_eq!(pod.condition("DisruptionTarget").unwrap().reason, "TerminationByKubelet");
    let ready = nodes(&cluster).get(&ObjectKey::cluster("node-1")).await.unwrap().condition("Ready").unwrap().clone();
    assert_eq!((ready.status.as_str(), ready.message.as_str()), ("False", "node is shutting down"));
    let mut bound = asking("1");
    bound["nodeName"] = "node-1".into();
    let late = json!({"metadata": {"name": "late", "namespace": "default"}, "spec": bound});
    pods(&cluster).create(&serde_json::from_value(late).unwrap()).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(pods(&cluster).get(&key("late")).await.unwrap().status.reason, "NodeShutdown");
    annotate(Value::Null).await;
    let node = nodes(&cluster).get(&ObjectKey::cluster("node-1")).await.unwrap();
    assert_eq!(node.condition("Ready").unwrap().status, "True");
}

#[tokio::test(start_paused = true)]
async fn pods_have_addresses_of_the_ranges_that_their_node_was_given() {
    let cluster = cluster().await;
    let ranges = json!({"spec": {"podCIDR": "10.244.1.0/24", "podCIDRs": ["10.244.1.0/24", "fd00:10:244:1::/64"]}});
    nodes(&cluster).patch(&ObjectKey::cluster("node-1"), &Patch::Merge(ranges)).await.unwrap();
    run(&cluster, "web", asking("1")).await;
    let status = pods(&cluster).get(&key("web")).await.unwrap().status.clone();
    let addresses: Vec<&str> = status.pod_ips.iter().map(|own| own.ip.as_str()).collect();
    assert_eq!((status.pod_ip.as_str(), addresses), ("10.244.1.1", vec!["10.244.1.1", "fd00:10:244:1::1"]));
}
