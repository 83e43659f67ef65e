//! Pulls of images by simulated nodes, in virtual time. The messages are those of `pkg/kubelet/images/image_manager.go`.

use std::time::Duration;

use coracle_api::core_v1::{Event, Node, Pod};
use coracle_client::{Api, Client, ListParams};
use coracle_cluster::{Cluster, Images};
use coracle_meta::{ObjectKey, parse_time};
use coracle_registry::User;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

const SOON: Duration = Duration::from_secs(30);

/// A cluster of one node whose registry has these images.
async fn cluster(images: Value) -> (Cluster, Client) {
    let images: Images = serde_json::from_value(images).unwrap();
    let cluster = Cluster::builder().nodes(1).images(images).start().await.unwrap();
    let client = cluster.client_as(User::new("ann", ["system:masters"]));
    // The namespace has its service account then, and pods may be created.
    sleep(Duration::from_secs(1)).await;
    (cluster, client)
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

async fn create(client: &Client, name: &str, spec: Value) {
    let pod = json!({"metadata": {"name": name, "namespace": "default"}, "spec": spec});
    Api::of(client).create(&serde_json::from_value::<Pod>(pod).unwrap()).await.unwrap();
}

/// A pod with one container of this image.
async fn run(client: &Client, name: &str, image: &str, policy: &str) {
    let container = json!({"name": "c", "image": image, "imagePullPolicy": policy});
    create(client, name, json!({"containers": [container]})).await;
}

async fn pod(client: &Client, name: &str) -> Pod {
    Api::of(client).get(&key(name)).await.unwrap()
}

async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + SOON;
    while !is_so().await {
        assert!(Instant::now() < deadline, "not within {SOON:?}: {what}");
        sleep(Duration::from_millis(50)).await;
    }
}

async fn until_ready(client: &Client, name: &str) {
    until(&format!("{name} is ready"), async || pod(client, name).await.is_ready()).await;
}

/// The reason and the message of what the container waits for.
async fn waits_for(client: &Client, name: &str) -> (String, String) {
    let pod = pod(client, name).await;
    let waiting = pod.status.container_statuses.first().and_then(|status| status.state.waiting.clone());
    waiting.map(|waiting| (waiting.reason, waiting.message)).unwrap_or_default()
}

/// The messages of the events about a pod with these reasons, in the order of their creation.
async fn events(client: &Client, name: &str, reasons: &[&str]) -> Vec<String> {
    let about = ListParams::fields(format!("involvedObject.name={name}"));
    let mut events = Api::<Event>::of(client).list(&about).await.unwrap().items;
    events.sort_by_key(|event| event.metadata.resource_version.clone().and_then(|version| version.parse::<u64>().ok()));
    let wanted = events.into_iter().filter(|event| reasons.contains(&event.reason.as_str()));
    wanted.map(|event| event.message).collect()
}

/// When the container of a pod was started, in seconds.
async fn started(client: &Client, name: &str) -> i64 {
    let pod = pod(client, name).await;
    let running = pod.status.container_statuses[0].state.running.clone().unwrap();
    parse_time(&running.started_at.unwrap()).unwrap().as_second()
}

#[tokio::test(start_paused = true)]
async fn a_pull_takes_its_time_and_the_next_pod_finds_the_image_on_the_node() {
    let (_cluster, client) = cluster(json!({"web:1": {"pull": "3s", "size": "10Mi"}})).await;
    run(&client, "first", "web:1", "IfNotPresent").await;
    let pulling = async || events(&client, "first", &["Pulling"]).await.len() == 1;
    until("the node pulls the image", pulling).await;
    assert_eq!(pod(&client, "first").await.status.phase, "Pending");
    assert_eq!(waits_for(&client, "first").await.0, "ContainerCreating");
    until_ready(&client, "first").await;
    let said = events(&client, "first", &["Pulling", "Pulled", "Created", "Started"]).await;
    assert_eq!(
        said,
        [
            "Pulling image \"web:1\"",
            "Successfully pulled image \"web:1\" in 3s (3s including waiting). Image size: 10485760 bytes.",
            "Container created",
            "Container started",
        ]
    );
    run(&client, "second", "web:1", "IfNotPresent").await;
    until_ready(&client, "second").await;
    let said = events(&client, "second", &["Pulling", "Pulled"]).await;
    assert_eq!(said, ["Container image \"web:1\" already present on machine and can be accessed by the pod"]);
}

#[tokio::test(start_paused = true)]
async fn the_policy_always_asks_the_registry_again_and_pulls_what_has_not_changed_in_no_time() {
    let (_cluster, client) = cluster(json!({"*": {"pull": "2500ms"}})).await;
    run(&client, "first", "web:1", "Always").await;
    until_ready(&client, "first").await;
    run(&client, "second", "web:1", "Always").await;
    until_ready(&client, "second").await;
    for (name, lasted) in [("first", "2.5s"), ("second", "0s")] {
        let pulled = format!(
            "Successfully pulled image \"web:1\" in {lasted} ({lasted} including waiting). Image size: 67108864 bytes."
        );
        assert_eq!(events(&client, name, &["Pulling", "Pulled"]).await, ["Pulling image \"web:1\"", &pulled]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_pulls_again_if_the_policy_says_so_and_counts_as_one_restart() {
    let (_cluster, client) = cluster(json!({"job": {"pull": "3s", "crashes": "5s"}})).await;
    for (name, policy) in [("always", "Always"), ("present", "IfNotPresent")] {
        run(&client, name, "job:1", policy).await;
        until("it is restarted", async || {
            pod(&client, name).await.status.container_statuses.first().is_some_and(|status| status.restart_count == 1)
        })
        .await;
    }
    assert_eq!(events(&client, "always", &["Pulled"]).await.len(), 2, "one pull of three seconds, and one of none");
    assert_eq!(events(&client, "present", &["Pulling"]).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_node_pulls_one_image_after_the_other_and_another_node_at_the_same_time() {
    let (cluster, client) = cluster(json!({"*": {"pull": "4s"}})).await;
    let on = |node: &str, image: &str| json!({"nodeName": node, "containers": [{"name": "c", "image": image}]});
    cluster.kubelet().add_node(coracle_cluster::NodeSpec::new("node-2"));
    sleep(Duration::from_secs(5)).await;
    create(&client, "a", on("node-1", "a:1")).await;
    create(&client, "b", on("node-1", "b:1")).await;
    create(&client, "far", on("node-2", "b:1")).await;
    for name in ["a", "b", "far"] {
        until_ready(&client, name).await;
    }
    let first = started(&client, "a").await;
    assert_eq!([started(&client, "b").await - first, started(&client, "far").await - first], [4, 0]);
    let said = events(&client, "b", &["Pulled"]).await.concat();
    let waited = said.strip_prefix("Successfully pulled image \"b:1\" in 4s (").unwrap();
    let waited: f64 = waited.split_once("s including").unwrap().0.parse().unwrap();
    assert!((7.5..=8.0).contains(&waited), "{said}");
}

#[tokio::test(start_paused = true)]
async fn two_pods_that_want_the_same_image_wait_for_one_pull() {
    let (_cluster, client) = cluster(json!({"web": {"pull": "4s"}})).await;
    run(&client, "a", "web:1", "IfNotPresent").await;
    run(&client, "b", "web:1", "IfNotPresent").await;
    until_ready(&client, "b").await;
    assert_eq!(started(&client, "a").await, started(&client, "b").await);
    let said = events(&client, "b", &["Pulled"]).await.concat();
    assert!(said.starts_with("Successfully pulled image \"web:1\" in 0s (") && !said.contains("(0s"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn the_containers_of_a_pod_start_one_after_the_other() {
    let (_cluster, client) = cluster(json!({"*": {"pull": "3s"}})).await;
    let container = |name: &str| json!({"name": name, "image": format!("{name}:1")});
    let spec = json!({"initContainers": [container("i")], "containers": [container("a"), container("b")]});
    create(&client, "web", spec).await;
    until_ready(&client, "web").await;
    let said = events(&client, "web", &["Pulling", "Started"]).await;
    let pulling = |name: &str| format!("Pulling image \"{name}:1\"");
    let started = "Container started".to_owned();
    let expected = [pulling("i"), started.clone(), pulling("a"), started.clone(), pulling("b"), started];
    assert_eq!(said, expected);
}

#[tokio::test(start_paused = true)]
async fn a_failed_pull_reads_as_that_of_a_kubelet_on_containerd() {
    let (_cluster, client) = cluster(json!({"web": {"pull": "3s"}})).await;
    run(&client, "bad", "nginx:doesnotexist", "IfNotPresent").await;
    let full = "docker.io/library/nginx:doesnotexist";
    let error = format!(
        "rpc error: code = NotFound desc = failed to pull and unpack image \"{full}\": failed to resolve reference \
         \"{full}\": {full}: not found"
    );
    until("the pull fails", async || waits_for(&client, "bad").await.0 == "ErrImagePull").await;
    assert_eq!(waits_for(&client, "bad").await.1, error);
    until("the pull is not repeated at once", async || waits_for(&client, "bad").await.0 == "ImagePullBackOff").await;
    let message = format!("Back-off pulling image \"nginx:doesnotexist\": ErrImagePull: {error}");
    assert_eq!(waits_for(&client, "bad").await.1, message);
    let said = events(&client, "bad", &["Pulling", "Pulled", "Failed", "BackOff"]).await;
    assert_eq!(
        said[..3],
        [
            "Pulling image \"nginx:doesnotexist\"".to_owned(),
            format!("Failed to pull image \"nginx:doesnotexist\": {error}"),
            "Error: ErrImagePull".to_owned(),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_policy_never_waits_until_another_pod_has_pulled_the_image() {
    let (_cluster, client) = cluster(json!({"web": {"pull": "3s"}})).await;
    run(&client, "never", "web:1", "Never").await;
    until("the image is absent", async || waits_for(&client, "never").await.0 == "ErrImageNeverPull").await;
    run(&client, "other", "web:1", "IfNotPresent").await;
    until_ready(&client, "never").await;
    assert_eq!(events(&client, "never", &["Pulling"]).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_loses_power_during_a_pull_pulls_again_and_keeps_what_it_has() {
    let (cluster, client) = cluster(json!({"*": {"pull": "10s"}})).await;
    run(&client, "kept", "kept:1", "IfNotPresent").await;
    until_ready(&client, "kept").await;
    run(&client, "web", "web:1", "IfNotPresent").await;
    until("the pull has begun", async || !events(&client, "web", &["Pulling"]).await.is_empty()).await;
    sleep(Duration::from_secs(2)).await;
    cluster.kubelet().kill_node("node-1");
    sleep(Duration::from_secs(5)).await;
    cluster.kubelet().start_node("node-1");
    until_ready(&client, "web").await;
    until_ready(&client, "kept").await;
    let pulled = "Successfully pulled image \"web:1\" in 10s (10s including waiting). Image size: 67108864 bytes.";
    assert_eq!(events(&client, "web", &["Pulled"]).await, [pulled]);
    let present = "Container image \"kept:1\" already present on machine and can be accessed by the pod";
    assert!(events(&client, "kept", &["Pulled"]).await.contains(&present.to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_saved_node_has_its_images_again() {
    let images: Images = serde_json::from_value(json!({"*": {"pull": "3s"}})).unwrap();
    let (first, client) = cluster(json!({"*": {"pull": "3s"}})).await;
    run(&client, "web", "web:1", "IfNotPresent").await;
    until_ready(&client, "web").await;
    let saved = first.kubelet().save();
    first.shutdown().await;
    let again = Cluster::builder().nodes(1).images(images).saved_nodes(saved).start().await.unwrap();
    let client = again.client_as(User::new("ann", ["system:masters"]));
    // The clock of the new cluster begins at the same date, and the image was pulled some seconds later.
    sleep(Duration::from_secs(20)).await;
    run(&client, "next", "web:1", "IfNotPresent").await;
    until_ready(&client, "next").await;
    assert_eq!(events(&client, "next", &["Pulling"]).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_node_shows_the_images_that_it_has_pulled() {
    let (_cluster, client) = cluster(json!({"web": {"pull": "1s", "size": "5Mi"}})).await;
    run(&client, "web", "web:1", "IfNotPresent").await;
    until_ready(&client, "web").await;
    let shown = async || {
        let node = Api::<Node>::of(&client).get(&ObjectKey::cluster("node-1")).await.unwrap();
        node.status.images.iter().map(|image| (image.names.join(","), image.size_bytes)).collect::<Vec<_>>()
    };
    until("the node shows the image", async || shown().await.len() == 2).await;
    assert_eq!(shown().await[0], ("docker.io/library/web:1".to_owned(), 5 << 20));
}
