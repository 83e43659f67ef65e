//! What the wire costs: `cargo bench -p coracle-sim --bench wire`, and in a debug build
//! `cargo test -p coracle-sim --bench wire`. Prints the shortest and the median; nothing here passes or fails.
//!
//! `--row NAME` runs those whose name holds the word, `--times N` so many of each.

use std::path::Path;
use std::time::{Duration, Instant};

use coracle::scenario::{BuiltIn, Options, execute, parse};
use coracle_cluster::{Builder, Cluster, Transport, boxed};
use coracle_journal::Recorder;
use coracle_sim::{ClockMode, Latency, Senders, Wire, run_in};
use http::Request;

const DAY: Duration = Duration::from_secs(24 * 3600);
const REQUESTS: u32 = 20_000;
const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/delete-a-pod.yaml");
const NO_LATENCY: Latency = Latency { request: Duration::ZERO, watch: Duration::ZERO };
const LATENCY: Latency = Latency { request: Duration::from_millis(2), watch: Duration::from_millis(1) };

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| arguments.iter().skip_while(|word| *word != name).nth(1).cloned();
    let wanted = value("--row").unwrap_or_default();
    let times = value("--times").and_then(|times| times.parse().ok()).unwrap_or(5);
    println!("{:<66} {:>12} {:>12}   n", "", "least", "p50");
    let row = |name: &str, measure: &dyn Fn() -> Duration| {
        if !name.contains(&wanted) {
            return;
        }
        let mut took: Vec<Duration> = (0..times).map(|_| measure()).collect();
        took.sort();
        println!("{name:<66} {:>12.1?} {:>12.1?}   {times}", took[0], took[took.len() / 2]);
    };
    let bare = |builder: Builder| builder;
    let wired = |latency: Latency| {
        move |builder: Builder| builder.transport_layer_for_all(Wire::with(latency.rules(Senders::Components)).layer())
    };
    row("a virtual day of all controllers, no layer", &|| day(bare));
    row("a virtual day of all controllers, through the wire", &|| day(wired(NO_LATENCY)));
    row("a virtual day of all controllers, through the wire with latencies", &|| day(wired(LATENCY)));
    row("one read of an object, no layer", &|| request(bare));
    row("one read of an object, through the wire", &|| request(wired(NO_LATENCY)));
    row("one read of an object, through the wire with other rules", &|| request(wired(LATENCY)));
    row("the scenario delete-a-pod", &scenario);
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures on the machine's clock")]
fn now() -> Instant {
    Instant::now()
}

fn day(layer: impl Fn(Builder) -> Builder) -> Duration {
    let measured = run_in(ClockMode::Virtual, async {
        let cluster = layer(Cluster::builder()).start().await.expect("a cluster starts");
        tokio::time::sleep(Duration::from_secs(60)).await;
        let start = now();
        tokio::time::sleep(DAY).await;
        let took = start.elapsed();
        cluster.shutdown().await;
        took
    });
    measured.expect("a runtime")
}

/// One read, as the mean of many.
fn request(layer: impl Fn(Builder) -> Builder) -> Duration {
    let measured = run_in(ClockMode::Virtual, async {
        let cluster = layer(Cluster::builder().api_server_only()).start().await.expect("a cluster starts");
        let transport = cluster.service();
        for _ in 0..REQUESTS / 10 {
            read(&transport).await;
        }
        let start = now();
        for _ in 0..REQUESTS {
            read(&transport).await;
        }
        let took = start.elapsed() / REQUESTS;
        cluster.shutdown().await;
        took
    });
    measured.expect("a runtime")
}

async fn read(transport: &Transport) {
    let request = Request::get("/api/v1/namespaces/default").body(boxed(String::new())).expect("a request");
    let answer = transport.send(request).await.expect("an answer");
    assert_eq!(answer.status(), 200);
}

fn scenario() -> Duration {
    let scenario = parse::read(Path::new(SCENARIO), &BuiltIn::default()).expect("the scenario is valid");
    let start = now();
    execute(&scenario, Path::new(SCENARIO), &Options::default(), |_| Recorder::off()).expect("the scenario runs");
    start.elapsed()
}
