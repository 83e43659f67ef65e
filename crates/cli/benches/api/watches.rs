use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use tokio::sync::Notify;
use tokio::task::LocalSet;
use tokio::time::Instant;

use crate::connection::{JSON, MERGE_PATCH, Target};
use crate::load::Outcome;
use crate::objects::{self, Kind};
use crate::options::Options;
use crate::server::Server;
use crate::table;

/// How many writes may be on their way to the slowest watcher.
const AHEAD: u64 = 16;

/// What the fan-out of a write to many watchers costs.
pub(crate) async fn measure(options: &Options) {
    let (of_one_kind, of_nodes) = options.watchers();
    LocalSet::new().run_until(fan_out(options, of_one_kind, of_one_kind / 100)).await;
    LocalSet::new().run_until(fan_out(options, of_one_kind, of_one_kind)).await;
    LocalSet::new().run_until(nodes(options, of_nodes)).await;
}

/// When each write was answered, and how late its events came.
#[derive(Default)]
struct Timeline {
    answered: RefCell<Vec<Instant>>,
    latencies: RefCell<Vec<Duration>>,
    /// How many events each watcher has seen.
    seen: RefCell<Vec<u64>>,
    progress: Notify,
    /// Only what comes while this is set counts.
    counting: Cell<bool>,
}

impl Timeline {
    fn slowest(&self) -> u64 {
        self.seen.borrow().iter().copied().min().unwrap_or(0)
    }

    fn arrived(&self, watcher: usize) {
        let now = Instant::now();
        let number = self.seen.borrow()[watcher] as usize;
        self.seen.borrow_mut()[watcher] += 1;
        if self.counting.get() {
            // An event may overtake the answer to its write.
            let answered = self.answered.borrow().get(number).copied().unwrap_or(now);
            self.latencies.borrow_mut().push(now.saturating_duration_since(answered));
        }
        self.progress.notify_one();
    }

    fn outcome(&self, took: Duration, cpu: Duration) -> Outcome {
        let mut latencies = self.latencies.take();
        latencies.sort();
        Outcome { latencies, took, cpu }
    }
}

/// Opens a watch and counts the events that come in, a line each.
fn watch(mut connection: crate::connection::Connection, path: String, watcher: usize, timeline: &Rc<Timeline>) {
    let timeline = Rc::clone(timeline);
    tokio::task::spawn_local(async move {
        let mut body = connection.open(Method::GET, &path, JSON, Bytes::new()).await.into_body();
        while let Some(Ok(frame)) = body.frame().await {
            let lines = frame.data_ref().map_or(0, |data| data.iter().filter(|byte| **byte == b'\n').count());
            (0..lines).for_each(|_| timeline.arrived(watcher));
        }
    });
}

async fn fan_out(options: &Options, watchers: usize, connections: usize) {
    let server = Server::start(options);
    let target = Target::of(&server.running);
    let mut writer = target.connect().await;
    writer.make_namespace().await;
    let kind = Kind::ConfigMap;
    writer.post(&kind.collection(), kind.object("watched")).await;
    let timeline = Rc::new(Timeline::default());
    timeline.seen.replace(vec![0; watchers]);
    let memory = server.memory();
    let mut connection = target.connect().await;
    for watcher in 0..watchers {
        if watcher % (watchers / connections) == 0 {
            connection = target.connect().await;
        }
        watch(connection.clone(), format!("{}?watch=1", kind.collection()), watcher, &timeline);
    }
    // Each watch begins with the one object there is.
    while timeline.slowest() < 1 {
        timeline.progress.notified().await;
    }
    let memory = server.memory().saturating_sub(memory) / watchers as u64;
    timeline.answered.borrow_mut().push(Instant::now());
    timeline.counting.set(true);
    let (cpu, start) = (server.cpu(), Instant::now());
    let path = format!("{}/watched", kind.collection());
    let mut written = 0;
    while start.elapsed() < options.round() {
        written += 1;
        writer.send(Method::PATCH, &path, MERGE_PATCH, objects::patch(written)).await;
        timeline.answered.borrow_mut().push(Instant::now());
        while timeline.slowest() + AHEAD < written + 1 {
            timeline.progress.notified().await;
        }
    }
    while timeline.slowest() < written + 1 {
        timeline.progress.notified().await;
    }
    let outcome = timeline.outcome(start.elapsed(), server.cpu() - cpu);
    let title = format!("an event, {watchers} watchers on {connections} connections");
    table::row(&title, &outcome, "93,000 a second, p99 47 ms, 15 us");
    table::fact("  memory of such a watcher", &format!("{:.1} KB", memory as f64 / 1e3), "");
}

/// Watchers as kubelets are: each on a connection of its own, each for the pods of its node.
async fn nodes(options: &Options, watchers: usize) {
    let server = Server::start(options);
    let target = Target::of(&server.running);
    let mut writer = target.connect().await;
    writer.make_namespace().await;
    let timeline = Rc::new(Timeline::default());
    timeline.seen.replace(vec![0; watchers]);
    let pods = watchers.min(200);
    for node in 0..pods {
        let pod = objects::pod(&format!("web-{node}"), &format!("node-{node}"));
        writer.post(&Kind::Pod.collection(), pod).await;
    }
    let alone = patches(options, &server, &mut writer, pods, None).await;
    table::row("merge-patch a node's pod, no watchers", &alone, "");
    let memory = server.memory();
    for watcher in 0..watchers {
        let path = format!("/api/v1/pods?watch=1&fieldSelector=spec.nodeName=node-{watcher}");
        watch(target.connect().await, path, watcher, &timeline);
    }
    while timeline.seen.borrow()[..pods].iter().any(|seen| *seen < 1) {
        timeline.progress.notified().await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let memory = server.memory().saturating_sub(memory) / watchers as u64;
    let watched = patches(options, &server, &mut writer, pods, Some(&timeline)).await;
    table::row(&format!("the same beside {watchers} watchers of nodes"), &watched, "");
    table::row("  its event", &timeline.outcome(watched.took, Duration::ZERO), "");
    table::fact("  memory of such a watcher and its connection", &format!("{:.1} KB", memory as f64 / 1e3), "");
}

/// Patches one node's pod after the other, waiting for its event if somebody watches.
async fn patches(
    options: &Options,
    server: &Server,
    writer: &mut crate::connection::Connection,
    pods: usize,
    timeline: Option<&Rc<Timeline>>,
) -> Outcome {
    let (cpu, begin) = (server.cpu(), Instant::now());
    let mut latencies = Vec::new();
    while begin.elapsed() < options.round() {
        let round = latencies.len() as u64 + if timeline.is_some() { 1 << 32 } else { 1 };
        let node = latencies.len() % pods;
        let path = format!("{}/web-{node}", Kind::Pod.collection());
        let before = timeline.map(|timeline| timeline.seen.borrow()[node]);
        let start = Instant::now();
        writer.send(Method::PATCH, &path, MERGE_PATCH, objects::patch(round)).await;
        latencies.push(start.elapsed());
        if let (Some(timeline), Some(before)) = (timeline, before) {
            let answered = Instant::now();
            while timeline.seen.borrow()[node] == before {
                timeline.progress.notified().await;
            }
            timeline.latencies.borrow_mut().push(answered.elapsed());
        }
    }
    latencies.sort();
    Outcome { latencies, took: begin.elapsed(), cpu: server.cpu() - cpu }
}
