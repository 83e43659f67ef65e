//! One controller of the controller-manager by its name: killed, started, doubled and paused.

use std::time::Duration;

use coracle_api::apps_v1::ReplicaSet;
use coracle_api::core_v1::Pod;
use coracle_client::{Api, Client, ListParams};
use coracle_cluster::{Builder, Cluster, Component};
use coracle_journal::{Entry, EntryId, Recorder, Stage};
use serde_json::json;
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);
const REPLICASET: &str = "controller-manager/replicaset";

async fn started(builder: Builder) -> (Cluster, Client) {
    let cluster = builder.seed(1).recorder(Recorder::ring(1_000_000)).start().await.unwrap();
    sleep(10 * SECOND).await;
    let client = Client::new(cluster.service(), cluster.ambient());
    (cluster, client)
}

async fn create_set(client: &Client, name: &str) {
    let labels = json!({"app": name});
    let set: ReplicaSet = serde_json::from_value(json!({
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "nginx"}]},
            },
        },
    }))
    .unwrap();
    Api::of(client).create(&set).await.unwrap();
}

async fn pods(client: &Client) -> usize {
    Api::<Pod>::of(client).list(&ListParams::default()).await.unwrap().items.len()
}

fn entries(cluster: &Cluster, since: EntryId) -> Vec<Entry> {
    cluster.recorder().entries(since)
}

fn last(cluster: &Cluster) -> EntryId {
    entries(cluster, EntryId(0)).last().unwrap().id
}

/// What the controller has done since an entry, in its own words.
fn acts(cluster: &Cluster, since: EntryId) -> Vec<Stage> {
    let own = entries(cluster, since).into_iter().filter(|entry| entry.id > since && entry.actor == REPLICASET);
    own.map(|entry| entry.stage).collect()
}

fn lists(cluster: &Cluster, since: EntryId, actor: &str) -> usize {
    let of_it = |entry: &&Entry| entry.id > since && entry.stage == Stage::ReflectorList && entry.actor == actor;
    entries(cluster, since).iter().filter(of_it).count()
}

#[tokio::test(start_paused = true)]
async fn a_killed_controller_acts_no_more_until_it_is_started_and_the_others_act() {
    let (cluster, client) = started(Cluster::builder()).await;
    assert!(cluster.runs(REPLICASET));
    create_set(&client, "web").await;
    sleep(SECOND).await;
    assert_eq!(pods(&client).await, 2);

    assert!(cluster.kill_component(REPLICASET) && !cluster.kill_component(REPLICASET));
    assert!(!cluster.runs(REPLICASET) && cluster.runs("controller-manager/deployment"));
    let killed = last(&cluster);
    create_set(&client, "db").await;
    sleep(3600 * SECOND).await;
    assert_eq!(pods(&client).await, 2);
    assert_eq!(acts(&cluster, killed), []);

    assert!(cluster.start_component(REPLICASET) && !cluster.start_component(REPLICASET));
    sleep(SECOND).await;
    assert_eq!(pods(&client).await, 4);
    assert_eq!(acts(&cluster, killed)[0], Stage::ComponentStart);
    // It uses the informers of the process, which were not killed.
    assert_eq!(lists(&cluster, killed, "controller-manager"), 0);
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_killed_controller_with_informers_of_its_own_lists_again() {
    let (cluster, client) = started(Cluster::builder().own_informers([REPLICASET])).await;
    assert!(lists(&cluster, EntryId(0), REPLICASET) >= 2, "ReplicaSets and pods");
    let shared = lists(&cluster, EntryId(0), "controller-manager");
    assert!(cluster.kill_component(REPLICASET));
    let killed = last(&cluster);
    create_set(&client, "web").await;
    sleep(60 * SECOND).await;
    assert_eq!((pods(&client).await, acts(&cluster, killed)), (0, Vec::new()));
    assert!(cluster.start_component(REPLICASET));
    sleep(SECOND).await;
    assert_eq!(pods(&client).await, 2);
    assert!(lists(&cluster, killed, REPLICASET) >= 2);
    assert_eq!(lists(&cluster, EntryId(0), "controller-manager"), shared);
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_killed_controller_manager_takes_its_controllers_with_it_and_starts_all_of_them() {
    let (cluster, client) = started(Cluster::builder().own_informers([REPLICASET])).await;
    assert!(cluster.kill_component("controller-manager/job"));
    assert!(cluster.kill_component(Component::ControllerManager));
    assert!(!cluster.runs(REPLICASET) && !cluster.start_component(REPLICASET));
    create_set(&client, "web").await;
    sleep(60 * SECOND).await;
    assert_eq!(pods(&client).await, 0);
    assert!(cluster.start_component(Component::ControllerManager));
    sleep(SECOND).await;
    assert!(cluster.runs(REPLICASET) && cluster.runs("controller-manager/job"));
    assert_eq!(pods(&client).await, 2);
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn two_instances_of_a_controller_act_until_the_second_is_killed() {
    let (cluster, client) = started(Cluster::builder()).await;
    let handle = cluster.handle();
    assert!(handle.double_component(REPLICASET, None) && !handle.double_component(REPLICASET, None));
    sleep(SECOND).await;
    assert!(lists(&cluster, EntryId(0), REPLICASET) >= 2, "the second instance has informers of its own");
    create_set(&client, "web").await;
    sleep(10 * SECOND).await;
    let creates =
        |entry: &&Entry| entry.actor == REPLICASET && entry.stage == Stage::SyncWrite && entry.data["verb"] == "create";
    let written = entries(&cluster, EntryId(0)).iter().filter(creates).count();
    assert!(written > 2, "one instance creates 2 pods, and both have created {written}");
    assert!(handle.kill_double(REPLICASET, None) && !handle.kill_double(REPLICASET, None));
    assert!(cluster.runs(REPLICASET));
    create_set(&client, "db").await;
    sleep(10 * SECOND).await;
    assert_eq!(pods(&client).await, 4);
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_controller_does_nothing_and_continues_with_what_it_knew() {
    let (cluster, client) = started(Cluster::builder().own_informers([REPLICASET])).await;
    assert!(cluster.pause_component(REPLICASET) && !cluster.pause_component(REPLICASET));
    let paused = last(&cluster);
    create_set(&client, "web").await;
    sleep(3600 * SECOND).await;
    let received =
        entries(&cluster, paused).iter().any(|entry| entry.id > paused && entry.actor.starts_with(REPLICASET));
    assert!(!received && pods(&client).await == 0);
    assert!(cluster.resume_component(REPLICASET) && !cluster.resume_component(REPLICASET));
    sleep(SECOND).await;
    assert_eq!(pods(&client).await, 2);
    assert_eq!(lists(&cluster, paused, REPLICASET), 0, "its watches have stayed open");
    assert!(!cluster.pause_component("controller-manager/job"), "it shares its informers");
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_controller_manager_stops_all_controllers_and_can_be_shut_down() {
    let (cluster, client) = started(Cluster::builder()).await;
    assert!(cluster.pause_component(Component::ControllerManager));
    let paused = last(&cluster);
    create_set(&client, "web").await;
    sleep(3600 * SECOND).await;
    let of_it = |entry: &&Entry| entry.id > paused && entry.actor.starts_with("controller-manager");
    assert_eq!(entries(&cluster, paused).iter().find(of_it).map(|entry| entry.stage), None);
    assert!(cluster.resume_component(Component::ControllerManager));
    sleep(SECOND).await;
    assert_eq!(pods(&client).await, 2);
    assert!(cluster.pause_component(Component::ControllerManager));
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_no_component_is_refused() {
    let (cluster, _) = started(Cluster::builder()).await;
    for name in ["controller-manager/replicasets", "controller-manager/", "kubelet/node-9", "my-operator"] {
        assert!(!cluster.start_component(name) && !cluster.kill_component(name) && !cluster.pause_component(name));
    }
    let run = async |_| std::future::pending::<()>().await;
    for name in [REPLICASET, "kubelet/node-1", "scheduler"] {
        let user = coracle_cluster::User::new("me", ["system:masters"]);
        cluster.add_component(name, user, run).unwrap_err();
    }
    cluster.shutdown().await;
    let refused = Cluster::builder().own_informers(["controller-manager/replicaset-controller"]).start().await;
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("did you mean `controller-manager/replicaset`?"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_controller_has_its_name_as_a_component_in_the_event_log() {
    let (cluster, client) = started(Cluster::builder().nodes(2).csi_driver()).await;
    create_set(&client, "web").await;
    sleep(600 * SECOND).await;
    let names: Vec<&str> = coracle_cluster::controllers::component_names().collect();
    let of_a_part = |actor: &str| {
        let is_part =
            |name: &&str| actor.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
        actor == "stale-pod-disruption" || names.iter().any(is_part)
    };
    let all = entries(&cluster, EntryId(0));
    let actors = all.iter().filter_map(|entry| entry.actor.strip_prefix("controller-manager/"));
    let mut seen: Vec<&str> = actors.collect();
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() > 20, "{seen:?}");
    let unknown: Vec<&str> = seen.into_iter().filter(|actor| !of_a_part(actor)).collect();
    assert_eq!(unknown, [""; 0]);
    cluster.shutdown().await;
}
