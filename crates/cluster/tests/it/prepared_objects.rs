//! An empty store gets the default objects in a prepared form, which must be what their creates store.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use coracle_ambient::Ambient;
use coracle_apiserver::NoNodes;
use coracle_cluster::{ApiServer, ApiServerOptions, Release, StoreSpec};
use coracle_journal::Recorder;
use coracle_store::{KeyRange, KeyValue, RangeRequest, Revision, Store};
use serde_json::Value;

use crate::remote_store::{Message, StoreBehind, Wire};

const FILE: &str = include_str!("../../src/prepared_objects.txt");

const HEAD: &str = "\
# The default objects of each release as their creates store them, in the order of the writes. A test writes this file.
#
# head PLURAL VERSION TEXT          what the values of some objects begin with, numbered from 0
# RELEASES create HEAD REST         the rest of an object's value, from its name
# RELEASES replace HEAD REST        the value that takes the place of one that was created
# RELEASES options PLURAL           the object of this resource, which depends on the options
#
# @uid@, @created@ and @now@ stand for the uid, the creation time and the time of the write.
";

/// A wire on which each write takes a second, so that no two objects have the same creation time.
#[derive(Default)]
struct SlowWrites {
    /// How many reads there were.
    reads: AtomicUsize,
}

#[async_trait]
impl Wire for SlowWrites {
    async fn carry(&self, message: Message) {
        match message {
            Message::Range => drop(self.reads.fetch_add(1, Ordering::Relaxed)),
            Message::Txn => tokio::time::sleep(Duration::from_secs(1)).await,
            Message::Stream | Message::Answer => {}
        }
    }
}

/// What an API server writes to an empty store while it starts.
struct Written {
    store: Arc<dyn Store>,
    /// The last version of each key.
    all: Vec<KeyValue>,
    reads: usize,
}

async fn written(options: ApiServerOptions) -> Written {
    let ambient = Ambient::seeded(7);
    let store = StoreSpec::Memory.open(&ambient, &Recorder::off()).await.unwrap().store;
    let slow = Arc::new(StoreBehind { store: Arc::clone(&store), wire: SlowWrites::default() });
    let through = Arc::clone(&slow) as Arc<dyn Store>;
    let server = ApiServer::start(&options, through, Arc::new(NoNodes), &ambient, &Recorder::off()).await.unwrap();
    let reads = slow.wire.reads.load(Ordering::Relaxed);
    drop(server);
    let range = RangeRequest { range: KeyRange::prefix("/registry/"), ..RangeRequest::default() };
    let all = store.range(range).await.unwrap().kvs;
    Written { store, all, reads }
}

/// The default options, and others with the same effect for which nothing is prepared.
fn both(release: &Release) -> [ApiServerOptions; 2] {
    let default = || ApiServerOptions { release: release.clone(), ..ApiServerOptions::default() };
    let enable_admission_plugins = vec!["NamespaceLifecycle".to_owned()];
    [default(), ApiServerOptions { enable_admission_plugins, ..default() }]
}

#[tokio::test(start_paused = true)]
async fn prepared_objects_are_what_creates_store() {
    for release in Release::all() {
        let [prepared, created] = both(&release).map(written);
        let (prepared, created) = (prepared.await, created.await);
        assert!(created.reads > 200, "{release}: each create reads first: {}", created.reads);
        assert!(prepared.reads < 80, "{release}: a prepared object is not read first: {}", prepared.reads);
        assert!(created.all.len() > 150, "{release}");
        for (prepared, created) in prepared.all.iter().zip(&created.all) {
            let text = |kv: &KeyValue| String::from_utf8_lossy(&kv.value).into_owned();
            assert_eq!(prepared.key, created.key, "{release}");
            assert_eq!(text(prepared), text(created), "{release}: {:?}", prepared.key);
            assert_eq!(prepared, created, "{release}: {:?}", prepared.key);
        }
        assert_eq!(prepared.all.len(), created.all.len(), "{release}");
        let revision = prepared.store.status().await.unwrap().revision;
        assert_eq!(revision, created.store.status().await.unwrap().revision, "{release}");
        let hash = prepared.store.history_hash(0).await.unwrap();
        assert_eq!(hash, created.store.history_hash(0).await.unwrap(), "{release}: the history");
    }
}

#[tokio::test(start_paused = true)]
async fn the_file_of_prepared_objects_is_up_to_date() {
    let mut merged = Vec::new();
    for release in Release::all() {
        let [_, options] = both(&release);
        merge(&mut merged, release.version(), lines_of(&written(options).await).await);
    }
    let text = text_of(&merged);
    if std::env::var_os("UPDATE_PREPARED").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/prepared_objects.txt");
        std::fs::write(path, &text).unwrap();
        return;
    }
    assert!(text == FILE, "the default objects have changed: UPDATE_PREPARED=1 cargo test -p coracle-cluster prepared");
}

/// A line of the file, without the releases that have it.
#[derive(PartialEq)]
enum Line {
    Object { verb: &'static str, head: String, rest: String },
    ByOptions(String),
}

/// The resources whose default objects depend on options.
const BY_OPTIONS: [&str; 2] = ["/registry/servicecidrs/", "/registry/services/specs/"];
/// What else is there after a start.
const OTHERS: [&str; 3] = ["/registry/configmaps/", "/registry/ipaddresses/", "/registry/ranges/"];

async fn lines_of(written: &Written) -> Vec<Line> {
    let mut writes: Vec<(Revision, Line)> = Vec::new();
    for kv in &written.all {
        let key = String::from_utf8(kv.key.to_vec()).unwrap();
        if BY_OPTIONS.iter().any(|directory| key.starts_with(directory)) {
            let plural = key.split('/').nth(2).unwrap().to_owned();
            writes.push((kv.create_revision, Line::ByOptions(plural)));
            continue;
        } else if OTHERS.iter().any(|directory| key.starts_with(directory)) {
            continue;
        }
        let range = KeyRange::key(kv.key.clone());
        let request = RangeRequest { range, revision: kv.create_revision, ..RangeRequest::default() };
        let first = written.store.range(request).await.unwrap().kvs.remove(0);
        writes.push((kv.create_revision, object_line("create", &key, &first.value)));
        match kv.version {
            1 => {}
            2 => writes.push((kv.mod_revision, object_line("replace", &key, &kv.value))),
            more => panic!("{key} was written {more} times"),
        }
    }
    writes.sort_by_key(|(revision, _)| *revision);
    writes.into_iter().map(|(_, line)| line).collect()
}

fn object_line(verb: &'static str, key: &str, value: &[u8]) -> Line {
    let object: Value = serde_json::from_slice(value).unwrap();
    let of_metadata = |field: &str| object["metadata"][field].as_str();
    let text = std::str::from_utf8(value).unwrap();
    assert!(!text.contains('@') && !text.contains('\n'), "{text}");
    let mut text = text.replace(of_metadata("uid").unwrap(), "@uid@");
    text = text.replace(of_metadata("creationTimestamp").unwrap(), "@created@");
    if let Some(now) = object["status"]["conditions"][0]["lastTransitionTime"].as_str() {
        text = text.replace(now, "@now@");
    }
    let name = of_metadata("name").unwrap();
    let namespace = of_metadata("namespace").map(|namespace| format!(",\"namespace\":\"{namespace}\""));
    let named = format!("\"name\":\"{name}\"{},\"uid\":\"@uid@\"", namespace.unwrap_or_default());
    let at = text.find(&named).unwrap_or_else(|| panic!("{text}")) + "\"name\":\"".len();
    let (head, rest) = text.split_at(at);
    let plural = key.split('/').nth(2).unwrap();
    let head = format!("{plural} {} {head}", object["apiVersion"].as_str().unwrap());
    Line::Object { verb, head, rest: rest.to_owned() }
}

/// The lines of all releases so far, each with the releases that have it.
type Merged = Vec<(Vec<&'static str>, Line)>;

fn merge(merged: &mut Merged, version: &'static str, lines: Vec<Line>) {
    let mut at = 0;
    for line in lines {
        match merged[at..].iter().position(|(_, own)| *own == line) {
            Some(further) => {
                at += further;
                merged[at].0.push(version);
            }
            None => merged.insert(at, (vec![version], line)),
        }
        at += 1;
    }
}

fn text_of(merged: &Merged) -> String {
    let mut heads: Vec<&str> = Vec::new();
    let mut steps = String::new();
    for (versions, line) in merged {
        let versions = versions.join(",");
        match line {
            Line::ByOptions(plural) => writeln!(steps, "{versions} options {plural}").unwrap(),
            Line::Object { verb, head, rest } => {
                let number = heads.iter().position(|own| own == head).unwrap_or_else(|| {
                    heads.push(head);
                    heads.len() - 1
                });
                writeln!(steps, "{versions} {verb} {number} {rest}").unwrap();
            }
        }
    }
    let mut text = HEAD.to_owned();
    heads.iter().for_each(|head| writeln!(text, "head {head}").unwrap());
    text + &steps
}
