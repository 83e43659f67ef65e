//! Nodes and pods that live by KWOK's Stages, in virtual time.

use std::collections::BTreeSet;
use std::time::Duration;

use coracle_api::core_v1::{ConfigMap, Event, Node, Pod};
use coracle_client::{Api, Client, DeleteParams, ListParams, Patch};
use coracle_cluster::Cluster;
use coracle_cluster::stages::read_stages;
use coracle_meta::{GroupVersionResource, Object, ObjectKey};
use coracle_registry::User;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

/// A cluster whose nodes live by these sets.
async fn cluster(nodes: usize, sets: &[&str]) -> (Cluster, Client) {
    let stages = sets.iter().flat_map(|set| read_stages(set).unwrap()).collect();
    let cluster = Cluster::builder().nodes(nodes).stages(stages).start().await.unwrap();
    let client = cluster.client_as(User::new("ann", ["system:masters"]));
    // The namespace has its service account then, and pods may be made.
    sleep(Duration::from_secs(1)).await;
    (cluster, client)
}

fn pod(name: &str, metadata: Value, spec: Value) -> Pod {
    let mut pod = json!({
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "web:1"}], "terminationGracePeriodSeconds": 0},
    });
    for (part, more) in [("metadata", metadata), ("spec", spec)] {
        pod[part].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    }
    serde_json::from_value(pod).unwrap()
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

/// Waits, ten minutes at most.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < Duration::from_secs(600), "{what}: not after ten minutes");
        sleep(Duration::from_millis(100)).await;
    }
}

fn ready(node: &Node) -> (&str, &str) {
    node.condition("Ready").map_or(("", ""), |ready| (ready.status.as_str(), ready.reason.as_str()))
}

#[tokio::test(start_paused = true)]
async fn a_hundred_pods_run_by_the_fast_stages_and_go_when_they_are_deleted() {
    let (cluster, client) = cluster(4, &["fast"]).await;
    let (pods, nodes) = (Api::<Pod>::of(&client), Api::<Node>::of(&client));
    for number in 0..100 {
        pods.create(&pod(&format!("web-{number}"), json!({"labels": {"app": "web"}}), json!({}))).await.unwrap();
    }
    let web = ListParams::labels("app=web");
    until("the pods run", async || {
        let list = pods.list(&web).await.unwrap().items;
        list.len() == 100 && list.iter().all(|pod| pod.is_ready() && pod.status.phase == "Running")
    })
    .await;
    let list = pods.list(&web).await.unwrap().items;
    let addresses: BTreeSet<&str> = list.iter().map(|pod| pod.status.pod_ip.as_str()).collect();
    assert_eq!(addresses.len(), 100, "each has an address of its own");
    let hosts: BTreeSet<&str> = list.iter().map(|pod| pod.spec.node_name.as_str()).collect();
    assert_eq!(hosts.len(), 4);
    for node in nodes.list(&ListParams::default()).await.unwrap().items {
        assert_eq!((ready(&node), node.status.phase.as_str()), (("True", "KubeletReady"), "Running"));
        let of_node = list.iter().filter(|pod| Some(&pod.spec.node_name) == node.metadata.name.as_ref());
        let address = &node.status.addresses[0].address;
        assert!(of_node.into_iter().all(|pod| pod.status.host_ip == *address));
    }
    pods.clone().within("default").delete_collection(&DeleteParams::default(), &web).await.unwrap();
    until("the pods are gone", async || pods.list(&web).await.unwrap().items.is_empty()).await;
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_general_stages_take_their_time_and_say_it_in_events() {
    let (cluster, client) = cluster(1, &["general"]).await;
    let pods = Api::<Pod>::of(&client);
    let metadata = json!({"annotations": {
        "pod-create.stage.kwok.x-k8s.io/delay": "20s", "pod-create.stage.kwok.x-k8s.io/jitter-delay": "30s",
    }});
    let spec = json!({"initContainers": [{"name": "first", "image": "init:1"}]});
    let begun = Instant::now();
    pods.create(&pod("web", metadata, spec)).await.unwrap();
    until("it is created", async || !pods.get(&key("web")).await.unwrap().status.pod_ip.is_empty()).await;
    assert!((20..31).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    until("it is ready", async || pods.get(&key("web")).await.unwrap().is_ready()).await;
    assert!((23..46).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    let events = Api::<Event>::of(&client).list(&ListParams::fields("reason=Created")).await.unwrap().items;
    assert_eq!(events[0].message, "Created container");
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_stages_of_chaos_fail_what_is_labelled_and_nothing_else() {
    let (cluster, client) = cluster(2, &["chaos"]).await;
    let (pods, nodes) = (Api::<Pod>::of(&client), Api::<Node>::of(&client));
    pods.create(&pod("well", json!({}), json!({"nodeName": "node-1"}))).await.unwrap();
    let fails = json!({
        "labels": {"pod-container-running-failed.stage.kwok.x-k8s.io": "true"},
        "annotations": {
            "pod-container-running-failed.stage.kwok.x-k8s.io/exit-code": "137",
            "pod-container-running-failed.stage.kwok.x-k8s.io/reason": "OOMKilled",
        },
    });
    pods.create(&pod("ill", fails, json!({"nodeName": "node-1"}))).await.unwrap();
    until("it fails", async || pods.get(&key("ill")).await.unwrap().status.phase == "Failed").await;
    let ill = serde_json::to_value(pods.get(&key("ill")).await.unwrap()).unwrap();
    let ended = &ill["status"]["containerStatuses"][0]["state"]["terminated"];
    assert_eq!((&ended["exitCode"], &ended["reason"]), (&json!(137), &json!("OOMKilled")));

    let label = json!({"metadata": {"labels": {"node-not-ready.stage.kwok.x-k8s.io": "true"}}});
    nodes.patch(&ObjectKey::cluster("node-2"), &Patch::Merge(label)).await.unwrap();
    until("the node fails", async || {
        ready(&nodes.get(&ObjectKey::cluster("node-2")).await.unwrap()) == ("False", "nodeFailed")
    })
    .await;
    assert_eq!(ready(&nodes.get(&ObjectKey::cluster("node-1")).await.unwrap()).0, "True");
    until("the other runs", async || pods.get(&key("well")).await.unwrap().status.phase == "Running").await;
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_fake_node_of_any_client_lives_and_its_pods_run() {
    let (cluster, client) = cluster(1, &["fast"]).await;
    let (pods, nodes) = (Api::<Pod>::of(&client), Api::<Node>::of(&client));
    let node = |name: &str, annotations: Value| -> Node {
        serde_json::from_value(json!({"metadata": {"name": name, "annotations": annotations}})).unwrap()
    };
    nodes.create(&node("fake", json!({"kwok.x-k8s.io/node": "fake"}))).await.unwrap();
    nodes.create(&node("foreign", json!({}))).await.unwrap();
    for name in ["fake", "foreign"] {
        let uses = json!({"annotations": {"coracle.dev/cpu": "250m"}});
        pods.create(&pod(&format!("on-{name}"), uses, json!({"nodeName": name}))).await.unwrap();
    }
    until("the pod runs", async || pods.get(&key("on-fake")).await.unwrap().is_ready()).await;
    sleep(Duration::from_secs(600)).await;
    let fake = nodes.get(&ObjectKey::cluster("fake")).await.unwrap();
    assert_eq!(ready(&fake), ("True", "KubeletReady"), "its Lease is renewed");
    assert!(fake.spec.taints.is_empty());
    let used = cluster.kubelet().service_for("fake").unwrap().used(cluster.ambient().clock.now()).unwrap();
    assert_eq!(used.pods[0].containers[0].cpu_now, 250_000_000, "what it uses is counted");
    assert!(pods.get(&key("on-fake")).await.unwrap().is_ready());
    assert_ne!(ready(&nodes.get(&ObjectKey::cluster("foreign")).await.unwrap()).0, "True");
    cluster.shutdown().await;
}

fn stage(name: &str, spec: Value) -> Object {
    let stage =
        json!({"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name}, "spec": spec});
    Object::from_value(stage).unwrap()
}

/// Lets the cluster serve Stages.
async fn with_stages(client: &Client) -> Api<Object> {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "stages.kwok.x-k8s.io"},
        "spec": {
            "group": "kwok.x-k8s.io", "scope": "Cluster",
            "names": {"kind": "Stage", "listKind": "StageList", "plural": "stages", "singular": "stage"},
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    });
    let definitions = GroupVersionResource::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    Api::<Object>::dynamic(client, definitions).create(&Object::from_value(definition).unwrap()).await.unwrap();
    let stages = Api::<Object>::dynamic(client, GroupVersionResource::new("kwok.x-k8s.io", "v1alpha1", "stages"));
    until("Stages are served", async || stages.list(&ListParams::default()).await.is_ok()).await;
    stages
}

#[tokio::test(start_paused = true)]
async fn a_stage_of_the_api_is_played_for_any_kind() {
    let (cluster, client) = cluster(0, &[]).await;
    let maps = Api::<ConfigMap>::of(&client);
    let map = |name: &str, label: &str| -> ConfigMap {
        let labels = json!({"play": label});
        serde_json::from_value(json!({"metadata": {"name": name, "namespace": "default", "labels": labels}})).unwrap()
    };
    maps.create(&map("early", "yes")).await.unwrap();
    let stages = with_stages(&client).await;
    let spec = json!({
        "resourceRef": {"kind": "ConfigMap"},
        "selector": {
            "matchLabels": {"play": "yes"},
            "matchExpressions": [{"cel": {"expression": "!has(self.data) || !('done' in self.data)"}}],
        },
        "delay": {"durationMilliseconds": 5000},
        "steps": [
            {"event": {"type": "Normal", "reason": "Played", "message": "it was played"}},
            {"finalizers": {"add": [{"value": "example.com/a"}]}},
            {"apply": {"template":
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .metadata.name }}-copy\ndata:\n  from: {{ .metadata.uid | Quote }}\n"}},
            {"patch": {"root": "data", "template": "done: {{ Now | Quote }}", "type": "merge"}},
        ],
    });
    stages.create(&stage("play-map", spec.clone())).await.unwrap();
    until("it is played", async || maps.get(&key("early")).await.unwrap().data.contains_key("done")).await;
    let early = maps.get(&key("early")).await.unwrap();
    assert_eq!(early.metadata.finalizers, ["example.com/a"]);
    let copy = maps.get(&key("early-copy")).await.unwrap();
    assert_eq!(Some(&copy.data["from"]), early.metadata.uid.as_ref());
    let events = Api::<Event>::of(&client);
    until("an event reports it", async || {
        !events.list(&ListParams::fields("reason=Played")).await.unwrap().items.is_empty()
    })
    .await;

    maps.create(&map("other", "no")).await.unwrap();
    let begun = Instant::now();
    maps.create(&map("late", "yes")).await.unwrap();
    until("it is played, too", async || maps.get(&key("late")).await.unwrap().data.contains_key("done")).await;
    assert!((5..7).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    stages.delete(&ObjectKey::cluster("play-map"), &DeleteParams::default()).await.unwrap();
    maps.create(&map("too-late", "yes")).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    for name in ["other", "too-late"] {
        assert!(maps.get(&key(name)).await.unwrap().data.is_empty(), "{name} is left alone");
    }
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_invalid_stage_is_reported_with_its_place_and_the_others_run() {
    let (cluster, client) = cluster(1, &["fast"]).await;
    let stages = with_stages(&client).await;
    let spec = json!({
        "resourceRef": {"kind": "Pod"},
        "selector": {"matchExpressions": [{"key": ".status.phase |", "operator": "Exists"}]},
    });
    stages.create(&stage("bad", spec)).await.unwrap();
    let events = Api::<Event>::of(&client);
    let refused = ListParams::fields("reason=StageRefused");
    until("it is refused", async || !events.list(&refused).await.unwrap().items.is_empty()).await;
    let event = &events.list(&refused).await.unwrap().items[0];
    assert_eq!((event.involved_object.kind.as_str(), event.involved_object.name.as_str()), ("Stage", "bad"));
    assert_eq!(event.message, "spec.selector.matchExpressions[0].key: \".status.phase |\" is no jq");
    let pods = Api::<Pod>::of(&client);
    pods.create(&pod("web", json!({}), json!({}))).await.unwrap();
    until("it runs", async || pods.get(&key("web")).await.unwrap().is_ready()).await;
    cluster.shutdown().await;
}
