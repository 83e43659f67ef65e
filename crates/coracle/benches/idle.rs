//! What a virtual day costs in which nothing happens: `cargo bench -p coracle --bench idle`, and in a debug build
//! `cargo test -p coracle --bench idle`. Prints the shortest and the median of some days; nothing here passes or fails.
//!
//! `--day NAME` runs those whose name holds the word, `--times N` so many of each.

use std::time::{Duration, Instant};

use coracle::api::apps_v1::ReplicaSet;
use coracle::prelude::*;
use coracle::runtime::Api;
use coracle::{Builder, Cluster};
use serde_json::json;

const DAY: Duration = Duration::from_secs(24 * 3600);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| arguments.iter().skip_while(|word| *word != name).nth(1).cloned();
    let wanted = value("--day").unwrap_or_default();
    let times = value("--times").and_then(|times| times.parse().ok()).unwrap_or(5);
    let days = [
        ("a virtual day of an API server alone", Cluster::builder().api_server_only(), 0),
        ("a virtual day with all controllers and no nodes", Cluster::builder(), 0),
        ("a virtual day with one node", Cluster::builder().nodes(1), 0),
        ("a virtual day with two nodes and three pods", Cluster::builder().nodes(2), 3),
    ];
    println!("{:<50} {:>12} {:>12}   n", "", "least", "p50");
    for (name, builder, pods) in days {
        if !name.contains(&wanted) {
            continue;
        }
        let mut took: Vec<Duration> = (0..times).map(|_| day(builder.clone(), pods)).collect();
        took.sort();
        let millis = |duration: Duration| format!("{:.1} ms", duration.as_secs_f64() * 1000.0);
        println!("{name:<50} {:>12} {:>12}   {times}", millis(took[0]), millis(took[took.len() / 2]));
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures on the machine's clock")]
fn now() -> Instant {
    Instant::now()
}

fn day(builder: Builder, pods: usize) -> Duration {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let cluster = builder.start().await.expect("a cluster starts");
        if pods > 0 {
            run_pods(&cluster, pods).await;
        }
        cluster.settle().await.expect("the cluster settles");
        let start = now();
        tokio::time::sleep(DAY).await;
        let took = start.elapsed();
        cluster.shutdown().await;
        took
    })
}

async fn run_pods(cluster: &Cluster, count: usize) {
    let set: ReplicaSet = serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": count, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "nginx:1.29"}]}}},
    }))
    .expect("a set");
    Api::of(&cluster.api_client()).create(&set).await.expect("the set is created");
}
