//! Simulated nodes that share what they read and write each as itself, in virtual time.

use std::sync::Arc;
use std::time::Duration;

use coracle_api::coordination_v1::Lease;
use coracle_api::core_v1::{Event, Node, Pod};
use coracle_client::{Api, Client, ListParams, Patch};
use coracle_cluster::{Body, Cluster, Delays, Kubelet, NodeSpec, Requester, SavedNodes, Transport};
use coracle_journal::{Entry, EntryId, Recorder, Stage};
use coracle_meta::{ObjectKey, Resource};
use coracle_registry::User;
use http::Request;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tower::service_fn;

fn client(cluster: &Cluster) -> Client {
    cluster.client_as(User::new("ann", ["system:masters"]))
}

/// Waits until something is so, for at most so long.
async fn until(what: &str, within: Duration, is_so: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + within;
    while !is_so().await {
        assert!(Instant::now() < deadline, "not within {within:?}: {what}");
        sleep(Duration::from_millis(100)).await;
    }
}

const SOON: Duration = Duration::from_secs(30);

async fn ready_nodes(client: &Client) -> usize {
    let nodes = Api::<Node>::of(client).list(&ListParams::default()).await.unwrap().items;
    let is_ready = |node: &&Node| node.condition("Ready").is_some_and(|ready| ready.status == "True");
    nodes.iter().filter(is_ready).count()
}

/// A pod on a node of the caller's choice, with no scheduler between.
async fn pod_on(client: &Client, node: &str, name: &str) -> ObjectKey {
    let pod = json!({"metadata": {"name": name, "namespace": "default"}, "spec": {
        "nodeName": node, "terminationGracePeriodSeconds": 1, "containers": [{"name": "c", "image": "web:1"}],
    }});
    let pods = Api::<Pod>::of(client);
    let pod: Pod = serde_json::from_value(pod).unwrap();
    until("the namespace takes pods", SOON, async || pods.create(&pod).await.is_ok()).await;
    let key = ObjectKey::new("default", name);
    until("the pod is ready", SOON, async || pods.get(&key).await.unwrap().is_ready()).await;
    key
}

async fn annotate(client: &Client, node: &str, name: &str, value: Value) {
    let patch = Patch::Merge(json!({"metadata": {"annotations": {name: value}}}));
    Api::<Node>::of(client).patch(&ObjectKey::cluster(node), &patch).await.unwrap();
}

async fn events(client: &Client, reason: &str) -> Vec<Event> {
    Api::<Event>::of(client).list(&ListParams::fields(format!("reason={reason}"))).await.unwrap().items
}

async fn renewed(client: &Client, node: &str) -> Option<String> {
    Api::<Lease>::of(client).get(&ObjectKey::new("kube-node-lease", node)).await.unwrap().spec.renew_time
}

async fn restarts(client: &Client, pod: &ObjectKey) -> i32 {
    Api::<Pod>::of(client).get(pod).await.unwrap().status.container_statuses[0].restart_count
}

fn requests(recorder: &Recorder, is_meant: impl Fn(&str, &str) -> bool) -> Vec<Entry> {
    let word = |entry: &Entry, name: &str| entry.data.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let asked = recorder.entries(EntryId(0)).into_iter().filter(|entry| entry.stage == Stage::ApiRequest);
    asked.filter(|entry| is_meant(&word(entry, "user"), &word(entry, "verb"))).collect()
}

#[tokio::test(start_paused = true)]
async fn many_nodes_read_through_two_watches_and_write_each_as_itself() {
    let recorder = Recorder::ring(200_000);
    let cluster = Cluster::builder().nodes(30).recorder(recorder.clone()).start().await.unwrap();
    let ann = client(&cluster);
    until("all nodes are ready", SOON, async || ready_nodes(&ann).await == 30).await;
    pod_on(&ann, "node-7", "web").await;
    sleep(Duration::from_secs(60)).await;
    let reads = requests(&recorder, |user, verb| user == "system:coracle:simulated-nodes" && verb == "watch");
    assert_eq!(reads.len(), 2, "{reads:?}");
    let own_reads =
        requests(&recorder, |user, verb| user.starts_with("system:node:") && ["watch", "list"].contains(&verb));
    assert!(own_reads.is_empty(), "{own_reads:?}");
    let of_shared = requests(&recorder, |user, verb| user == "system:coracle:simulated-nodes" && verb != "watch");
    assert!(of_shared.iter().all(|entry| entry.data["verb"] == "list"), "it writes nothing: {of_shared:?}");
    let writes = requests(&recorder, |user, verb| user == "system:node:node-7" && verb == "patch");
    assert!(writes.iter().any(|entry| entry.subject.contains("pods/default/web")), "{writes:?}");
}

#[tokio::test(start_paused = true)]
async fn renewing_a_lease_is_one_put_and_an_idle_node_does_nothing_else() {
    let recorder = Recorder::ring(200_000);
    let cluster = Cluster::builder().nodes(3).recorder(recorder.clone()).start().await.unwrap();
    let ann = client(&cluster);
    until("all nodes are ready", SOON, async || ready_nodes(&ann).await == 3).await;
    sleep(Duration::from_secs(30)).await;
    let before = requests(&recorder, |user, _| user == "system:node:node-2").len();
    sleep(Duration::from_secs(100)).await;
    let all = requests(&recorder, |user, _| user == "system:node:node-2");
    let new: Vec<_> = all[before..].iter().map(|entry| entry.data["verb"].as_str().unwrap().to_owned()).collect();
    assert_eq!(new, vec!["update"; 10]);
}

#[tokio::test(start_paused = true)]
async fn a_node_with_informers_of_its_own_is_alone_behind_its_late_watches() {
    let late = |requester: &Requester, transport: Transport| match &*requester.name {
        "kubelet/node-2" => Transport::to(service_fn(move |request: Request<_>| {
            let transport = transport.clone();
            async move {
                if request.uri().query().is_some_and(|query| query.contains("watch=")) {
                    sleep(Duration::from_secs(20)).await;
                }
                transport.send(request).await
            }
        })),
        _ => transport,
    };
    let specs = vec![NodeSpec::new("node-1"), NodeSpec::new("node-2").with_own_informers()];
    let builder = Cluster::builder().node_specs(specs).pod_delays(Delays::zero()).transport_layer(Arc::new(late));
    let cluster = builder.start().await.unwrap();
    let ann = client(&cluster);
    until("both nodes are ready", SOON * 2, async || ready_nodes(&ann).await == 2).await;
    let began = Instant::now();
    pod_on(&ann, "node-1", "soon").await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let late = pod_on(&ann, "node-2", "late").await;
    let pod = Api::<Pod>::of(&ann).get(&late).await.unwrap();
    assert_eq!(pod.spec.node_name, "node-2");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_stopped_falls_silent_and_finds_its_pods_again() {
    let cluster = Cluster::builder().nodes(2).start().await.unwrap();
    let ann = client(&cluster);
    let web = pod_on(&ann, "node-1", "web").await;
    annotate(&ann, "node-1", "coracle.dev/kubelet", json!("stopped")).await;
    sleep(Duration::from_secs(1)).await;
    let silent = renewed(&ann, "node-1").await;
    sleep(Duration::from_secs(25)).await;
    assert_eq!(renewed(&ann, "node-1").await, silent);
    annotate(&ann, "node-1", "coracle.dev/kubelet", Value::Null).await;
    until("it says that it is alive", SOON, async || renewed(&ann, "node-1").await != silent).await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!(restarts(&ann, &web).await, 0);
    assert!(events(&ann, "Rebooted").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_node_restarts_its_pods_after_a_power_loss_and_reports_a_reboot() {
    let cluster = Cluster::builder().nodes(2).start().await.unwrap();
    let ann = client(&cluster);
    let web = pod_on(&ann, "node-1", "web").await;
    let pods = Api::<Pod>::of(&ann);
    let before = pods.get(&web).await.unwrap().status.pod_ip;
    annotate(&ann, "node-1", "coracle.dev/power", json!("off")).await;
    sleep(Duration::from_secs(10)).await;
    annotate(&ann, "node-1", "coracle.dev/power", json!("on")).await;
    until("its container was started again", SOON, async || restarts(&ann, &web).await == 1).await;
    until("the pod is ready", SOON, async || pods.get(&web).await.unwrap().is_ready()).await;
    let status = pods.get(&web).await.unwrap().status;
    let ended = status.container_statuses[0].last_state.terminated.as_ref().unwrap();
    assert_eq!((ended.exit_code, ended.reason.as_str()), (255, "Unknown"));
    assert_ne!(status.pod_ip, before, "the sandbox is another");
    until("it says so", SOON, async || events(&ann, "Rebooted").await.len() == 1).await;
    assert!(events(&ann, "Rebooted").await[0].message.starts_with("Node node-1 has been rebooted, boot id: "));
}

#[tokio::test(start_paused = true)]
async fn a_partitioned_node_continues_and_catches_up_when_it_reconnects() {
    let cluster = Cluster::builder().nodes(2).start().await.unwrap();
    let ann = client(&cluster);
    let web = pod_on(&ann, "node-1", "web").await;
    let other = pod_on(&ann, "node-2", "other").await;
    annotate(&ann, "node-1", "coracle.dev/partition", json!("true")).await;
    sleep(Duration::from_secs(1)).await;
    let silent = renewed(&ann, "node-1").await;
    let pods = Api::<Pod>::of(&ann);
    pods.delete(&web, &Default::default()).await.unwrap();
    pods.delete(&other, &Default::default()).await.unwrap();
    sleep(Duration::from_secs(20)).await;
    assert!(pods.find(&other).await.unwrap().is_none());
    assert!(pods.get(&web).await.unwrap().is_terminating(), "its node does not know that it shall stop");
    assert_eq!(renewed(&ann, "node-1").await, silent);
    assert!(cluster.kubelet().service_for("node-1").is_none());
    annotate(&ann, "node-1", "coracle.dev/partition", json!("false")).await;
    until("the pod is gone", SOON, async || pods.find(&web).await.unwrap().is_none()).await;
    assert_ne!(renewed(&ann, "node-1").await, silent);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_power_state_is_reported_on_the_node_and_changes_nothing() {
    let cluster = Cluster::builder().nodes(1).start().await.unwrap();
    let ann = client(&cluster);
    until("the node is ready", SOON, async || ready_nodes(&ann).await == 1).await;
    annotate(&ann, "node-1", "coracle.dev/power", json!("of")).await;
    until("an event reports it", SOON, async || !events(&ann, "InvalidAnnotation").await.is_empty()).await;
    let told = events(&ann, "InvalidAnnotation").await;
    assert_eq!((told.len(), told[0].type_.as_str()), (1, "Warning"));
    assert!(told[0].message.contains("coracle.dev/power: want \"on\" or \"off\", not \"of\""), "{}", told[0].message);
    let before = renewed(&ann, "node-1").await;
    sleep(Duration::from_secs(15)).await;
    assert_ne!(renewed(&ann, "node-1").await, before, "it goes on");
}

#[tokio::test(start_paused = true)]
async fn a_created_simulated_node_runs_until_it_is_deleted() {
    let cluster = Cluster::builder().nodes(1).start().await.unwrap();
    let ann = client(&cluster);
    let nodes = Api::<Node>::of(&ann);
    for (name, annotation, value) in
        [("mine", "coracle.dev/simulated", "true"), ("kwok", "kwok.x-k8s.io/node", "fake"), ("real", "a.b/c", "x")]
    {
        let node = json!({"metadata": {"name": name, "annotations": {annotation: value}},
            "status": {"capacity": {"cpu": "2", "memory": "1Gi", "pods": "3"}}});
        nodes.create(&serde_json::from_value(node).unwrap()).await.unwrap();
    }
    until("two of them are ready", SOON, async || ready_nodes(&ann).await == 3).await;
    let mine = nodes.get(&ObjectKey::cluster("mine")).await.unwrap();
    assert_eq!(mine.status.capacity["cpu"].to_string(), "2");
    assert_eq!(mine.metadata.labels["kubernetes.io/hostname"], "mine");
    assert!(!mine.status.node_info.kubelet_version.is_empty());
    let web = pod_on(&ann, "mine", "web").await;
    assert_eq!(Api::<Pod>::of(&ann).get(&web).await.unwrap().spec.node_name, "mine");
    nodes.delete(&ObjectKey::cluster("mine"), &Default::default()).await.unwrap();
    until("it is none of ours", SOON, async || !cluster.kubelet().nodes().contains(&"mine".to_owned())).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_object_is_deleted_registers_when_it_is_started_again_and_not_before() {
    let cluster = Cluster::builder().nodes(1).start().await.unwrap();
    let ann = client(&cluster);
    until("the node is ready", SOON, async || ready_nodes(&ann).await == 1).await;
    let (nodes, key) = (Api::<Node>::of(&ann), ObjectKey::cluster("node-1"));
    nodes.delete(&key, &Default::default()).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    assert!(nodes.find(&key).await.unwrap().is_none());
    assert!(cluster.kubelet().stop_node("node-1") && cluster.kubelet().start_node("node-1"));
    until("it has registered", SOON, async || ready_nodes(&ann).await == 1).await;
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_log_with_many_nodes() {
    let log = async || {
        let recorder = Recorder::ring(500_000);
        let cluster = Cluster::builder().nodes(10).seed(7).recorder(recorder.clone()).start().await.unwrap();
        let ann = client(&cluster);
        for number in 1..=10 {
            pod_on(&ann, &format!("node-{number}"), &format!("web-{number}")).await;
        }
        annotate(&ann, "node-3", "coracle.dev/power", json!("off")).await;
        sleep(Duration::from_secs(90)).await;
        let entries = recorder.entries(EntryId(0));
        cluster.shutdown().await;
        entries.iter().map(|entry| format!("{entry:?}")).collect::<Vec<_>>()
    };
    let (first, second) = (Mutex::new(log().await), log().await);
    let first = first.into_inner();
    let differs = first.iter().zip(&second).position(|(one, other)| one != other);
    assert_eq!(differs.map(|at| (&first[at], &second[at])), None);
    assert_eq!(first.len(), second.len());
}

/// A process that simulates one node, which goes on where another was.
fn process_of_a_node(cluster: &Cluster, saved: Option<SavedNodes>) -> (Kubelet, tokio::task::JoinHandle<()>) {
    let config = coracle_cluster::kubelet::Config { nodes: vec![NodeSpec::new("node-1")], ..Default::default() };
    let kubelet = Kubelet::new(config, client(cluster), cluster.ambient().clone(), Recorder::off());
    saved.into_iter().for_each(|saved| kubelet.restore(saved));
    let running = kubelet.clone();
    (kubelet, tokio::spawn(async move { running.run(std::future::pending()).await }))
}

async fn log_of(kubelet: &Kubelet, path: &str) -> String {
    let mut node = kubelet.service_for("node-1").unwrap();
    let request = Request::get(format!("http://node-1/containerLogs/default/{path}"))
        .body(Body::new(http_body_util::Empty::<bytes::Bytes>::new()))
        .unwrap();
    let answer = tower::Service::call(&mut node, request).await.unwrap();
    let bytes = http_body_util::BodyExt::collect(answer.into_body()).await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_pods_of_a_saved_node_continue_in_another_process() {
    let cluster = Cluster::builder().nodes(0).start().await.unwrap();
    let ann = client(&cluster);
    let (kubelet, task) = process_of_a_node(&cluster, None);
    let web = pod_on(&ann, "node-1", "web").await;
    let crashing: Pod = serde_json::from_value(json!({
        "metadata": {"name": "crashing", "namespace": "default"},
        "spec": {"nodeName": "node-1", "containers": [
            {"name": "c", "image": "busybox", "command": ["sh", "-c", "echo here; sleep 1; exit 3"]},
        ]},
    }))
    .unwrap();
    let (pods, crashing) = (Api::<Pod>::of(&ann), Api::<Pod>::of(&ann).create(&crashing).await.unwrap().key());
    until("it has begun", SOON, async || !pods.get(&crashing).await.unwrap().status.container_statuses.is_empty())
        .await;
    until("it was started three times again", Duration::from_secs(200), async || restarts(&ann, &crashing).await == 3)
        .await;
    sleep(Duration::from_secs(2)).await;
    let of = async |key: &ObjectKey| pods.get(key).await.unwrap().status;
    let (before, crashed) = (of(&web).await, of(&crashing).await);
    assert_eq!(crashed.container_statuses[0].state.waiting.as_ref().unwrap().reason, "CrashLoopBackOff");
    let said = log_of(&kubelet, "crashing/c").await;
    assert_eq!(said, "here\n");
    task.abort();
    let _ = task.await;
    let saved = SavedNodes::read(&kubelet.save().to_bytes()).unwrap();
    let began = Instant::now();
    let (kubelet, _task) = process_of_a_node(&cluster, Some(saved));
    until("the node speaks again", SOON, async || kubelet.service_for("node-1").is_some()).await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!((of(&web).await, of(&crashing).await), (before, crashed), "nothing has happened to them");
    assert_eq!(log_of(&kubelet, "crashing/c").await, said);
    until("its back-off ends", Duration::from_secs(40), async || restarts(&ann, &crashing).await == 4).await;
    assert!(began.elapsed() > Duration::from_secs(30), "it has waited for its 40 s: {:?}", began.elapsed());
    assert!(events(&ann, "Rebooted").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_was_saved_without_power_stays_so_and_one_of_which_nothing_was_has_addresses_of_its_own() {
    let one = Cluster::builder().nodes(2).start().await.unwrap();
    until("both are there", SOON, async || ready_nodes(&client(&one)).await == 2).await;
    assert!(one.kubelet().kill_node("node-2"));
    let saved = one.kubelet().save();
    let other = Cluster::builder().nodes(3).saved_nodes(saved.clone()).start().await.unwrap();
    let ann = client(&other);
    until("two are there", SOON, async || ready_nodes(&ann).await == 2).await;
    assert!(!other.kubelet().acts("node-2") && other.kubelet().acts("node-3"));
    other.kubelet().start_node("node-2");
    until("all are there", SOON, async || ready_nodes(&ann).await == 3).await;
    let nodes = Api::<Node>::of(&ann).list(&ListParams::default()).await.unwrap().items;
    let addresses: std::collections::BTreeSet<_> =
        nodes.iter().map(|node| node.status.addresses[0].address.clone()).collect();
    assert_eq!(addresses.len(), 3, "{addresses:?}");
    let machines = SavedNodes::read(&other.kubelet().save().to_bytes()).unwrap();
    assert_eq!(machines.names().count(), 3);
    let boot = |of: &str| {
        nodes.iter().find(|node| node.metadata.name.as_deref() == Some(of)).unwrap().status.node_info.boot_id.clone()
    };
    assert_ne!(boot("node-2"), boot("node-1"));
}
