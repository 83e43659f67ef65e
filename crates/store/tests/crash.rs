//! The process of a store is killed at random moments, and the store is opened again.
//!
//! `CORACLE_KILLS` sets how often.
#![cfg(feature = "sled")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use coracle_ambient::{Ambient, Random};
use coracle_journal::Recorder;
use coracle_store::disk::{Disk, Syncing};
use coracle_store::{Compare, Engine, KeyRange, Operation, Options, RangeRequest, Store, Txn};

const FOLDER: &str = "CORACLE_CRASH_FOLDER";
/// Small, so that segments begin and are cleaned.
const SEGMENT_BYTES: u64 = 256 << 10;
const WRITERS: u64 = 4;
const KEYS: u64 = 16;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[expect(clippy::disallowed_methods, reason = "the caller of the engine starts the thread that owns the disk")]
fn open(path: &Path) -> (Engine, std::thread::JoinHandle<()>) {
    let options = Options::new(Ambient::seeded(1), Recorder::off());
    let disk = Disk::open(path, Syncing::Always).unwrap_or_else(|error| panic!("{error}"));
    let (engine, commit_loop) = Engine::open(Box::new(disk.with_segment_bytes(SEGMENT_BYTES)), options)
        .unwrap_or_else(|error| panic!("{error}"));
    (engine, std::thread::spawn(move || commit_loop.run()))
}

/// What the killed process does: every writer counts up its keys, and says of each write that it begins and that it was
/// acknowledged. Not a test by itself: the one below starts it in another process.
#[tokio::test]
async fn writes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let (engine, _owner) = open(Path::new(&folder));
    println!("opened {}", engine.revision());
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let engine = engine.clone();
        writers.spawn(async move {
            let random = Ambient::system().random;
            for round in 0.. {
                let key = format!("{writer}/{}", random.below(KEYS));
                let current = engine
                    .range(RangeRequest { range: KeyRange::key(key.clone()), ..RangeRequest::default() })
                    .await
                    .unwrap();
                let (revision, count) =
                    current.kvs.first().map_or((0, 0), |kv| (kv.mod_revision, number_in(&kv.value)));
                let mut value = (count + 1).to_string().into_bytes();
                let most = if random.below(20) == 0 { 60_000 } else { 2_000 };
                value.resize(value.len() + random.below(most) as usize, b' ');
                println!("begin {key} {}", count + 1);
                let txn = Txn {
                    compare: vec![Compare::mod_revision(key.clone(), revision)],
                    success: vec![
                        Operation::put(key.clone(), value.clone()),
                        Operation::put(format!("twin/{key}"), value),
                    ],
                    ..Txn::default()
                };
                let response = engine.txn(txn).await.unwrap();
                assert!(response.succeeded, "nobody else writes this key");
                println!("done {key} {} {}", count + 1, response.revision);
                if writer == 0 && round % 20 == 19 {
                    engine.compact(engine.revision() - 20).await.unwrap();
                }
            }
        });
    }
    writers.join_next().await.unwrap().unwrap();
}

fn number_in(value: &[u8]) -> u64 {
    String::from_utf8_lossy(value).trim_end().parse().unwrap()
}

/// Starts the writers on a folder, kills them after a while, and returns what they said.
fn run_and_kill(folder: &Path, after: Duration) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writes_until_it_is_killed", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut said = Vec::new();
    while !said.iter().any(|line: &String| line.contains("opened")) {
        let mut line = String::new();
        if lines.read_line(&mut line).unwrap() == 0 {
            let mut why = String::new();
            child.stderr.take().unwrap().read_to_string(&mut why).unwrap();
            panic!("the store does not open again: {why}");
        }
        said.push(line);
    }
    #[expect(clippy::disallowed_methods, reason = "real time has to pass for the process that is killed")]
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    said.extend(rest.split_inclusive('\n').filter(|line| line.ends_with('\n')).map(str::to_owned));
    said
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_and_nothing_else_appears_when_the_process_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let random = Random::from_seed(number("CORACLE_SEED", 3));
    let mut acknowledged: BTreeMap<String, u64> = BTreeMap::new();
    let mut begun: BTreeMap<String, u64> = BTreeMap::new();
    let mut newest = 1;
    for _ in 0..number("CORACLE_KILLS", 200) {
        for line in run_and_kill(folder.path(), Duration::from_micros(random.below(60_000))) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["begin", key, count] => drop(begun.insert(key.to_owned(), count.parse().unwrap())),
                ["done", key, count, revision] => {
                    acknowledged.insert(key.to_owned(), count.parse().unwrap());
                    newest = newest.max(revision.parse().unwrap());
                }
                _ => {}
            }
        }
        let (engine, owner) = open(folder.path());
        assert!(engine.revision() >= newest, "revisions never go back");
        newest = engine.revision();
        for (key, begun) in &begun {
            let get = |key: String| engine.range(RangeRequest { range: KeyRange::key(key), ..RangeRequest::default() });
            let found = get(key.clone()).await.unwrap().kvs.first().map_or(0, |kv| number_in(&kv.value));
            let twin = get(format!("twin/{key}")).await.unwrap().kvs.first().map_or(0, |kv| number_in(&kv.value));
            let acknowledged = acknowledged.get(key).copied().unwrap_or(0);
            assert!((acknowledged..=*begun).contains(&found), "{key}: {acknowledged} acknowledged, {found} found");
            assert_eq!(found, twin, "a transaction is there whole or not at all");
        }
        engine.close();
        owner.join().unwrap();
    }
    assert!(acknowledged.len() > 10 && newest > 100, "the writers wrote");
}
