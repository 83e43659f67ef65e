use std::time::Duration;

use http::Method;
use tokio::time::{Instant, MissedTickBehavior};

use crate::connection::{Connection, JSON, MERGE_PATCH, PROTOBUF, Target};
use crate::load::Outcome;
use crate::objects::{self, Kind};
use crate::options::Options;
use crate::server::Server;
use crate::{load, table};

const LOADERS: usize = 16;
/// Between two writes of the 500 a second that go on beside a list.
const PACE: Duration = Duration::from_millis(2);

/// Lists of many pods, alone and while others write, and what the pods cost in memory.
pub(crate) async fn measure(options: &Options) {
    let server = Server::start(options);
    let mut connection = Target::of(&server.running).connect().await;
    connection.make_namespace().await;
    connection.get("/api/v1/pods").await;
    let empty = server.memory();
    table::fact("memory of an empty server", &table::megabytes(empty), "304 MB");
    let mut there = 0;
    for population in options.populations() {
        fill(&server, there, *population).await;
        there = *population;
        memory(&server, there, empty);
        for (format, media_type) in [("JSON", JSON), ("protobuf", PROTOBUF)] {
            let title = format!("LIST {there} pods, {format}");
            let (outcome, bytes) = lists(&server, &mut connection, media_type).await;
            row(&title, &outcome, bytes, there, baseline(media_type, there));
        }
        beside_writes(&server, &mut connection, there).await;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    table::fact("memory after all that", &table::megabytes(server.memory()), "");
}

fn memory(server: &Server, pods: usize, empty: u64) {
    let bytes = server.memory();
    let each = bytes.saturating_sub(empty) / pods as u64;
    let baseline = match pods {
        10_000 => "1.07 GB",
        100_000 => "6.8 GB, 65 KB a pod",
        _ => "",
    };
    let figure = format!("{}, {:.1} KB a pod", table::megabytes(bytes), each as f64 / 1e3);
    table::fact(&format!("memory with {pods} pods"), &figure, baseline);
}

async fn fill(server: &Server, from: usize, to: usize) {
    let each = ((to - from) / LOADERS) as u64;
    let time = Duration::from_secs(3600);
    let kind = Kind::Pod;
    load::run(
        server,
        LOADERS,
        time,
        |_| each,
        async move |connection, worker, number| {
            let name = format!("web-{:06}", from as u64 + worker as u64 * each + number);
            connection.post(&kind.collection(), kind.object(&name)).await;
        },
    )
    .await;
}

async fn lists(server: &Server, connection: &mut Connection, media_type: &str) -> (Outcome, usize) {
    let (mut latencies, mut bytes) = (Vec::new(), 0);
    let (cpu, begin) = (server.cpu(), Instant::now());
    for _ in 0..5 {
        let start = Instant::now();
        bytes = connection.drain("/api/v1/pods", media_type).await;
        latencies.push(start.elapsed());
    }
    latencies.sort();
    (Outcome { latencies, took: begin.elapsed(), cpu: server.cpu() - cpu }, bytes)
}

fn row(title: &str, outcome: &Outcome, bytes: usize, pods: usize, baseline: &str) {
    let p50 = outcome.at(0.5);
    let figure = format!(
        "{} ({} MB, {:.0} MB/s), {:.1} us a pod",
        table::time(p50),
        bytes / 1_000_000,
        bytes as f64 / 1e6 / p50.as_secs_f64(),
        outcome.cpu_each() / pods as f64
    );
    table::fact(title, &figure, baseline);
}

/// Lists while patches come in at a steady pace.
async fn beside_writes(server: &Server, connection: &mut Connection, pods: usize) {
    let mut writer = Target::of(&server.running).connect().await;
    let (stop, mut stopped) = tokio::sync::oneshot::channel::<()>();
    let writes = tokio::spawn(async move {
        let mut pace = tokio::time::interval(PACE);
        pace.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let (mut latencies, start) = (Vec::new(), Instant::now());
        for number in 1.. {
            let due = pace.tick().await;
            if stopped.try_recv().is_ok() {
                break;
            }
            let path = format!("{}/web-{:06}", Kind::Pod.collection(), number as usize % pods);
            writer.send(Method::PATCH, &path, MERGE_PATCH, objects::patch(number)).await;
            latencies.push(due.elapsed());
        }
        latencies.sort();
        Outcome { latencies, took: start.elapsed(), cpu: Duration::ZERO }
    });
    let (outcome, bytes) = lists(server, connection, JSON).await;
    row(&format!("LIST {pods} pods, JSON, beside writes"), &outcome, bytes, pods, "");
    let _ = stop.send(());
    let writes = writes.await.expect("the writer ends");
    let figure = format!(
        "{:.0} a second, p50 {}, p99 {}",
        writes.rate(),
        table::time(writes.at(0.5)),
        table::time(writes.at(0.99))
    );
    table::fact("  those writes", &figure, "");
}

fn baseline(media_type: &str, pods: usize) -> &'static str {
    match (media_type, pods) {
        (JSON, 10_000) => "1.05 s (62 MB), 100 us of CPU a pod",
        (PROTOBUF, 10_000) => "0.71 s (46 MB)",
        (JSON, 100_000) => "9.3 s, 12 to 14 s of CPU",
        (PROTOBUF, 100_000) => "6.1 s",
        _ => "",
    }
}
