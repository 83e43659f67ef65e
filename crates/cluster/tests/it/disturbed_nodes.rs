//! Whatever is killed, cut off and started again, and at whichever event: no node is given more than it has, and no pod
//! runs twice. In virtual time.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the clock is real, or one receiver waits: the order in which receivers wake does not matter"
)]

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use coracle_api::core_v1::Pod;
use coracle_client::{Api, Client, DeleteParams, ListParams, Patch};
use coracle_cluster::{Cluster, Component, NodeSpec, User};
use coracle_meta::{GroupVersionResource, Object, ObjectKey, Quantity, Resource};
use coracle_store::{EventKind, KeyRange, WatchRequest};
use futures_util::future::{Either, select};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

const NODES: [&str; 3] = ["node-1", "node-2", "node-3"];
/// What each node has, in thousandths of a core.
const CORES: i64 = 2000;

/// What is done to the cluster.
#[derive(Clone, Copy, Debug)]
enum Deed {
    CutPower(usize),
    StopKubelet(usize),
    Start(usize),
    CutOff(usize),
    Reconnect(usize),
    Kill(Component),
    Restart(Component),
    Scale(u8),
    DeletePod(usize),
}

fn deeds() -> impl Strategy<Value = Deed> {
    let node = 0..NODES.len();
    let component =
        prop_oneof![Just(Component::ControllerManager), Just(Component::Scheduler), Just(Component::Kubelet)];
    prop_oneof![
        node.clone().prop_map(Deed::CutPower),
        node.clone().prop_map(Deed::StopKubelet),
        node.clone().prop_map(Deed::Start),
        node.clone().prop_map(Deed::CutOff),
        node.prop_map(Deed::Reconnect),
        component.clone().prop_map(Deed::Kill),
        component.prop_map(Deed::Restart),
        (1..6_u8).prop_map(Deed::Scale),
        (0..8_usize).prop_map(Deed::DeletePod),
    ]
}

fn workload(kind: &str, name: &str, replicas: usize, cpu: &str) -> Object {
    Object::from_value(
        json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"terminationGracePeriodSeconds": 5, "containers": [{"name": "c", "image": "web:1",
                "resources": {"requests": {"cpu": cpu}}}]}}}}),
    )
    .unwrap()
}

fn workloads(client: &Client, plural: &str) -> Api<Object> {
    Api::dynamic(client, GroupVersionResource::new("apps", "v1", plural))
}

async fn start(seed: u64) -> (Cluster, Client) {
    let nodes = NODES.map(|name| NodeSpec::new(name).with_capacity("cpu", "2")).to_vec();
    let cluster = Cluster::builder().node_specs(nodes).seed(seed).start().await.unwrap();
    let client = cluster.client_as(User::new("ann", ["system:masters"]));
    workloads(&client, "replicasets").create(&workload("ReplicaSet", "web", 4, "400m")).await.unwrap();
    let mut db = workload("StatefulSet", "db", 2, "500m");
    db.set("spec.serviceName", "db");
    db.set("spec.podManagementPolicy", "Parallel");
    workloads(&client, "statefulsets").create(&db).await.unwrap();
    (cluster, client)
}

async fn act(cluster: &Cluster, client: &Client, deed: Deed) {
    let nodes = cluster.kubelet();
    match deed {
        Deed::CutPower(node) => drop(nodes.kill_node(NODES[node])),
        Deed::StopKubelet(node) => drop(nodes.stop_node(NODES[node])),
        Deed::Start(node) => drop(nodes.start_node(NODES[node])),
        Deed::CutOff(node) => drop(nodes.partition_node(NODES[node], true)),
        Deed::Reconnect(node) => drop(nodes.partition_node(NODES[node], false)),
        Deed::Kill(component) => drop(cluster.kill_component(component)),
        Deed::Restart(component) => drop(cluster.start_component(component)),
        Deed::Scale(replicas) => scale(client, replicas).await,
        Deed::DeletePod(number) => {
            let pods = Api::<Pod>::of(client);
            if let Some(pod) = pods.list(&ListParams::default()).await.unwrap().items.get(number) {
                let _ = pods.delete(&pod.key(), &DeleteParams::default()).await;
            }
        }
    }
}

async fn scale(client: &Client, replicas: u8) {
    let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    workloads(client, "replicasets").patch(&ObjectKey::new("default", "web"), &patch).await.unwrap();
}

/// What the pods of each node ask for, as the store has them.
fn asked(pods: &BTreeMap<Vec<u8>, Value>) -> BTreeMap<&str, i64> {
    let mut asked = BTreeMap::new();
    for pod in pods.values().filter(|pod| !matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))) {
        let Some(node) = pod["spec"]["nodeName"].as_str() else { continue };
        let cpu = pod["spec"]["containers"][0]["resources"]["requests"]["cpu"].as_str().unwrap();
        *asked.entry(node).or_default() += Quantity::parse(cpu).unwrap().milli_value();
    }
    asked
}

fn no_pod_runs_twice(cluster: &Cluster) {
    let mut runs = BTreeMap::new();
    for node in NODES {
        for pod in cluster.kubelet().running_on(node) {
            if let Some(other) = runs.insert(pod.clone(), node) {
                panic!("{pod} runs on {other} and on {node}");
            }
        }
    }
}

/// Looks at every event; never ends.
async fn look(cluster: &Cluster, revisions: watch::Sender<i64>) {
    let request = WatchRequest { range: KeyRange::prefix("/registry/"), start_revision: 1, prev_kv: false };
    let mut events = cluster.store().watch(request).await.unwrap();
    let mut pods = BTreeMap::new();
    loop {
        let batch = events.next().await.unwrap();
        for event in batch.events.iter().filter(|event| event.kv.key.starts_with(b"/registry/pods/")) {
            match event.kind {
                EventKind::Put => {
                    drop(pods.insert(event.kv.key.to_vec(), serde_json::from_slice(&event.kv.value).unwrap()))
                }
                EventKind::Delete => drop(pods.remove(&event.kv.key.to_vec())),
            }
            for (node, asked) in asked(&pods) {
                assert!(asked <= CORES, "{node} has {CORES}m and is given {asked}m at revision {}", batch.revision);
            }
        }
        no_pod_runs_twice(cluster);
        revisions.send_replace(batch.revision);
    }
}

async fn run(seed: u64, deeds: &[(i64, Deed)]) {
    let (cluster, client) = start(seed).await;
    let (revisions, mut seen) = watch::channel(0);
    let story = async {
        for (after, deed) in deeds {
            let from = *seen.borrow();
            // Where nothing more happens the deed is done nevertheless.
            let _ = timeout(Duration::from_secs(400), seen.wait_for(|now| *now >= from + after)).await;
            act(&cluster, &client, *deed).await;
            no_pod_runs_twice(&cluster);
        }
        for component in [Component::ControllerManager, Component::Scheduler, Component::Kubelet] {
            cluster.start_component(component);
        }
        for node in NODES {
            cluster.kubelet().partition_node(node, false);
            cluster.kubelet().start_node(node);
        }
        scale(&client, 4).await;
        sleep(Duration::from_secs(900)).await;
        let pods = Api::<Pod>::of(&client).list(&ListParams::default()).await.unwrap().items;
        let ready = pods.iter().filter(|pod| pod.is_ready()).count();
        let said: Vec<_> = pods.iter().map(|pod| (pod.key().to_string(), pod.status.phase.clone())).collect();
        assert!((ready, pods.len()) == (6, 6), "when all is well again, all pods run: {said:?}");
        let running: usize = NODES.iter().map(|node| cluster.kubelet().running_on(node).len()).sum();
        assert_eq!(running, 6, "on the machines too");
    };
    if let Either::Left(((), _)) = select(pin!(look(&cluster, revisions)), pin!(story)).await {
        unreachable!("it looks on");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_node_is_given_too_much_and_no_pod_runs_twice_whatever_happens(
        seed in 0..1000_u64,
        deeds in proptest::collection::vec((0..40_i64, deeds()), 1..14),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(run(seed, &deeds));
    }
}

#[test]
fn allocated_resources_of_a_node_are_the_sum_of_its_pods_requests() {
    let pod = |node: &str, cpu: &str| json!({"spec": {"nodeName": node, "containers": [{"resources": {"requests": {"cpu": cpu}}}]}});
    let pods = BTreeMap::from([
        (b"a".to_vec(), pod("n", "1500m")),
        (b"b".to_vec(), pod("n", "600m")),
        (b"c".to_vec(), pod("m", "1")),
    ]);
    assert_eq!(asked(&pods), BTreeMap::from([("n", 2100), ("m", 1000)]));
}
