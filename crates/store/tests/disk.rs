//! A store that is closed, killed, damaged and opened again.
#![cfg(feature = "sled")]

use std::fs;
use std::path::Path;
use std::thread::JoinHandle;

use coracle_ambient::Ambient;
use coracle_journal::Recorder;
use coracle_store::disk::{self, Disk, Syncing};
use coracle_store::{
    Engine, Error, KeyRange, KeyValue, Operation, Options, RangeRequest, Revision, Store, Txn, WatchRequest,
};

const FIRST_SEGMENT: &str = "log/00000000000000000001";

/// An engine on a folder, with the thread that owns the folder.
struct Opened {
    engine: Engine,
    owner: JoinHandle<()>,
}

fn options() -> Options {
    Options::new(Ambient::seeded(1), Recorder::off())
}

fn try_open(path: &Path) -> Result<Opened, Error> {
    on(Disk::open(path, Syncing::Always)?)
}

#[expect(clippy::disallowed_methods, reason = "the caller of the engine starts the thread that owns the disk")]
fn on(disk: Disk) -> Result<Opened, Error> {
    let (engine, commit_loop) = Engine::open(Box::new(disk), options())?;
    Ok(Opened { engine, owner: std::thread::spawn(move || commit_loop.run()) })
}

fn open(path: &Path) -> Opened {
    try_open(path).unwrap()
}

impl Opened {
    fn close(self) {
        self.engine.close();
        self.owner.join().unwrap();
    }

    async fn put(&self, key: String, value: Vec<u8>) -> Revision {
        let txn = Txn { success: vec![Operation::put(key, value)], ..Txn::default() };
        self.engine.txn(txn).await.unwrap().revision
    }

    async fn contents(&self, revision: Revision) -> Result<Vec<KeyValue>, Error> {
        let range = KeyRange { start: "\0".into(), end: "\0".into() };
        Ok(self.engine.range(RangeRequest { range, revision, ..RangeRequest::default() }).await?.kvs)
    }
}

/// Puts keys, overwrites some, deletes one, compacts, and goes on.
async fn work(store: &Opened, rounds: u8) {
    for round in 0..rounds {
        for number in 0..20 {
            store.put(format!("key-{number}"), vec![round; 100]).await;
        }
        let delete = Txn { success: vec![Operation::delete(format!("key-{round}"))], ..Txn::default() };
        store.engine.txn(delete).await.unwrap();
        if round % 3 == 2 {
            store.engine.compact(store.engine.revision() - 10).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_store_that_is_opened_again_is_the_same_with_its_history_and_leases() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let lease = store.engine.lease_grant(0, 100).await.unwrap();
    let ended = store.engine.lease_grant(0, 100).await.unwrap();
    work(&store, 10).await;
    let put = Operation::Put {
        key: "leased".into(),
        value: "1".into(),
        lease,
        prev_kv: false,
        ignore_value: false,
        ignore_lease: false,
    };
    store.engine.txn(Txn { success: vec![put], ..Txn::default() }).await.unwrap();
    store.engine.lease_revoke(ended).await.unwrap();
    let (revision, compacted) = (store.engine.revision(), store.engine.compacted());
    let mut past = Vec::new();
    for revision in compacted..=revision {
        past.push(store.contents(revision).await.unwrap());
    }
    let hash = store.engine.history_hash(0).await.unwrap();
    store.close();

    let store = open(folder.path());
    assert_eq!((store.engine.revision(), store.engine.compacted()), (revision, compacted));
    for (offset, expected) in past.iter().enumerate() {
        assert_eq!(store.contents(compacted + offset as i64).await.unwrap(), *expected);
    }
    assert_eq!(store.engine.history_hash(0).await.unwrap(), hash);
    assert_eq!(store.engine.leases().await.unwrap(), [lease]);
    assert_eq!(store.engine.lease_status(lease).await.unwrap().keys, ["leased"]);
    let range = KeyRange::prefix("key-");
    let request = WatchRequest { range, start_revision: compacted + 1, prev_kv: true };
    let batch = store.engine.watch(request).await.unwrap().next().await.unwrap();
    assert!(batch.events.iter().all(|event| event.kv.version == 1 || event.prev_kv.is_some()));
    assert_eq!(batch.revision, revision);
    store.close();
}

#[tokio::test]
async fn values_of_all_sizes_survive() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for size in [0, 1, 32_000, 33_000, 200_000, 1_500_000] {
        store.put(format!("size-{size}"), (0..size).map(|index| index as u8).collect()).await;
    }
    let before = store.contents(0).await.unwrap();
    store.close();
    let store = open(folder.path());
    assert_eq!(store.contents(0).await.unwrap(), before);
    store.close();
}

#[tokio::test]
async fn a_folder_in_use_of_another_format_or_of_something_else_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let refusal = try_open(folder.path()).err().unwrap().to_string();
    assert!(refusal.contains("in use by another process"), "{refusal}");
    store.close();

    fs::write(folder.path().join("FORMAT"), "coracle store, format 9\n").unwrap();
    let refusal = try_open(folder.path()).err().unwrap().to_string();
    assert!(refusal.contains("format 9"), "{refusal}");

    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("thesis.txt"), "mine").unwrap();
    let refusal = try_open(other.path()).err().unwrap().to_string();
    assert!(refusal.contains("thesis.txt"), "{refusal}");
    assert_eq!(fs::read(other.path().join("thesis.txt")).unwrap(), b"mine");
}

#[tokio::test]
async fn a_folder_can_be_opened_again_as_soon_as_its_engine_says_that_it_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    for round in 1..10 {
        let store = open(folder.path());
        assert_eq!(store.put("key".to_owned(), vec![1]).await, round + 1);
        store.engine.close();
        store.engine.closed().await;
    }
}

#[tokio::test]
async fn a_log_behind_its_head_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    work(&store, 2).await;
    store.close();
    let early = tempfile::tempdir().unwrap();
    copy(folder.path(), early.path());
    let store = open(folder.path());
    store.put("later".to_owned(), vec![1]).await;
    store.close();
    fs::copy(folder.path().join("head"), early.path().join("head")).unwrap();
    let refusal = try_open(early.path()).err().unwrap().to_string();
    assert!(refusal.contains("it was acknowledged and is missing"), "{refusal}");
}

#[tokio::test]
async fn a_flipped_byte_anywhere_is_refused_or_harmless_and_never_a_quiet_loss() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    work(&store, 7).await;
    let expected = store.contents(0).await.unwrap();
    let hash = store.engine.history_hash(0).await.unwrap();
    store.close();
    let random = Ambient::seeded(11).random;
    let (mut refused, mut harmless) = (0, 0);
    for round in 0..120 {
        let damaged = tempfile::tempdir().unwrap();
        copy(folder.path(), damaged.path());
        let file = damaged
            .path()
            .join([FIRST_SEGMENT, "log/floor", "head", "FORMAT", FIRST_SEGMENT, FIRST_SEGMENT][round % 6]);
        let mut bytes = fs::read(&file).unwrap();
        let written = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0) as u64 + 1;
        bytes[random.below(written) as usize] ^= 1 << random.below(8);
        fs::write(&file, bytes).unwrap();
        match try_open(damaged.path()) {
            Err(error) => {
                assert!(error.to_string().contains(&damaged.path().display().to_string()), "{error}");
                refused += 1;
            }
            Ok(store) => {
                assert_eq!(store.contents(0).await.unwrap(), expected, "{}", file.display());
                assert_eq!(store.engine.history_hash(0).await.unwrap(), hash);
                store.close();
                harmless += 1;
            }
        }
    }
    assert!(refused > 0 && harmless > 0, "refused {refused}, harmless {harmless}");
}

#[tokio::test]
async fn a_backup_restores_to_its_end_or_to_a_revision_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("store"));
    work(&store, 5).await;
    let (revision, compacted) = (store.engine.revision(), store.engine.compacted());
    let latest = store.contents(0).await.unwrap();
    let earlier = store.contents(revision - 5).await.unwrap();
    store.close();
    let file = folder.path().join("backup");
    assert_eq!(disk::backup(&folder.path().join("store"), &file).unwrap().revision, revision);

    for (name, at, expected) in [("latest", None, &latest), ("earlier", Some(revision - 5), &earlier)] {
        let path = folder.path().join(name);
        let report = disk::restore(&file, &path, at).unwrap();
        assert_eq!(report.revision, at.unwrap_or(revision));
        let store = open(&path);
        assert_eq!(store.contents(0).await.unwrap(), *expected);
        assert_eq!(store.put("next".to_owned(), vec![1]).await, report.revision + 1);
        store.close();
        assert_eq!(disk::check(&path).unwrap().revision, report.revision + 1);
    }
    let restore = |at| disk::restore(&file, &folder.path().join("none"), Some(at));
    assert_eq!(restore(revision + 1), Err(Error::FutureRevision { current: revision }));
    assert_eq!(restore(compacted - 1), Err(Error::Compacted { compacted }));
    assert!(disk::restore(&file, &folder.path().join("latest"), None).is_err());
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, &bytes).unwrap();
    assert!(matches!(disk::restore(&file, &folder.path().join("none"), None), Err(Error::Corrupt(_))));
    fs::write(&file, &bytes[..middle]).unwrap();
    assert!(matches!(disk::restore(&file, &folder.path().join("none"), None), Err(Error::Corrupt(_))));
    assert!(!folder.path().join("none").exists());
}

#[tokio::test]
async fn defragmenting_shrinks_the_folder_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for round in 0..200 {
        store.put("big".to_owned(), vec![round; 200_000]).await;
    }
    store.engine.compact(store.engine.revision()).await.unwrap();
    let hash = store.engine.history_hash(0).await.unwrap();
    store.close();
    let before = disk::check(folder.path()).unwrap();
    let after = disk::defragment(folder.path()).unwrap();
    assert!(after.size_bytes < before.size_bytes, "{} then {}", before.size_bytes, after.size_bytes);
    let store = open(folder.path());
    assert_eq!(store.engine.history_hash(0).await.unwrap(), hash);
    store.close();
}

#[tokio::test]
async fn the_folder_grows_with_what_is_alive_and_not_with_its_history() {
    const SEGMENT_BYTES: u64 = 32 << 10;
    let folder = tempfile::tempdir().unwrap();
    let open = || on(Disk::open(folder.path(), Syncing::Never).unwrap().with_segment_bytes(SEGMENT_BYTES)).unwrap();
    let mut store = open();
    let mut files = 0;
    for round in 0..60_u8 {
        store.put(format!("kept-{round}"), vec![round; 1000]).await;
        for number in 0..30 {
            store.put(format!("changed-{}", number % 10), vec![round; 2000]).await;
        }
        store.engine.compact(store.engine.revision()).await.unwrap();
        files = files.max(fs::read_dir(folder.path().join("log")).unwrap().count());
        if round % 20 == 19 {
            let hash = store.engine.history_hash(0).await.unwrap();
            store.close();
            store = open();
            assert_eq!(store.engine.history_hash(0).await.unwrap(), hash);
        }
    }
    store.close();
    let size = disk::check(folder.path()).unwrap().size_bytes;
    let live = 60 * 1100 + 10 * 2100;
    assert!(size <= 2 * live + 2 * SEGMENT_BYTES as i64, "{size} bytes for {live} that are alive");
    assert!(files < 20, "{files} files");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target)
        } else {
            drop(fs::copy(entry.path(), target))
        }
    }
}
