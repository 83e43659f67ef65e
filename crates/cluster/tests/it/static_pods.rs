//! Static pods of simulated nodes, and their mirrors, in virtual time.

use std::sync::Arc;
use std::time::Duration;

use coracle_api::core_v1::{Event, Node, Pod};
use coracle_client::{Api, Client, DeleteParams, ListParams};
use coracle_cluster::{Cluster, ManifestFolder, MemoryManifests, NodeSpec, SavedNodes};
use coracle_meta::ObjectKey;
use coracle_registry::User;
use tokio::time::{Instant, sleep};

/// How often a node looks at its manifests.
const LOOK: Duration = Duration::from_secs(20);
const SOON: Duration = Duration::from_secs(30);

const WEB: &str = "
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 7
  containers: [{name: c, image: web:1}]
";

/// Waits until something is so, for at most so long.
async fn until(what: &str, within: Duration, is_so: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + within;
    while !is_so().await {
        assert!(Instant::now() < deadline, "not within {within:?}: {what}");
        sleep(Duration::from_millis(100)).await;
    }
}

fn mirror() -> ObjectKey {
    ObjectKey::new("default", "web-node-1")
}

/// A cluster with a node that has these manifests, and another.
async fn cluster(manifests: &Arc<MemoryManifests>) -> (Cluster, Client) {
    let first = NodeSpec::new("node-1").with_static_pods(ManifestFolder::shared(manifests));
    let cluster = Cluster::builder().node_specs(vec![first, NodeSpec::new("node-2")]).start().await.unwrap();
    let ann = cluster.client_as(User::new("ann", ["system:masters"]));
    (cluster, ann)
}

async fn found(client: &Client) -> Option<Pod> {
    Api::<Pod>::of(client).find(&mirror()).await.unwrap()
}

async fn is_ready(client: &Client) -> bool {
    found(client).await.is_some_and(|pod| pod.is_ready())
}

async fn told(client: &Client, reason: &str) -> Vec<String> {
    let events = Api::<Event>::of(client).list(&ListParams::fields(format!("reason={reason}"))).await.unwrap().items;
    events.into_iter().map(|event| event.message).collect()
}

#[tokio::test(start_paused = true)]
async fn a_manifest_becomes_a_pod_that_its_node_runs_and_the_api_shows() {
    let manifests = Arc::new(MemoryManifests::default());
    manifests.put("/etc/kubernetes/manifests/web.yaml", WEB);
    let (cluster, ann) = cluster(&manifests).await;
    until("the mirror is ready", SOON, async || is_ready(&ann).await).await;
    let pod = found(&ann).await.unwrap();
    let node = Api::<Node>::of(&ann).get(&ObjectKey::cluster("node-1")).await.unwrap();
    let owner = &pod.metadata.owner_references[0];
    assert_eq!((owner.kind.as_str(), owner.name.as_str(), owner.controller), ("Node", "node-1", Some(true)));
    assert_eq!(Some(&owner.uid), node.metadata.uid.as_ref());
    let annotation = |name: &str| pod.metadata.annotations[&format!("kubernetes.io/config.{name}")].as_str();
    assert_eq!((annotation("source"), annotation("mirror")), ("file", annotation("hash")));
    assert!(annotation("seen").starts_with("20") && annotation("hash").len() == 32);
    assert_ne!(pod.metadata.uid.as_deref(), Some(annotation("hash")), "the mirror has a uid of the API");
    assert_eq!((pod.spec.node_name.as_str(), pod.spec.service_account_name.as_str()), ("node-1", ""));
    assert!(pod.spec.volumes.is_empty(), "no token is mounted");
    let tolerations: Vec<_> = pod.spec.tolerations.iter().map(|own| (own.key.as_str(), own.effect.as_str())).collect();
    assert_eq!(tolerations, [("", "NoExecute")]);
    assert_eq!((pod.status.phase.as_str(), pod.status.container_statuses[0].restart_count), ("Running", 0));
    assert_eq!(cluster.kubelet().running_on("node-1"), [mirror()]);
    assert!(cluster.kubelet().running_on("node-2").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_deleted_mirror_pod_is_recreated_without_effect_on_the_pod() {
    let manifests = Arc::new(MemoryManifests::default());
    manifests.put("/web.yaml", WEB);
    let (_cluster, ann) = cluster(&manifests).await;
    until("the mirror is ready", SOON, async || is_ready(&ann).await).await;
    let before = found(&ann).await.unwrap();
    for grace in [DeleteParams::default(), DeleteParams::now()] {
        let uid = found(&ann).await.unwrap().metadata.uid;
        Api::<Pod>::of(&ann).delete(&mirror(), &grace).await.unwrap();
        until("there is another", SOON, async || {
            is_ready(&ann).await && found(&ann).await.unwrap().metadata.uid != uid
        })
        .await;
    }
    let after = found(&ann).await.unwrap();
    assert_eq!(after.status.container_statuses, before.status.container_statuses);
    assert_eq!((after.status.pod_ip, after.status.start_time), (before.status.pod_ip, before.status.start_time));
}

#[tokio::test(start_paused = true)]
async fn a_manifest_that_changes_restarts_its_pod_and_one_that_is_removed_ends_it() {
    let manifests = Arc::new(MemoryManifests::default());
    manifests.put("/web.yaml", WEB);
    let (cluster, ann) = cluster(&manifests).await;
    until("the mirror is ready", SOON, async || is_ready(&ann).await).await;
    let before = found(&ann).await.unwrap();
    manifests.put("/web.yaml", &WEB.replace("web:1", "web:2"));
    let image = async || found(&ann).await.map(|pod| pod.spec.containers[0].image.clone());
    until("it is the new one", LOOK + SOON, async || image().await.as_deref() == Some("web:2") && is_ready(&ann).await)
        .await;
    let after = found(&ann).await.unwrap();
    let (old, new) = (&before.status.container_statuses[0], &after.status.container_statuses[0]);
    assert!(old.container_id != new.container_id && new.restart_count == 0, "it is another pod");
    assert!(told(&ann, "Killing").await.contains(&"Stopping container c".to_owned()));
    manifests.remove("/web.yaml");
    until("nothing runs", LOOK + SOON, async || cluster.kubelet().running_on("node-1").is_empty()).await;
    until("no mirror is left", SOON, async || found(&ann).await.is_none()).await;
    sleep(LOOK * 3).await;
    assert!(found(&ann).await.is_none());
    manifests.put("/web.yaml", WEB);
    until("it is there again", LOOK + SOON, async || is_ready(&ann).await).await;
}

#[tokio::test(start_paused = true)]
async fn a_static_pod_survives_a_stop_a_power_loss_and_a_process_restart() {
    let manifests = Arc::new(MemoryManifests::default());
    manifests.put("/web.yaml", WEB);
    let (cluster, ann) = cluster(&manifests).await;
    until("the mirror is ready", SOON, async || is_ready(&ann).await).await;
    let restarts = async || found(&ann).await.unwrap().status.container_statuses[0].restart_count;
    assert!(cluster.kubelet().stop_node("node-1"));
    sleep(Duration::from_secs(600)).await;
    assert!(!found(&ann).await.unwrap().is_terminating(), "taints of a silent node do not touch it");
    assert!(cluster.kubelet().start_node("node-1"));
    until("it is ready again", SOON, async || is_ready(&ann).await).await;
    assert_eq!(restarts().await, 0);
    assert!(cluster.kubelet().kill_node("node-1"));
    sleep(Duration::from_secs(10)).await;
    assert!(cluster.kubelet().start_node("node-1"));
    until("its container was started again", SOON, async || restarts().await == 1 && is_ready(&ann).await).await;
    let status = found(&ann).await.unwrap().status;
    cluster.kubelet().stop_node("node-1");
    let saved = SavedNodes::read(&cluster.kubelet().save().to_bytes()).unwrap();
    cluster.kubelet().restore(saved);
    cluster.kubelet().start_node("node-1");
    sleep(SOON).await;
    assert_eq!(found(&ann).await.unwrap().status, status, "as before");
}

#[tokio::test(start_paused = true)]
async fn an_invalid_manifest_is_reported_once_and_an_orphaned_mirror_is_deleted() {
    let manifests = Arc::new(MemoryManifests::default());
    manifests.put("/a.yaml", WEB);
    manifests.put("/b.yaml", "apiVersion: v1\nkind: Pod\nspec: {}\n");
    manifests.put("/c.yaml", WEB);
    manifests.put("/d.yaml", &WEB.replace("name: web}", "name: other, labels: {a: '?'}}"));
    let (cluster, ann) = cluster(&manifests).await;
    until("the mirror is ready", SOON, async || is_ready(&ann).await).await;
    let running = || cluster.kubelet().running_on("node-1").len();
    until("what the API does not take runs all the same", SOON, async || running() == 2).await;
    sleep(LOOK * 2).await;
    let told = told(&ann, "InvalidManifest").await;
    assert_eq!(told.len(), 3, "{told:?}");
    let has = |start: &str| told.iter().any(|message| message.starts_with(start));
    assert!(has("Could not process manifest file /b.yaml: invalid pod: name is needed for the pod"), "{told:?}");
    assert!(
        has("Error validating pod default/web-node-1 from file due to duplicate pod name, ignoring /c.yaml"),
        "{told:?}"
    );
    assert!(has("Failed creating a mirror pod for default/other-node-1: "), "{told:?}");
    let mut orphan = found(&ann).await.unwrap();
    orphan.metadata = Default::default();
    (orphan.metadata.name, orphan.metadata.namespace) = (Some("orphan".to_owned()), Some("default".to_owned()));
    orphan.metadata.annotations.insert("kubernetes.io/config.mirror".to_owned(), "x".to_owned());
    let (pods, key) = (Api::<Pod>::of(&ann), ObjectKey::new("default", "orphan"));
    pods.create(&orphan).await.unwrap();
    until("it is gone", SOON, async || pods.find(&key).await.unwrap().is_none()).await;
    assert_eq!(running(), 2, "it never ran");
}
