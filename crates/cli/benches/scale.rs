//! What many nodes and pods cost, everything in this process: `make bench`. Prints each figure beside its aim; nothing
//! here passes or fails. `--row NAME` does one row, `--nodes N --pods M` another size of it.
//!
//! ```text
//! main --a process of its own for each row--> running, costs, idle, deleted, hour
//! running, costs: pods by the stages `fast`; containers, costs-of-containers: by the whole machine of containers
//! costs: create and controllers | scheduler, binding, events | nodes, status: a phase after the other
//!        requests are metered where they are carried out, by the thread's clock, under what they are
//! ```

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::process::Command;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use coracle_ambient::Ambient;
use coracle_client::{Api, Client, ListParams};
use coracle_cluster::stages::read_stages;
use coracle_cluster::{Body, Builder, Cluster, Component, Delays, Requester, Transport, User};
use coracle_meta::{GroupVersionResource, Object};
use coracle_sim::{ClockMode, run_in};
use http::Request;
use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use tower::service_fn;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// KWOK's stages of pods that run as soon as they are bound.
const FAST: &str = "fast";
/// How many pods each ReplicaSet has at most.
const PODS_OF_A_SET: usize = 1000;
/// The rows that are measured if nothing is said, with their nodes and pods.
const ROWS: [(&str, usize, usize); 9] = [
    ("running", 1_000, 3_000),
    ("running", 1_000, 30_000),
    ("running", 5_000, 150_000),
    ("containers", 1_000, 30_000),
    ("costs", 1_000, 10_000),
    ("costs-of-containers", 1_000, 10_000),
    ("idle", 5_000, 0),
    ("deleted", 20, 1_000),
    ("hour", 100, 1_000),
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| arguments.iter().skip_while(|word| *word != name).nth(1);
    let number = |name: &str, usual: usize| value(name).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let Some(row) = value("--row") else { return all() };
    let usual = ROWS.iter().find(|(name, ..)| name == row).copied().unwrap_or(("", 10, 100));
    let (nodes, pods) = (number("--nodes", usual.1), number("--pods", usual.2));
    match row.as_str() {
        "running" => on_two_threads(running(nodes, pods, Some(FAST))),
        "containers" => on_two_threads(running(nodes, pods, None)),
        "costs" => run_in(ClockMode::Real, costs(nodes, pods, Some(FAST))).expect("a runtime"),
        "costs-of-containers" => run_in(ClockMode::Real, costs(nodes, pods, None)).expect("a runtime"),
        "idle" => on_two_threads(idle(nodes, number("--seconds", 60))),
        "deleted" => on_two_threads(deleted(nodes, pods)),
        "hour" => run_in(ClockMode::Virtual, hour(nodes, pods)).expect("a runtime"),
        other => println!("no row is called {other}: {}", ROWS.map(|(name, ..)| name).join(", ")),
    }
}

/// Each row in a process of its own, so that none has the memory of another.
fn all() {
    let program = std::env::current_exe().expect("it has a path");
    for (row, nodes, pods) in ROWS {
        let (nodes, pods) = (nodes.to_string(), pods.to_string());
        let mut command = Command::new(&program);
        let _ = command.args(["--row", row, "--nodes", &nodes, "--pods", &pods]).status();
    }
}

/// The cluster has two threads; whoever looks on has another.
fn on_two_threads(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(work);
}

/// So many pods on so many nodes, from the creation of their ReplicaSets until all are ready.
async fn running(nodes: usize, pods: usize, stages: Option<&str>) {
    let builder = Cluster::builder().nodes(nodes).ambient(Ambient::system()).pod_delays(Delays::zero());
    let cluster = played(builder, stages).start().await.expect("a cluster starts");
    let client = bench(&cluster);
    let start = now();
    until_registered(&client, nodes).await;
    println!("{nodes} nodes registered in {:.1} s", start.elapsed().as_secs_f64());
    let (start, before) = (now(), cpu());
    create_sets(&client, pods).await;
    until(Duration::from_millis(100), async || sum(&client, "status.readyReplicas").await == pods as i64).await;
    let (took, used) = (start.elapsed(), cpu() - before);
    let aim = if pods > 30_000 { "60 s, 3 GB" } else { "15 s, 1 GB" };
    println!(
        "{pods} pods on {nodes} nodes, all ready: {:.1} s, {:.2} ms of CPU a pod, {} MB now, {} MB at most (aim: {aim}, 0.8 ms)",
        took.as_secs_f64(),
        used.as_secs_f64() * 1000.0 / pods as f64,
        memory("VmRSS") / 1024,
        memory("VmHWM") / 1024,
    );
    // The memory is the system's to take back.
    std::process::exit(0);
}

/// What each part costs a pod: one part after the other, on one thread.
async fn costs(nodes: usize, pods: usize, stages: Option<&str>) {
    let meters = Meters::default();
    let layer = {
        let meters = meters.clone();
        Arc::new(move |_: &Requester, transport| meters.over(transport))
    };
    let builder = Cluster::builder().nodes(nodes).ambient(Ambient::system()).pod_delays(Delays::zero());
    let cluster = played(builder, stages).transport_layer(layer).start().await.expect("a cluster starts");
    let client = bench(&cluster);
    until_registered(&client, nodes).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    for component in [Component::Scheduler, Component::Kubelet] {
        cluster.stop_component(component).await;
    }
    meters.reset();
    let mut last = cpu();
    let mut phase = |what: &str| {
        let used = cpu() - last;
        last += used;
        println!("  {what:<58} {:>7.0} us a pod", micros(used, pods));
        used
    };
    create_sets(&client, pods).await;
    until(Duration::from_millis(100), async || sum(&client, "status.replicas").await == pods as i64).await;
    println!("{pods} pods on {nodes} nodes, one part after the other on one thread:");
    let made = phase("ReplicaSets create their pods, altogether");
    cluster.start_component(Component::Scheduler);
    until(Duration::from_millis(200), async || meters.count("bind") >= pods).await;
    let bound = phase("the scheduler binds them, altogether");
    cluster.start_component(Component::Kubelet);
    until(Duration::from_millis(100), async || sum(&client, "status.readyReplicas").await == pods as i64).await;
    let ran = phase("their nodes run them, altogether");
    for (name, aim) in [("create", 230), ("bind", 100), ("status", 150), ("event", 40)] {
        let (count, took) = meters.of(name);
        let each = if count == 0 { 0.0 } else { took.as_secs_f64() * 1e6 / count as f64 };
        let per_pod = count as f64 / pods as f64;
        println!(
            "  {name:<10} {:>7.0} us a pod (aim {aim}): {per_pod:.2} requests of {each:.0} us",
            micros(took, pods)
        );
    }
    let spent = |names: &[&str]| names.iter().map(|name| meters.of(name).1).sum::<Duration>();
    let created = made.saturating_sub(spent(&["create"]));
    println!(
        "  {:<10} {:>7.0} us a pod (aim 130): what creating took beside the requests",
        "controllers",
        micros(created, pods)
    );
    let scheduled = bound.saturating_sub(spent(&["bind"]));
    println!(
        "  {:<10} {:>7.0} us a pod (aim 150): what binding took beside bindings, events included",
        "scheduling",
        micros(scheduled, pods)
    );
    let lived = ran.saturating_sub(spent(&["status"]));
    println!(
        "  {:<10} {:>7.0} us a pod: what running took beside status, the ReplicaSets' part and events included",
        "nodes",
        micros(lived, pods)
    );
    std::process::exit(0);
}

/// What nodes cost that have no pods.
async fn idle(nodes: usize, seconds: usize) {
    let before = memory("VmRSS");
    let cluster = Cluster::builder().nodes(nodes).ambient(Ambient::system()).start().await.expect("a cluster starts");
    let client = bench(&cluster);
    until_registered(&client, nodes).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let start = cpu();
    tokio::time::sleep(Duration::from_secs(seconds as u64)).await;
    let used = cpu() - start;
    println!(
        "{nodes} idle nodes over {seconds} s: {:.1} % of a core, {} KB a node (aim: 10 %, 80 KB)",
        used.as_secs_f64() * 100.0 / seconds as f64,
        (memory("VmRSS") - before) / nodes as u64,
    );
    std::process::exit(0);
}

/// How long pods take to go that are deleted at once.
async fn deleted(nodes: usize, pods: usize) {
    let cluster = Cluster::builder().nodes(nodes).ambient(Ambient::system()).pod_delays(Delays::zero()).start();
    let cluster = cluster.await.expect("a cluster starts");
    let client = bench(&cluster);
    until_registered(&client, nodes).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let api = api(&client, "", "pods");
    for number in 0..pods {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("p-{number}"), "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "nginx:1.29"}]}});
        api.create(&Object::from_value(pod).expect("an object")).await.expect("the pod is created");
    }
    let list = async || api.list(&ListParams::default()).await.expect("pods are listed").items;
    let is_running = |pod: &Object| pod.text("status.phase") == "Running";
    until(Duration::from_millis(50), async || list().await.iter().all(is_running)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let start = now();
    let all = list().await;
    let deleted = all.iter().map(|pod| async {
        let key = pod.key();
        api.delete(&key, &Default::default()).await.expect("the pod is deleted");
    });
    futures_util::future::join_all(deleted).await;
    until(Duration::from_millis(5), async || list().await.is_empty()).await;
    println!("{pods} pods deleted at once are gone in {:.2} s (aim: 1 s)", start.elapsed().as_secs_f64());
    std::process::exit(0);
}

/// How long an hour of virtual time takes.
async fn hour(nodes: usize, pods: usize) {
    let cluster = Cluster::builder().nodes(nodes).seed(1).start().await.expect("a cluster starts");
    let client = bench(&cluster);
    until_registered(&client, nodes).await;
    create_sets(&client, pods).await;
    until(Duration::from_millis(500), async || sum(&client, "status.readyReplicas").await == pods as i64).await;
    let start = now();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let took = start.elapsed().as_secs_f64();
    println!("a virtual hour of {nodes} nodes and {pods} pods: {took:.2} s (aim: 5 s)");
    cluster.shutdown().await;
}

/// With pods that live by such stages, or else by their containers.
fn played(builder: Builder, stages: Option<&str>) -> Builder {
    match stages {
        Some(name) => builder.stages(read_stages(name).expect("they are shipped")),
        None => builder,
    }
}

fn bench(cluster: &Cluster) -> Client {
    cluster.client_as(User::new("bench", ["system:masters"]))
}

fn api(client: &Client, group: &str, plural: &str) -> Api<Object> {
    Api::dynamic(client, GroupVersionResource::new(group, "v1", plural)).within("default")
}

async fn create_sets(client: &Client, pods: usize) {
    let sets = api(client, "apps", "replicasets");
    for number in 0..pods.div_ceil(PODS_OF_A_SET) {
        let app = format!("web-{number}");
        let replicas = (pods - number * PODS_OF_A_SET).min(PODS_OF_A_SET);
        let set = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": app, "namespace": "default"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": app}}, "template": {
                "metadata": {"labels": {"app": app, "tier": "front"}},
                "spec": {"containers": [{"name": "web", "image": "nginx:1.29"}]}}},
        });
        let set = Object::from_value(set).expect("an object");
        // A namespace takes pods once it has its service account.
        sets.create(&set).await.expect("the set is created");
    }
}

/// What a field of all ReplicaSets comes to.
async fn sum(client: &Client, field: &str) -> i64 {
    let sets = api(client, "apps", "replicasets").list(&ListParams::default()).await.expect("sets are listed");
    sets.items.iter().filter_map(|set| set.number(field)).sum()
}

async fn until_registered(client: &Client, nodes: usize) {
    let api = Api::<Object>::dynamic(client, GroupVersionResource::new("", "v1", "nodes"));
    let is_taken = |node: &Object| node.field("spec.taints").is_none();
    let all = async || api.list(&ListParams::default()).await.expect("nodes are listed").items;
    until(Duration::from_millis(200), async || all().await.iter().filter(|node| is_taken(node)).count() == nodes).await;
}

async fn until(pause: Duration, is_so: impl AsyncFn() -> bool) {
    while !is_so().await {
        tokio::time::sleep(pause).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures on the machine's clock")]
fn now() -> Instant {
    Instant::now()
}

fn micros(time: Duration, pods: usize) -> f64 {
    time.as_secs_f64() * 1e6 / pods as f64
}

/// What this process has used of the processors so far, to a hundredth of a second. The clock would be finer, but its
/// call does not work under valgrind, which finds where the time goes.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program is in parentheses and may have spaces. User and system time are fields 14 and 15 of all.
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = after_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

fn clock(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// A line of this process's status, in kilobytes.
fn memory(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find(|text| text.starts_with(line)).unwrap_or_default();
    found.split_whitespace().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// How often requests of a sort were made, and what carrying them out took.
#[derive(Clone, Default)]
struct Meters {
    found: Arc<Mutex<BTreeMap<&'static str, (usize, Duration)>>>,
}

impl Meters {
    fn over(&self, transport: Transport) -> Transport {
        let meters = self.clone();
        Transport::to(service_fn(move |request: Request<Body>| {
            let sort = sort_of(&request);
            let answer = Box::pin(transport.send(request));
            Metered { answer, sort, took: Duration::ZERO, meters: meters.clone() }
        }))
    }

    fn of(&self, sort: &str) -> (usize, Duration) {
        self.found.lock().get(sort).copied().unwrap_or_default()
    }

    fn count(&self, sort: &str) -> usize {
        self.of(sort).0
    }

    fn reset(&self) {
        self.found.lock().clear();
    }
}

/// What a request is, by its method and path.
fn sort_of(request: &Request<Body>) -> &'static str {
    let path = request.uri().path();
    match (request.method().as_str(), path.rsplit('/').next().unwrap_or_default()) {
        ("POST", "pods") => "create",
        ("POST", "binding") => "bind",
        ("PATCH" | "PUT", "status") if path.contains("/pods/") => "status",
        ("POST" | "PATCH", _) if path.contains("/events") => "event",
        _ => "other",
    }
}

/// A request that is carried out, on the thread's clock.
struct Metered<F> {
    answer: Pin<Box<F>>,
    sort: &'static str,
    took: Duration,
    meters: Meters,
}

impl<F: Future> Future for Metered<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let before = clock(ClockId::ThreadCPUTime);
        let polled = self.answer.as_mut().poll(context);
        self.took += clock(ClockId::ThreadCPUTime).saturating_sub(before);
        if polled.is_ready() {
            let mut found = self.meters.found.lock();
            let (count, took) = found.entry(self.sort).or_default();
            *count += 1;
            *took += self.took;
        }
        polled
    }
}
