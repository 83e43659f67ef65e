//! How fast and how small a whole cluster is: `make bench`. Prints distributions; nothing here passes or fails.
//! `--pods N`, with `--nodes M`: what a Deployment of so many pods costs.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use coracle_ambient::Ambient;
use coracle_client::{Api, DeleteParams, ListParams, WatchParams};
use coracle_cluster::{Cluster, Delays, User};
use coracle_meta::{GroupVersionResource, Object, WatchEvent};
use coracle_sim::{ClockMode, run_in};
use serde_json::json;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value =
        |name: &str| arguments.iter().skip_while(|word| *word != name).nth(1).and_then(|text| text.parse().ok());
    if let Some(pods) = value("--pods") {
        return many_pods(pods, value("--nodes").unwrap_or(50));
    }
    println!("{:<58} {:>10} {:>10} {:>10}   n", "", "p50", "p99", "max");
    line("API ready in process", &ready_in_process(50));
    line("API ready as a process with TLS, from exec to its greeting", &ready_as_process(20));
    println!("{:<58} {:>10}", "resident memory of an idle `up` with two nodes", format!("{} MB", resident_megabytes()));
    line("pod deleted to replacement Running, real time, no delays", &replacement(200));
    line("a virtual hour of an idle three-pod cluster", &virtual_hours(10));
}

/// A Deployment of many pods, with everything in this process, from its creation until all of them run.
fn many_pods(count: usize, nodes: usize) {
    run_in(ClockMode::Real, async {
        let delays = Delays::zero();
        let cluster = Cluster::builder().nodes(nodes).ambient(Ambient::system()).pod_delays(delays).start();
        let cluster = cluster.await.expect("a cluster starts");
        let client = cluster.client_as(User::new("bench", ["system:masters"]));
        tokio::time::sleep(Duration::from_secs(2)).await;
        let before = cpu_and_memory();
        let start = now();
        let deployments = Api::dynamic(&client, GroupVersionResource::new("apps", "v1", "deployments")).within("default");
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": count, "selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "nginx:1.29"}]}}},
        });
        let deployment = Object::from_value(deployment).expect("an object");
        deployments.create(&deployment).await.expect("the deployment is created");
        let key = deployment.key();
        while deployments.get(&key).await.expect("it is read").number("status.readyReplicas") != Some(count as i64) {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (took, after) = (start.elapsed(), cpu_and_memory());
        println!(
            "{count} pods of a Deployment on {nodes} nodes: {:.1} s, {:.2} ms of CPU a pod, {} MB before, {} MB after",
            took.as_secs_f64(),
            (after.0 - before.0) / count as f64 * 1000.0,
            before.1 / 1024,
            after.1 / 1024
        );
        cluster.shutdown().await;
    })
    .expect("a runtime");
}

/// What this process has used so far: seconds of CPU, and kilobytes that are resident.
fn cpu_and_memory() -> (f64, u64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or("");
    let resident = resident.split_whitespace().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    // A tick is a hundredth of a second.
    ((ticks(11) + ticks(12)) / 100.0, resident)
}

fn line(name: &str, samples: &[Duration]) {
    let mut sorted = samples.to_vec();
    sorted.sort();
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize];
    let millis = |duration: Duration| format!("{:.2} ms", duration.as_secs_f64() * 1000.0);
    println!("{name:<58} {:>10} {:>10} {:>10}   {}", millis(at(0.5)), millis(at(0.99)), millis(at(1.0)), sorted.len());
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures on the machine's clock")]
fn now() -> Instant {
    Instant::now()
}

fn ready_in_process(times: usize) -> Vec<Duration> {
    let one = |_| {
        run_in(ClockMode::Real, async {
            let start = now();
            let cluster = Cluster::builder().api_server_only().start().await.expect("a cluster in memory starts");
            let took = start.elapsed();
            cluster.shutdown().await;
            took
        })
        .expect("a runtime")
    };
    (0..times).map(one).collect()
}

struct Up {
    child: Child,
    /// Held open: what it says after its greeting must not break a pipe.
    _out: BufReader<ChildStdout>,
    folder: PathBuf,
}

impl Up {
    fn start() -> (Self, Duration) {
        let folder = std::env::temp_dir().join(format!("coracle-bench-{}", std::process::id()));
        let start = now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_coracle"))
            .args(["up", "--ephemeral", "--state-dir"])
            .arg(&folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        let mut greeting = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        out.read_line(&mut greeting).expect("it greets");
        let took = start.elapsed();
        (Self { child, _out: out, folder }, took)
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn ready_as_process(times: usize) -> Vec<Duration> {
    (0..times).map(|_| Up::start().1).collect()
}

fn resident_megabytes() -> u64 {
    let (up, _) = Up::start();
    #[expect(clippy::disallowed_methods, reason = "another process comes to rest")]
    std::thread::sleep(Duration::from_secs(3));
    let status = std::fs::read_to_string(format!("/proc/{}/status", up.child.id())).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or("0");
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn pods(cluster: &Cluster) -> Api<Object> {
    let client = cluster.client_as(User::new("bench", ["system:masters"]));
    Api::dynamic(&client, GroupVersionResource::new("", "v1", "pods")).within("default")
}

async fn with_three_pods(ambient: Ambient, delays: Delays) -> (Cluster, Api<Object>) {
    let cluster =
        Cluster::builder().nodes(2).ambient(ambient).pod_delays(delays).start().await.expect("a cluster starts");
    let client = cluster.client_as(User::new("bench", ["system:masters"]));
    let sets = Api::dynamic(&client, GroupVersionResource::new("apps", "v1", "replicasets")).within("default");
    let set = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "nginx:1.29"}]}}},
    });
    sets.create(&Object::from_value(set).expect("an object")).await.expect("the set is created");
    let pods = pods(&cluster);
    while running(&pods).await.len() < 3 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    (cluster, pods)
}

async fn running(pods: &Api<Object>) -> Vec<Object> {
    let list = pods.list(&ListParams::default()).await.expect("pods are listed");
    let is_running = |pod: &Object| pod.text("status.phase") == "Running" && !pod.is_terminating();
    list.items.into_iter().filter(is_running).collect()
}

/// A watch sees the replacement come: lists that are asked for again and again would take the turns of what they wait for.
fn replacement(times: usize) -> Vec<Duration> {
    run_in(ClockMode::Real, async {
        let (cluster, pods) = with_three_pods(Ambient::system(), Delays::zero()).await;
        let mut samples = Vec::new();
        for _ in 0..times {
            let list = pods.list(&ListParams::default()).await.expect("pods are listed");
            let known: Vec<String> = list.items.iter().map(|pod| pod.name().to_owned()).collect();
            let resource_version = Some(list.metadata.resource_version);
            let since = WatchParams { resource_version, ..WatchParams::default() };
            let mut watch = pods.watch(&since).await.expect("pods are watched");
            let victim = &list.items[0];
            let is_new =
                |pod: &Object| pod.text("status.phase") == "Running" && !known.iter().any(|name| name == pod.name());
            let start = now();
            pods.delete(&victim.key(), &DeleteParams::default()).await.expect("the pod is deleted");
            let (mut is_back, mut is_gone) = (false, false);
            while !(is_back && is_gone) {
                match watch.next().await.expect("the watch goes on").expect("it goes on for minutes") {
                    WatchEvent::Modified(pod) if !is_back && is_new(&pod) => {
                        samples.push(start.elapsed());
                        is_back = true;
                    }
                    WatchEvent::Deleted(_) => is_gone = true,
                    _ => {}
                }
            }
        }
        cluster.shutdown().await;
        samples
    })
    .expect("a runtime")
}

fn virtual_hours(times: u64) -> Vec<Duration> {
    let one = |seed| {
        run_in(ClockMode::Virtual, async move {
            let (cluster, _) = with_three_pods(Ambient::seeded(seed), Delays::default()).await;
            let start = now();
            tokio::time::sleep(Duration::from_secs(3600)).await;
            let took = start.elapsed();
            cluster.shutdown().await;
            took
        })
        .expect("a runtime")
    };
    (0..times).map(one).collect()
}
