//! The process that is recorded.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use coracle_ambient::{Ambient, Random};
use coracle_journal::Recorder;
use coracle_store::disk::{Disk, Syncing};
use coracle_store::{Compare, Engine, Error, KeyRange, Operation, Options, RangeRequest, Store, Txn};

use crate::{number, path_of};

pub(crate) const FOLDER: &str = "CORACLE_POWER_FOLDER";
pub(crate) const SEED: &str = "CORACLE_POWER_SEED";
pub(crate) const NO_SYNCS: &str = "CORACLE_POWER_NO_SYNCS";
/// Small, so that segments begin and are cleaned.
const SEGMENT_BYTES: u64 = 64 << 10;
const WRITERS: u64 = 3;
const KEYS: u64 = 12;
/// Longer than the store waits before it tries the disk again.
const PATIENCE: Duration = Duration::from_secs(60);

#[expect(clippy::disallowed_methods, reason = "the caller of the engine starts the thread that owns the disk")]
pub(crate) fn open(path: &Path) -> Result<(Engine, JoinHandle<()>), Error> {
    let options = Options::new(Ambient::seeded(1), Recorder::off());
    let syncing = if std::env::var_os(NO_SYNCS).is_some() { Syncing::Never } else { Syncing::Always };
    let disk = Disk::open(path, syncing)?;
    let (engine, commit_loop) = Engine::open(Box::new(disk.with_segment_bytes(SEGMENT_BYTES)), options)?;
    Ok((engine, std::thread::spawn(move || commit_loop.run())))
}

/// The value of a key's write number `count`: most are small, some are larger than a segment.
pub(crate) fn value(key: &str, count: u64) -> Vec<u8> {
    let random = Random::from_seed(count).split(key);
    let most = if random.below(20) == 0 { 90_000 } else { 2_000 };
    let mut value = format!("{count} ").into_bytes();
    let length = value.len() + random.below(most) as usize;
    while value.len() < length {
        value.extend(random.bits().to_le_bytes());
    }
    value
}

pub(crate) fn count_in(value: &[u8]) -> u64 {
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |count, digit| count * 10 + u64::from(digit - b'0'))
}

/// Says lines in the order of the recorder.
#[derive(Clone)]
struct Said(Arc<File>);

impl Said {
    fn line(&self, line: String) {
        (&*self.0).write_all((line + "\n").as_bytes()).unwrap();
    }
}

/// Not a test by itself: the recorder starts it in another process.
#[tokio::test]
async fn writes_for_the_recorder() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let said = Said(Arc::new(File::create(path_of(".said", Path::new(&folder))).unwrap()));
    let random = Random::from_seed(number(SEED, 1));
    let rounds = number("CORACLE_POWER_WRITES", 150);
    let (engine, owner) = opened(Path::new(&folder)).await;
    if let Ok(lease) = engine.lease_grant(0, 1_000_000).await {
        said.line(format!("leased {lease}"));
    }
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(write(writer, rounds, engine.clone(), random.split(&writer.to_string()), said.clone()));
    }
    let finished = tokio::time::timeout(2 * PATIENCE, writers.join_all()).await;
    finished.expect("the store answers");
    if random.below(2) == 0 {
        engine.close();
        owner.join().unwrap();
    }
    // Without a word to the store: the power goes.
    std::process::exit(0);
}

/// A fault may strike while the store is opened: then it is opened again, as an operator would.
async fn opened(folder: &Path) -> (Engine, JoinHandle<()>) {
    loop {
        match open(folder) {
            Ok(opened) => return opened,
            Err(Error::Unavailable(_) | Error::NoSpace(_)) => tokio::time::sleep(Duration::from_millis(10)).await,
            Err(error) => panic!("{error}"),
        }
    }
}

async fn write(writer: u64, rounds: u64, engine: Engine, random: Random, said: Said) {
    for round in 0..rounds {
        let key = format!("{writer}/{}", random.below(KEYS));
        let get = RangeRequest { range: KeyRange::key(key.clone()), ..RangeRequest::default() };
        let current = engine.range(get).await.unwrap();
        let (revision, count) = current.kvs.first().map_or((0, 0), |kv| (kv.mod_revision, count_in(&kv.value)));
        let value = value(&key, count + 1);
        said.line(format!("begin {key} {}", count + 1));
        let txn = Txn {
            compare: vec![Compare::mod_revision(key.clone(), revision)],
            success: vec![Operation::put(key.clone(), value.clone()), Operation::put(format!("twin/{key}"), value)],
            ..Txn::default()
        };
        match engine.txn(txn).await {
            Ok(response) => {
                assert!(response.succeeded, "nobody else writes this key");
                said.line(format!("done {key} {} {}", count + 1, response.revision));
            }
            Err(Error::Unavailable(_) | Error::NoSpace(_)) => refused(&engine, &key, count, &said).await,
            Err(error) => panic!("{error}"),
        }
        if writer == 0 && round % 20 == 19 {
            tend(&engine, round, &random, &said).await;
        }
    }
}

/// A write was not taken: what was acknowledged can be read, and after a while writes are taken again.
async fn refused(engine: &Engine, key: &str, count: u64, said: &Said) {
    said.line("refused".to_owned());
    let get = || RangeRequest { range: KeyRange::key(key.to_owned()), ..RangeRequest::default() };
    let since = tokio::time::Instant::now();
    loop {
        let found = engine.range(get()).await.unwrap().kvs.first().map_or(0, |kv| count_in(&kv.value));
        assert_eq!(found, count, "{key} can be read as it was acknowledged");
        if !engine.status().await.unwrap().no_space {
            return;
        }
        assert!(since.elapsed() < PATIENCE, "the store comes back");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Compacts, and sometimes writes the log anew.
async fn tend(engine: &Engine, round: u64, random: &Random, said: &Said) {
    let revision = engine.revision() - 20;
    if revision > engine.compacted() {
        said.line(format!("compacting {revision}"));
        if engine.compact(revision).await.is_ok() {
            said.line(format!("compacted {revision}"));
        }
    }
    if round % 100 == 59 && random.below(2) == 0 {
        // It may fail like any other work on the disk, and leaves everything as it was then.
        let _ = engine.defragment().await;
    }
}
