//! A face over the engine, and a real etcd, for tests that ask both the same.

#![allow(dead_code, clippy::allow_attributes, reason = "every test uses a part of it")]

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Ambient;
use coracle_etcd::{EtcdStore, Face, FaceOptions, Options};
use coracle_journal::Recorder;
use coracle_store::{Engine, KeyRange, RangeRequest, Store};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A store that listens on a socket, until it is dropped.
pub(crate) struct Served {
    pub(crate) engine: Engine,
    pub(crate) url: String,
    _tasks: JoinSet<()>,
}

pub(crate) async fn serve() -> Served {
    let engine = Engine::in_memory(coracle_store::Options::new(Ambient::seeded(1), Recorder::off()));
    serve_engine(engine).await
}

pub(crate) async fn serve_engine(engine: Engine) -> Served {
    serve_engine_at("127.0.0.1:0", engine).await
}

pub(crate) async fn serve_engine_at(address: &str, engine: Engine) -> Served {
    let listener = TcpListener::bind(address).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let options = FaceOptions { client_urls: vec![url.clone()], ..FaceOptions::default() };
    let face = Face::new(Arc::new(engine.clone()), options);
    let mut tasks = JoinSet::new();
    let expiry = engine.clone();
    tasks.spawn(async move { expiry.expire_leases().await });
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((socket, _)) = listener.accept().await {
            socket.set_nodelay(true).unwrap();
            let face = face.clone();
            connections.spawn(async move { drop(face.serve_connection(socket).await) });
        }
    });
    Served { engine, url, _tasks: tasks }
}

/// An engine on a folder, with the thread that owns the folder.
#[expect(clippy::disallowed_methods, reason = "the caller of the engine starts the thread that owns the disk")]
pub(crate) fn open_disk(path: &std::path::Path) -> (Engine, std::thread::JoinHandle<()>) {
    let options = coracle_store::Options::new(Ambient::seeded(1), Recorder::off());
    let disk = coracle_store::disk::Disk::open(path, coracle_store::disk::Syncing::Always).unwrap();
    let (engine, commit_loop) = Engine::open(Box::new(disk), options).unwrap();
    (engine, std::thread::spawn(move || commit_loop.run()))
}

/// An etcd process, until it is dropped.
pub(crate) struct RealEtcd {
    pub(crate) url: String,
    /// Where it would listen for other members.
    pub(crate) peer: String,
    arguments: Vec<String>,
    child: Option<Child>,
    _data: TempDir,
}

impl RealEtcd {
    /// Prepares a member; it does not run yet.
    async fn new(name: &str) -> Self {
        let data = tempfile::tempdir().unwrap();
        let url = format!("http://127.0.0.1:{}", free_port().await);
        let peer = format!("http://127.0.0.1:{}", free_port().await);
        let arguments = [
            ["--name", name],
            ["--data-dir", data.path().to_str().unwrap()],
            ["--log-level", "error"],
            ["--listen-client-urls", &url],
            ["--advertise-client-urls", &url],
            ["--listen-peer-urls", &peer],
            ["--initial-advertise-peer-urls", &peer],
        ];
        let arguments = arguments.into_iter().flatten().map(str::to_owned).collect();
        Self { url, peer, arguments, child: None, _data: data }
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts it, or starts it again.
    pub(crate) fn start(&mut self) {
        let mut command = Command::new("etcd");
        command.arg("--unsafe-no-fsync").args(&self.arguments).stdout(Stdio::null()).stderr(Stdio::null());
        self.child = Some(command.spawn().unwrap());
    }
}

impl Drop for RealEtcd {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts the machine's etcd; `None`, with a line that says so, if it has none.
pub(crate) async fn real_etcd() -> Option<RealEtcd> {
    real_cluster(1).await?.pop()
}

/// Starts so many members of one cluster; `None`, with a line that says so, if there is no etcd.
pub(crate) async fn real_cluster(size: usize) -> Option<Vec<RealEtcd>> {
    if find("etcd").is_none() {
        println!("SKIPPED: there is no etcd on this machine");
        return None;
    }
    let mut members = Vec::new();
    for number in 0..size {
        members.push(RealEtcd::new(&if size == 1 { "default".to_owned() } else { format!("m{number}") }).await);
    }
    let initial: Vec<String> =
        members.iter().map(|member| format!("{}={}", member.arguments[1], member.peer)).collect();
    for member in &mut members {
        member.arguments.extend(["--initial-cluster".to_owned(), initial.join(",")]);
        member.start();
    }
    for member in &members {
        answers(&member.url).await;
    }
    Some(members)
}

/// Waits until a store answers.
pub(crate) async fn answers(url: &str) {
    for _ in 0..200 {
        if let Ok(store) = EtcdStore::connect(endpoints(url)).await
            && store.range(RangeRequest { range: KeyRange::key("x"), ..RangeRequest::default() }).await.is_ok()
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the etcd of this machine does not start");
}

pub(crate) fn endpoints(url: &str) -> Options {
    Options { endpoints: vec![url.to_owned()], tls: None }
}

pub(crate) async fn connect(url: &str) -> EtcdStore {
    EtcdStore::connect(endpoints(url)).await.unwrap()
}

pub(crate) fn find(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(program)).find(|path| path.is_file())
}

async fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
}
