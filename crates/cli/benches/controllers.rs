//! What the controllers cost: `cargo bench -p coracle-cli --bench controllers`. Prints figures; nothing here passes or
//! fails.
//!
//! ```text
//! thread "controllers": the controller-manager --its requests--> main thread: API server, scheduler, kubelets
//! ```
//! All is one process, and objects are handed over as in `coracle up`. What the thread takes of CPU is the controllers',
//! with their queues, caches and clients, and with what reading a watch takes; a request is carried out on the main thread.
//! `--pods N` does one round, with `--nodes M`; `--memory N` measures the memory of so many pods alone.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use coracle_ambient::Ambient;
use coracle_client::{Api, Client, DeleteParams, ListParams, Propagation};
use coracle_cluster::{Body, BoxError, Cluster, Component, Delays, NodeSpec, Transport, TransportLayer, User};
use coracle_meta::{GroupVersionResource, Object};
use coracle_sim::{ClockMode, run_in};
use futures_util::future::join_all;
use http::Request;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

#[path = "controllers/readings.rs"]
mod readings;

use readings::{Readings, Work};

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The thread of the controller-manager.
const THREAD: &str = "controllers";
/// How many pods a node takes.
const PODS_A_NODE: usize = 1_000;
/// Nothing happens any more when no key was worked on for so long.
const QUIET: Duration = Duration::from_secs(2);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value =
        |name: &str| arguments.iter().skip_while(|word| *word != name).nth(1).and_then(|text| text.parse().ok());
    let nodes = value("--nodes");
    if let Some(pods) = value("--memory") {
        return memory(pods, nodes);
    }
    if let Some(pods) = value("--pods") {
        return round(pods, nodes);
    }
    for pods in [100, 10_000, 30_000] {
        round(pods, nodes);
    }
    let program = std::env::current_exe().expect("this program has a path");
    let child = Command::new(program).args(["--memory", "30000"]).status();
    assert!(child.is_ok_and(|status| status.success()), "the memory is measured in a process of its own");
}

/// A Deployment of so many pods, from its creation until all run and nobody has anything to do, and its deletion.
fn round(count: usize, nodes: Option<usize>) {
    in_cluster(count, nodes, async |cluster, readings| {
        let manager = Manager::start(&cluster);
        let client = cluster.client_as(User::new("bench", ["system:masters"]));
        quiet(&readings).await;
        let (start, before) = (now(), readings.take(THREAD));
        let deployments = api(&client, "apps", "deployments");
        let deployment = Object::from_value(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": count, "selector": {"matchLabels": {"app": "web"}}, "template": template()},
        }));
        let deployment = deployment.expect("an object");
        deployments.create(&deployment).await.expect("the deployment is created");
        let key = deployment.key();
        while deployments.get(&key).await.expect("it is read").number("status.readyReplicas") != Some(count as i64) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let took = start.elapsed();
        quiet(&readings).await;
        let running = readings.take(THREAD);
        let work = running.since(&before);
        println!(
            "{count} pods of a Deployment: ready after {:.1} s, controllers {:.0} us of CPU a pod",
            took.as_secs_f64(),
            work.cpu.as_secs_f64() / count as f64 * 1e6
        );
        table(&work, count);
        let start = now();
        let background = DeleteParams::propagating(Propagation::Background);
        deployments.delete(&key, &background).await.expect("the deployment is deleted");
        let pods = api(&client, "", "pods");
        let one = ListParams { limit: 1, ..ListParams::default() };
        while !pods.list(&one).await.expect("pods are listed").items.is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let gone = start.elapsed();
        let last = quiet(&readings).await;
        let work = readings.take(THREAD).since(&running);
        println!(
            "{count} pods of a Deployment deleted: gone after {:.1} s, quiet after {:.1} s, controllers {:.0} us of CPU a pod",
            gone.as_secs_f64(),
            last.duration_since(start).max(gone).as_secs_f64(),
            work.cpu.as_secs_f64() / count as f64 * 1e6
        );
        table(&work, count);
        manager.stop();
    });
}

/// What controllers keep of pods that others in the process have decoded: what they add when they are started beside a
/// scheduler.
fn memory(count: usize, nodes: Option<usize>) {
    in_cluster(count, nodes, async |cluster, readings| {
        let client = cluster.client_as(User::new("bench", ["system:masters"]));
        let mut set = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": count, "selector": {"matchLabels": {"app": "web"}}, "template": template()},
        });
        // Nodes are fit for pods, and namespaces have accounts, once controllers have looked at them.
        let manager = Manager::start(&cluster);
        quiet(&readings).await;
        manager.stop();
        let sets = api(&client, "apps", "replicasets");
        let created =
            sets.create(&Object::from_value(set.take()).expect("an object")).await.expect("the set is created");
        let pods = api(&client, "", "pods");
        let mut pod = template();
        pod["apiVersion"] = json!("v1");
        pod["kind"] = json!("Pod");
        pod["metadata"]["generateName"] = json!("web-");
        pod["metadata"]["namespace"] = json!("default");
        pod["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": created.text("metadata.uid"),
            "controller": true, "blockOwnerDeletion": true,
        }]);
        let pod = Object::from_value(pod).expect("an object");
        for _ in 0..count.div_ceil(100) {
            for made in join_all((0..100).map(|_| pods.create(&pod))).await {
                made.expect("a pod is created");
            }
        }
        let selector = ListParams { limit: 1, fields: "status.phase!=Running".to_owned(), ..ListParams::default() };
        while !pods.list(&selector).await.expect("pods are listed").items.is_empty() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        tokio::time::sleep(QUIET).await;
        let before = resident();
        let manager = Manager::start(&cluster);
        quiet(&readings).await;
        let after = resident();
        println!(
            "{count} running pods of a ReplicaSet: {:.0} MB without controllers, {:.0} MB with them, {:.0} bytes a pod",
            before / 1e6,
            after / 1e6,
            (after - before) / count as f64
        );
        manager.stop();
    });
}

/// Runs something in a cluster on which no controllers run yet.
fn in_cluster(count: usize, nodes: Option<usize>, what: impl AsyncFnOnce(Arc<Cluster>, Readings)) {
    run_in(ClockMode::Real, async {
        let config = coracle_cluster::controllers::Config::default();
        let readings = Readings::of(&config.metrics);
        let nodes = nodes.unwrap_or(count.div_ceil(PODS_A_NODE).max(10));
        let node = |number| {
            NodeSpec::new(format!("node-{number}"))
                .with_capacity("pods", &PODS_A_NODE.to_string())
                .with_capacity("cpu", "64")
        };
        let cluster = Cluster::builder()
            .ambient(Ambient::system())
            .node_specs((1..=nodes).map(node).collect())
            .pod_delays(Delays::zero())
            .controllers(config)
            .transport_layer(carried_out_on(Handle::current()))
            .api_server_only();
        let cluster = Arc::new(cluster.start().await.expect("a cluster starts"));
        cluster.start_component(Component::Scheduler);
        cluster.start_component(Component::Kubelet);
        what(cluster, readings).await;
    })
    .expect("a runtime");
}

/// Has the requests of the controllers carried out by another runtime than theirs.
fn carried_out_on(runtime: Handle) -> TransportLayer {
    Arc::new(move |requester, transport| {
        if &*requester.name != Component::ControllerManager.word() {
            return transport;
        }
        let runtime = runtime.clone();
        Transport::to(tower::service_fn(move |request: Request<Body>| {
            let answer = runtime.spawn(transport.send(request));
            async move { answer.await.map_err(BoxError::from)? }
        }))
    })
}

/// The controller-manager of a cluster, on a thread of its own.
struct Manager {
    stop: oneshot::Sender<()>,
    thread: std::thread::JoinHandle<()>,
}

impl Manager {
    fn start(cluster: &Arc<Cluster>) -> Self {
        let cluster = Arc::clone(cluster);
        let (stop, stopped) = oneshot::channel();
        let run = move || {
            run_in(ClockMode::Real, async {
                cluster.start_component(Component::ControllerManager);
                let _ = stopped.await;
                cluster.kill_component(Component::ControllerManager);
            })
            .expect("a runtime");
        };
        let thread = std::thread::Builder::new().name(THREAD.to_owned()).spawn(run).expect("a thread");
        Self { stop, thread }
    }

    fn stop(self) {
        let _ = self.stop.send(());
        self.thread.join().expect("the controllers end well");
    }
}

/// Waits until no controller has anything to do; gives the time since when.
async fn quiet(readings: &Readings) -> Instant {
    let (mut since, mut last) = (now(), readings.syncs());
    while since.elapsed() < QUIET {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let syncs = readings.syncs();
        if syncs != last {
            (since, last) = (now(), syncs);
        }
    }
    since
}

fn table(work: &Work, pods: usize) {
    println!("    {:<38} {:>14} {:>14} {:>16}", "", "syncs a pod", "writes a pod", "unchanged a pod");
    for (name, counts) in &work.controllers {
        if counts.syncs > 0 {
            let each = |count: u64| count as f64 / pods as f64;
            let (syncs, writes, unchanged) = (each(counts.syncs), each(counts.writes), each(counts.unchanged));
            println!("    {name:<38} {syncs:>14.4} {writes:>14.4} {unchanged:>16.4}");
        }
    }
}

fn template() -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "nginx:1.29"}]}})
}

fn api(client: &Client, group: &str, resource: &str) -> Api<Object> {
    Api::dynamic(client, GroupVersionResource::new(group, "v1", resource)).within("default")
}

/// The memory of this process, in bytes.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<f64>().ok()).unwrap_or(0.0) * 1024.0
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures on the machine's clock")]
fn now() -> Instant {
    Instant::now()
}
