//! The store beside the machine's etcd, in one run, over the same protocol with the same client.
//!
//! `cargo bench -p coracle-etcd --bench store`; `-- --full` adds a million keys in memory and on disk; `-- in-process`,
//! `wire`, `fan-out` and `million` measure one thing alone.
//! Every figure is for values of 1.5 KB. The client takes its share of the machine, so the server's own CPU time for a
//! request stands beside the rate.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes};
use coracle_ambient::Ambient;
use coracle_etcd::{EtcdStore, Face, FaceOptions, Options};
use coracle_journal::Recorder;
use coracle_store::disk::{Disk, Syncing};
use coracle_store::{Compare, Engine, KeyRange, Operation, RangeRequest, Store, Txn, WatchRequest};
use futures_util::stream;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const VALUE_BYTES: usize = 1500;
const KEYS: u64 = 20_000;
const CLIENTS: [usize; 4] = [1, 16, 64, 256];
const ROUND: Duration = Duration::from_secs(3);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", "memory"] => runtime.block_on(serve(engine())),
        ["serve", folder] => runtime.block_on(serve(open(Path::new(folder)))),
        _ => runtime.block_on(measure(&arguments)),
    }
}

/// Measures what is named, or everything but what takes long.
async fn measure(arguments: &[String]) {
    let named = |name: &str| arguments.iter().any(|argument| argument == name);
    let all = !["in-process", "wire", "fan-out", "million"].into_iter().any(named);
    if all || named("in-process") {
        in_process().await;
        many_cursors().await;
    }
    if all || named("wire") {
        over_the_wire().await;
    }
    if all || named("fan-out") {
        fan_out_of_all().await;
    }
    if named("--full") || named("million") {
        a_million_keys().await;
    }
}

fn options() -> coracle_store::Options {
    coracle_store::Options::new(Ambient::seeded(1), Recorder::off())
}

fn engine() -> Engine {
    Engine::in_memory(options())
}

#[expect(clippy::disallowed_methods, reason = "the caller of the engine starts the thread that owns the disk")]
fn open(folder: &Path) -> Engine {
    let (engine, commit_loop) =
        Engine::open(Box::new(Disk::open(folder, Syncing::Always).unwrap()), options()).unwrap();
    std::thread::spawn(move || commit_loop.run());
    engine
}

fn key(number: u64) -> String {
    format!("/registry/pods/namespace-{:03}/workload-{number:08}", number % 100)
}

fn update(key: String, revision: i64, value: &[u8]) -> Txn {
    Txn {
        compare: vec![Compare::mod_revision(key.clone(), revision)],
        success: vec![Operation::put(key.clone(), value.to_vec())],
        failure: vec![Operation::get(key)],
        cause: None,
    }
}

/// One writer in the same process: guarded updates, with history and ten thousand cursors that wait for other keys.
async fn in_process() {
    let engine = engine();
    let value = vec![b'x'; VALUE_BYTES];
    let mut revisions = vec![0; KEYS as usize];
    let mut waiting = Vec::new();
    for node in 0..10_000 {
        let range = KeyRange::prefix(format!("/registry/leases/node-{node:05}/"));
        waiting.push(engine.watch(WatchRequest { range, ..WatchRequest::default() }).await.unwrap());
    }
    let random = Ambient::seeded(5).random;
    let (cpu, started) = (cpu_micros("self"), Instant::now());
    let mut count = 0_u64;
    while started.elapsed() < ROUND {
        for _ in 0..1000 {
            let number = random.below(KEYS);
            let slot = &mut revisions[number as usize];
            *slot = engine.txn(update(key(number), *slot, &value)).await.unwrap().revision;
        }
        count += 1000;
        if count.is_multiple_of(50_000) {
            engine.compact(engine.revision() - 10_000).await.unwrap();
        }
    }
    let each = (cpu_micros("self") - cpu) as f64 / count as f64;
    let rate = per_second(count, started);
    println!("in process, guarded updates, 10000 waiting cursors    {rate:>9.0} txn/s, {each:.1} us of CPU each");
}

/// How long until ten thousand cursors in the same process have seen one commit.
async fn many_cursors() {
    let engine = engine();
    let mut watching = JoinSet::new();
    for _ in 0..10_000 {
        let request = WatchRequest { range: KeyRange::prefix("/registry/pods/"), ..WatchRequest::default() };
        let mut watcher = engine.watch(request).await.unwrap();
        watching.spawn(async move { watcher.next().await.unwrap() });
    }
    tokio::task::yield_now().await;
    let (cpu, started) = (cpu_micros("self"), Instant::now());
    engine.txn(update(key(1), 0, &[0; VALUE_BYTES])).await.unwrap();
    while watching.join_next().await.is_some() {}
    let took = started.elapsed().as_secs_f64() * 1e3;
    let used = (cpu_micros("self") - cpu) / 1000;
    println!("in process, 10000 cursors see one commit in           {took:>9.2} ms, {used} ms of CPU");
}

/// A server in a process of its own.
struct Server {
    name: &'static str,
    url: String,
    child: Child,
    _data: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    async fn ours(name: &'static str, durable: bool) -> Self {
        let data = tempfile::tempdir_in(".").unwrap();
        let folder = data.path().join("store");
        let argument = if durable { folder.to_str().unwrap() } else { "memory" };
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut child = command.args(["serve", argument]).stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut url).unwrap();
        Self { name, url: url.trim().to_owned(), child, _data: data }
    }

    async fn etcd(name: &'static str, durable: bool) -> Option<Self> {
        let data = tempfile::tempdir_in(".").unwrap();
        let mut urls = Vec::new();
        for _ in 0..2 {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            urls.push(format!("http://{}", listener.local_addr().unwrap()));
        }
        let mut command = Command::new("etcd");
        command
            .arg("--data-dir")
            .arg(data.path())
            .args(["--log-level", "error", "--listen-client-urls", &urls[0], "--advertise-client-urls", &urls[0]])
            .args(["--listen-peer-urls", &urls[1], "--initial-advertise-peer-urls", &urls[1]])
            .args(["--initial-cluster", &format!("default={}", urls[1])])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if !durable {
            command.arg("--unsafe-no-fsync");
        }
        let child = command.spawn().ok()?;
        let server = Self { name, url: urls.swap_remove(0), child, _data: data };
        let reached = async { while EtcdStore::connect(server.options()).await.is_err() {} };
        tokio::time::timeout(Duration::from_secs(20), reached).await.expect("the etcd of this machine starts");
        Some(server)
    }

    fn options(&self) -> Options {
        Options { endpoints: vec![self.url.clone()], tls: None }
    }

    fn cpu_micros(&self) -> u64 {
        cpu_micros(&self.child.id().to_string())
    }
}

/// The CPU time that a process has used, in microseconds.
fn cpu_micros(process: &str) -> u64 {
    const MICROS_PER_TICK: u64 = 10_000;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    fields.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>()
        * MICROS_PER_TICK
}

/// Listens on a free port, prints the URL, and serves until it is killed.
async fn serve(engine: Engine) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("http://{}", listener.local_addr().unwrap());
    let face = Face::new(Arc::new(engine), FaceOptions::default());
    let mut connections = JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        socket.set_nodelay(true).unwrap();
        let face = face.clone();
        connections.spawn(async move { drop(face.serve_connection(socket).await) });
    }
}

async fn over_the_wire() {
    for durable in [true, false] {
        let mut servers = Vec::from_iter(Server::etcd(if durable { "etcd" } else { "etcd, no fsync" }, durable).await);
        servers.push(Server::ours(if durable { "coracle, disk" } else { "coracle, memory" }, durable).await);
        println!(
            "\n{:<18}{:<9}{:>8}{:>12}{:>10}{:>10}{:>14}",
            "", "", "clients", "per second", "p50 ms", "p99 ms", "CPU us each"
        );
        for clients in CLIENTS {
            for server in &servers {
                let store = EtcdStore::connect(server.options()).await.unwrap();
                round(server, "put", clients, &store, |store, number| async move {
                    let put = Operation::put(key(number), vec![b'x'; VALUE_BYTES]);
                    store.txn(Txn { success: vec![put], ..Txn::default() }).await.unwrap();
                })
                .await;
                round(server, "get", clients, &store, |store, number| async move {
                    let range = KeyRange::key(key(number));
                    store.range(RangeRequest { range, ..RangeRequest::default() }).await.unwrap();
                })
                .await;
            }
        }
        for server in &servers {
            let store = EtcdStore::connect(server.options()).await.unwrap();
            round(server, "list 500", 1, &store, |store, _| async move {
                let range = KeyRange::prefix("/registry/pods/");
                store.range(RangeRequest { range, limit: 500, ..RangeRequest::default() }).await.unwrap();
            })
            .await;
        }
    }
}

async fn fan_out_of_all() {
    println!();
    let mut servers = Vec::from_iter(Server::etcd("etcd, no fsync", false).await);
    servers.push(Server::ours("coracle, memory", false).await);
    // In turn, so that whatever else the machine does meets both.
    for _ in 0..3 {
        for server in &servers {
            fan_out(server, &EtcdStore::connect(server.options()).await.unwrap()).await;
        }
    }
}

/// Lets `clients` tasks do something over and over, and prints how often it was done and how long each took.
async fn round<F>(
    server: &Server,
    name: &str,
    clients: usize,
    store: &EtcdStore,
    operation: impl Fn(EtcdStore, u64) -> F + Copy + Send + 'static,
) where
    F: Future<Output = ()> + Send,
{
    let (cpu, started) = (server.cpu_micros(), Instant::now());
    let mut tasks = JoinSet::new();
    for client in 0..clients {
        let store = store.clone();
        tasks.spawn(async move {
            let random = Ambient::seeded(client as u64).random;
            let mut took = Vec::new();
            while started.elapsed() < ROUND {
                let begun = Instant::now();
                operation(store.clone(), random.below(KEYS)).await;
                took.push(begun.elapsed());
            }
            took
        });
    }
    let mut took: Vec<Duration> = tasks.join_all().await.into_iter().flatten().collect();
    took.sort_unstable();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "{:<18}{name:<9}{clients:>8}{:>12.0}{:>10.2}{:>10.2}{:>14.1}",
        server.name,
        per_second(took.len() as u64, started),
        at(0.5),
        at(0.99),
        (server.cpu_micros() - cpu) as f64 / took.len() as f64
    );
}

/// 256 watch streams on one prefix: how long until all have seen a commit, the median of some.
async fn fan_out(server: &Server, store: &EtcdStore) {
    const STREAMS: usize = 256;
    const COMMITS: usize = 200;
    let channel = tonic::transport::Endpoint::from_shared(server.url.clone()).unwrap().connect().await.unwrap();
    let mut watchers = Vec::new();
    for _ in 0..STREAMS {
        watchers.push(watch_stream(channel.clone(), b"/fan/").await);
    }
    let cpu = server.cpu_micros();
    let mut took = Vec::new();
    for commit in 0..COMMITS {
        let started = Instant::now();
        let put = Operation::put(format!("/fan/{commit}"), vec![b'x'; VALUE_BYTES]);
        store.txn(Txn { success: vec![put], ..Txn::default() }).await.unwrap();
        for (_, watcher) in &mut watchers {
            assert!(watcher.message().await.unwrap().unwrap().len() > VALUE_BYTES);
        }
        took.push(started.elapsed().as_secs_f64() * 1e3);
    }
    took.sort_by(f64::total_cmp);
    let used = (server.cpu_micros() - cpu) as f64 / 1e3 / COMMITS as f64;
    let (median, slow) = (took[COMMITS / 2], took[COMMITS * 99 / 100]);
    println!(
        "{:<18}one commit to {STREAMS} watch streams {median:>12.2} ms, p99 {slow:.2} ms, {used:.2} ms of CPU",
        server.name
    );
}

/// A watch of a prefix on a stream of its own; the messages as they come. `EtcdStore` would watch an old etcd on one
/// stream for all. The stream ends with its sender.
async fn watch_stream(channel: tonic::transport::Channel, prefix: &[u8]) -> (Requests, tonic::Streaming<Bytes>) {
    let end = [&prefix[..prefix.len() - 1], &[prefix[prefix.len() - 1] + 1]].concat();
    let field = |tag: u8, bytes: &[u8]| [&[tag << 3 | 2, bytes.len() as u8], bytes].concat();
    let create = field(1, &[field(1, prefix), field(2, &end)].concat());
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.unwrap();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    sender.send(Bytes::from(create)).unwrap();
    let requests = stream::poll_fn(move |context| receiver.poll_recv(context));
    let path = http::uri::PathAndQuery::from_static("/etcdserverpb.Watch/Watch");
    let mut responses = client.streaming(tonic::Request::new(requests), path, RawCodec).await.unwrap().into_inner();
    responses.message().await.unwrap().expect("the watch is created");
    (sender, responses)
}

type Requests = mpsc::UnboundedSender<Bytes>;

/// Messages as bytes.
#[derive(Clone, Copy, Default)]
struct RawCodec;

impl Codec for RawCodec {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for RawCodec {
    type Item = Bytes;
    type Error = tonic::Status;

    fn encode(&mut self, message: Bytes, into: &mut EncodeBuf<'_>) -> Result<(), tonic::Status> {
        into.put(message);
        Ok(())
    }
}

impl Decoder for RawCodec {
    type Item = Bytes;
    type Error = tonic::Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, tonic::Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}

/// Memory in this process for a million keys, and how long a folder with as many takes to open.
async fn a_million_keys() {
    const MILLION: u64 = 1_000_000;
    const BATCH: u64 = 100;
    let data = tempfile::tempdir_in(".").unwrap();
    let fill = async |engine: &Engine| {
        for first in (0..MILLION).step_by(BATCH as usize) {
            let puts = (first..first + BATCH).map(|number| Operation::put(key(number), vec![b'x'; VALUE_BYTES]));
            engine.txn(Txn { success: puts.collect(), ..Txn::default() }).await.unwrap();
        }
    };
    let before = resident_mib();
    let memory = engine();
    fill(&memory).await;
    println!("\na million keys of 1.5 KB in memory take               {:>9.0} MiB", resident_mib() - before);
    drop(memory);
    let engine = open(data.path());
    fill(&engine).await;
    engine.close();
    engine.closed().await;
    drop(engine);
    let (cpu, started) = (cpu_micros("self"), Instant::now());
    let disk = Disk::open(data.path(), Syncing::Always).unwrap();
    let (engine, _loop) = Engine::open(Box::new(disk), options()).unwrap();
    assert_eq!(engine.revision(), 1 + (MILLION / BATCH) as i64);
    let used = (cpu_micros("self") - cpu) as f64 / 1e6;
    let took = started.elapsed().as_secs_f64();
    println!("a folder with a million keys opens in                 {took:>9.2} s, {used:.2} s of CPU");
}

fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

fn per_second(count: u64, since: Instant) -> f64 {
    count as f64 / since.elapsed().as_secs_f64()
}
