//! What the event log costs: `make bench`. Prints each figure beside its aim; nothing here passes or fails.
//!
//! ```text
//! demo:    scenarios/delete-a-pod.yaml without a log and with a file of it, objects included, in turn
//! million: pods of a Deployment come up until the ring holds a million entries
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use coracle_ambient::Ambient;
use coracle_client::Api;
use coracle_cluster::{Cluster, Delays, User};
use coracle_journal::{EntryId, Recorder};
use coracle_meta::{GroupVersionResource, Object};
use coracle_scenario::{BuiltIn, Options, Scenario, execute, parse};
use coracle_sim::{ClockMode, record_objects, run_in};
use serde_json::json;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How often the demo runs each way.
const RUNS: usize = 60;
/// How many entries the ring of the second row holds.
const MILLION: usize = 1_000_000;
/// Enough for as many pods as that takes.
const NODES: usize = 200;
/// Pods that come up together, more of which are asked for until the ring is full.
const PODS_AT_ONCE: usize = 1000;

fn main() {
    demo();
    million();
}

fn demo() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/delete-a-pod.yaml");
    let scenario = parse::read(&file, &BuiltIn::default()).expect("the demo is a scenario");
    let events = std::env::temp_dir().join(format!("coracle-recording-{}.jsonl", std::process::id()));
    run(&scenario, &file, None);
    let mut bytes = 0;
    let pair = |_| {
        let (without, with) = (run(&scenario, &file, None), run(&scenario, &file, Some(&events)));
        // Each writes a file that is new, as a user's run does: one that is written over is flushed when it is closed.
        bytes = std::fs::metadata(&events).map_or(0, |file| file.len());
        std::fs::remove_file(&events).expect("the log was written");
        (without, with)
    };
    let (mut without, mut with): (Vec<_>, Vec<_>) = (0..RUNS).map(pair).unzip();
    let (without, with) = (median(&mut without), median(&mut with));
    println!(
        "the demo, {RUNS} runs each in turn: {:.1} ms without a log, {:.1} ms with {} kB of it: {:+.1} % (aim: at most 10)",
        millis(without),
        millis(with),
        bytes / 1000,
        (millis(with) / millis(without) - 1.0) * 100.0
    );
}

fn run(scenario: &Scenario, file: &Path, events: Option<&PathBuf>) -> Duration {
    let start = now();
    let mut made = Recorder::off();
    let report = execute(scenario, file, &Options::default(), |header| {
        if let Some(path) = events {
            made = Recorder::file(path, MILLION, header).expect("a file is made");
        }
        made.clone()
    });
    made.close().expect("the log is written");
    // What is checked against the log fails where there is none; that it ran to its end is what counts here.
    report.expect("the demo runs");
    start.elapsed()
}

fn million() {
    run_in(ClockMode::Real, async {
        let recorder = Recorder::ring(MILLION);
        let cluster = Cluster::builder().nodes(NODES).ambient(Ambient::system()).pod_delays(Delays::zero());
        let cluster = cluster.recorder(recorder.clone()).start().await.expect("a cluster starts");
        let (store, plural_of, told) = (cluster.store(), Arc::new(cluster.plurals()), recorder.clone());
        let follower = tokio::spawn(async move { record_objects(&*store, plural_of, told).await });
        let client = cluster.client_as(User::new("bench", ["system:masters"]));
        let deployments = Api::dynamic(&client, GroupVersionResource::new("apps", "v1", "deployments")).within("default");
        let mut sets = 0;
        let start = now();
        while recorder.entries(EntryId(MILLION as u64)).is_empty() {
            sets += 1;
            let name = format!("web-{sets}");
            let deployment = json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default"},
                "spec": {"replicas": PODS_AT_ONCE, "selector": {"matchLabels": {"app": name}}, "template": {
                    "metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "web", "image": "nginx:1.29"}]}}},
            });
            let deployment = Object::from_value(deployment).expect("an object");
            deployments.create(&deployment).await.expect("the deployment is created");
            let key = deployment.key();
            while deployments.get(&key).await.expect("it is read").number("status.readyReplicas") != Some(PODS_AT_ONCE as i64) {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
        let held = recorder.held_bytes();
        println!(
            "a million entries, of {} pods in {:.0} s: {} MB, {} bytes each (aim: 200 MB)",
            sets * PODS_AT_ONCE,
            start.elapsed().as_secs_f64(),
            held / 1_000_000,
            held / MILLION
        );
        follower.abort();
        cluster.shutdown().await;
    })
    .expect("a runtime");
}

fn median(samples: &mut [Duration]) -> Duration {
    samples.sort();
    samples[samples.len() / 2]
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures on the machine's clock")]
fn now() -> Instant {
    Instant::now()
}
