//! What the engine promises, through its public face.

use std::time::Duration;

use coracle_ambient::Ambient;
use coracle_journal::{EntryId, Recorder, Stage};
use coracle_store::{
    AutoCompaction, Cause, Compare, Engine, Error, EventKind, HistoryLimit, KeyRange, Operation, Options, RangeRequest,
    Revision, Store, Txn, TxnResponse, WatchRequest, Watcher,
};

fn engine() -> Engine {
    Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()))
}

async fn write(store: &dyn Store, operations: Vec<Operation>) -> Result<TxnResponse, Error> {
    store.txn(Txn { success: operations, ..Txn::default() }).await
}

async fn put(store: &dyn Store, key: &'static str, value: &'static str) -> Revision {
    write(store, vec![Operation::put(key, value)]).await.unwrap().revision
}

/// Stands for every key.
const ALL: &str = "";

fn range(prefix: &'static str) -> KeyRange {
    if prefix == ALL { KeyRange { start: "\0".into(), end: "\0".into() } } else { KeyRange::prefix(prefix) }
}

async fn keys_at(store: &dyn Store, prefix: &'static str, revision: Revision) -> Result<Vec<String>, Error> {
    let request = RangeRequest { range: range(prefix), revision, ..RangeRequest::default() };
    let found = store.range(request).await?;
    Ok(found.kvs.iter().map(|kv| String::from_utf8(kv.key.to_vec()).unwrap()).collect())
}

async fn watch(store: &dyn Store, prefix: &'static str, start_revision: Revision) -> Box<dyn Watcher> {
    let request = WatchRequest { range: range(prefix), start_revision, prev_kv: true };
    store.watch(request).await.unwrap()
}

#[tokio::test]
async fn a_fresh_store_is_at_revision_1_and_only_changes_make_revisions() {
    let store = engine();
    assert_eq!(store.status().await.unwrap().revision, 1);
    assert_eq!(put(&store, "a", "1").await, 2);
    assert_eq!(write(&store, vec![Operation::delete("missing")]).await.unwrap().revision, 2);
    assert_eq!(put(&store, "a", "1").await, 3, "an equal value is a change");
    let failed =
        Txn { compare: vec![Compare::mod_revision("a", 2)], success: vec![Operation::delete("a")], ..Txn::default() };
    let failed = store.txn(failed).await.unwrap();
    assert!(!failed.succeeded && failed.revision == 3);
}

#[tokio::test]
async fn a_transaction_is_one_revision_and_one_batch() {
    let store = engine();
    let mut watcher = watch(&store, ALL, 0).await;
    write(&store, vec![Operation::put("a", "1"), Operation::put("b", "1")]).await.unwrap();
    let batch = watcher.next().await.unwrap();
    assert_eq!((batch.revision, batch.events.len()), (2, 2));
    assert!(batch.events.iter().all(|event| event.kv.mod_revision == 2));
}

#[tokio::test]
async fn history_can_be_read_at_every_revision_until_it_is_compacted() {
    let store = engine();
    put(&store, "a", "1").await;
    put(&store, "b", "1").await;
    write(&store, vec![Operation::delete("a")]).await.unwrap();
    assert_eq!(keys_at(&store, ALL, 2).await.unwrap(), ["a"]);
    assert_eq!(keys_at(&store, ALL, 3).await.unwrap(), ["a", "b"]);
    assert_eq!(keys_at(&store, ALL, 0).await.unwrap(), ["b"]);
    store.compact(3).await.unwrap();
    assert_eq!(keys_at(&store, ALL, 3).await.unwrap(), ["a", "b"]);
    assert_eq!(keys_at(&store, ALL, 2).await, Err(Error::Compacted { compacted: 3 }));
    assert_eq!(keys_at(&store, ALL, 9).await, Err(Error::FutureRevision { current: 4 }));
    assert_eq!(store.compact(3).await, Err(Error::Compacted { compacted: 3 }));
    assert_eq!(store.compact(9).await, Err(Error::FutureRevision { current: 4 }));
}

#[tokio::test]
async fn a_watch_from_the_past_delivers_every_event_once_with_what_was_before() {
    let store = engine();
    put(&store, "pods/a", "1").await;
    put(&store, "nodes/x", "1").await;
    put(&store, "pods/a", "2").await;
    write(&store, vec![Operation::delete("pods/a")]).await.unwrap();
    let mut watcher = watch(&store, "pods/", 2).await;
    let events = watcher.next().await.unwrap().events;
    let told: Vec<_> = events.iter().map(|event| (event.kind, event.kv.mod_revision)).collect();
    assert_eq!(told, [(EventKind::Put, 2), (EventKind::Put, 4), (EventKind::Delete, 5)]);
    assert_eq!(events[0].prev_kv, None);
    assert_eq!(events[2].prev_kv.as_ref().unwrap().value, "2");
    assert_eq!(watcher.progress().await.unwrap(), 5);
}

#[tokio::test]
async fn progress_moves_with_commits_that_do_not_concern_the_cursor() {
    let store = engine();
    let mut watcher = watch(&store, "pods/", 0).await;
    put(&store, "nodes/x", "1").await;
    assert_eq!(watcher.progress().await.unwrap(), 2);
    put(&store, "pods/a", "1").await;
    put(&store, "nodes/x", "2").await;
    assert_eq!(watcher.progress().await.unwrap(), 2, "an event of revision 3 has not been fetched");
    assert_eq!(watcher.next().await.unwrap().events.len(), 1);
    assert_eq!(watcher.progress().await.unwrap(), 4);
}

#[tokio::test]
async fn a_position_shows_changes_without_the_waiting_cursor() {
    let store = engine();
    let mut watcher = watch(&store, "pods/", 0).await;
    let position = watcher.position().expect("the cursor is in this process");
    let waiting = tokio::spawn(async move { (watcher.next().await, watcher) });
    tokio::task::yield_now().await;
    put(&store, "nodes/x", "1").await;
    assert_eq!(position.unchanged_since(1), Some(2));
    put(&store, "pods/a", "1").await;
    assert_eq!(position.unchanged_since(2), None, "an event of revision 3 has not been fetched");
    let (batch, watcher) = waiting.await.unwrap();
    put(&store, "nodes/x", "2").await;
    assert_eq!(position.unchanged_since(2), None, "it has been fetched, and not been seen by who asks");
    assert_eq!(position.unchanged_since(batch.unwrap().revision), Some(4));
    drop(watcher);
    let _another = watch(&store, "nodes/", 0).await;
    put(&store, "pods/a", "2").await;
    assert_eq!(position.unchanged_since(4), None, "it is nobody else's position");
}

#[tokio::test]
async fn an_idle_cursor_survives_compaction_and_one_that_lags_far_behind_it_ends() {
    let store = engine();
    let mut idle = watch(&store, "pods/", 0).await;
    let mut slow = watch(&store, "nodes/", 0).await;
    for _ in 0..990 {
        put(&store, "nodes/x", "1").await;
    }
    let mut late = watch(&store, "nodes/", 0).await;
    for _ in 0..10 {
        put(&store, "nodes/x", "1").await;
    }
    store.compact(1001).await.unwrap();
    assert_eq!(slow.next().await, Err(Error::Compacted { compacted: 1001 }));
    assert_eq!(late.next().await.unwrap().events.len(), 10, "one that is only just behind gets what it is owed");
    assert_eq!(watch(&store, ALL, 1000).await.next().await, Err(Error::Compacted { compacted: 1001 }));
    put(&store, "pods/a", "1").await;
    assert_eq!(idle.next().await.unwrap().events.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lease_ends_with_its_keys_in_one_revision_unless_it_is_kept_alive() {
    let store = engine();
    let expiry = store.clone();
    let expiry = tokio::spawn(async move { expiry.expire_leases().await });
    let lease = store.lease_grant(0, 10).await.unwrap();
    let with_lease = |key: &'static str| match Operation::put(key, "1") {
        Operation::Put { key, value, .. } => {
            Operation::Put { key, value, lease, prev_kv: false, ignore_value: false, ignore_lease: false }
        }
        other => other,
    };
    write(&store, vec![with_lease("b"), with_lease("a")]).await.unwrap();
    put(&store, "b", "detached").await;
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(store.lease_keep_alive(lease).await, Ok(10));
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(keys_at(&store, ALL, 0).await.unwrap(), ["a", "b"]);
    assert_eq!(store.lease_status(lease).await.unwrap().remaining_seconds, 1);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(keys_at(&store, ALL, 0).await.unwrap(), ["b"]);
    assert_eq!(store.status().await.unwrap().revision, 4);
    assert_eq!(store.lease_keep_alive(lease).await, Err(Error::LeaseNotFound));
    assert_eq!(store.leases().await.unwrap(), Vec::<i64>::new());
    expiry.abort();
}

#[tokio::test]
async fn a_fork_starts_with_the_store_of_its_revision_and_is_independent() {
    let store = engine();
    put(&store, "a", "1").await;
    put(&store, "b", "1").await;
    write(&store, vec![Operation::delete("a")]).await.unwrap();
    let fork = store.fork(3, Options::new(Ambient::seeded(2), Recorder::off())).unwrap();
    assert_eq!(keys_at(&fork, ALL, 0).await.unwrap(), ["a", "b"]);
    assert_eq!(put(&fork, "c", "1").await, 4);
    assert_eq!(keys_at(&store, ALL, 0).await.unwrap(), ["b"]);
    assert_eq!(watch(&fork, ALL, 2).await.next().await.unwrap().events.len(), 3);
    assert_eq!(fork.history_hash(3).await.unwrap().hash, store.history_hash(3).await.unwrap().hash);
}

#[tokio::test]
async fn a_fork_after_a_revision_has_the_state_and_no_watch_continues_from_before() {
    let store = engine();
    put(&store, "a", "1").await;
    put(&store, "a", "2").await;
    put(&store, "b", "1").await;
    write(&store, vec![Operation::delete("b")]).await.unwrap();
    let (before, seen) = (store.status().await.unwrap(), 40);
    let fork = store.fork_after(seen, Options::new(Ambient::seeded(2), Recorder::off()));
    assert_eq!(keys_at(&fork, ALL, 0).await.unwrap(), ["a"]);
    let status = fork.status().await.unwrap();
    assert!(status.revision > seen && status.compacted == status.revision, "{status:?}");
    assert!(status.size_bytes < before.size_bytes, "superseded versions are dropped: {status:?}, {before:?}");
    for next in [2, before.revision, seen, seen + 1] {
        let compacted = Err(Error::Compacted { compacted: status.compacted });
        assert_eq!(watch(&fork, ALL, next).await.next().await, compacted, "a client that has seen {}", next - 1);
    }
    let mut watcher = watch(&fork, ALL, status.revision + 1).await;
    let written = put(&fork, "c", "1").await;
    assert_eq!(written, status.revision + 1);
    assert_eq!(watcher.next().await.unwrap().events.len(), 1);
    assert_eq!(keys_at(&store, ALL, 0).await.unwrap(), ["a"], "the first store goes its own way");
    let later = fork.fork_after(seen, Options::new(Ambient::seeded(3), Recorder::off()));
    assert!(later.revision() > written);
}

#[tokio::test]
async fn each_key_of_a_commit_is_recorded_with_its_cause_before_it_can_be_seen() {
    let recorder = Recorder::ring(100);
    let store = Engine::in_memory(Options::new(Ambient::seeded(1), recorder.clone()));
    let cause = recorder.record("apiserver", Stage::ApiRequest, Default::default);
    let success = vec![Operation::put("/registry/pods/default/web", "1"), Operation::put("other", "1")];
    let by = cause.map(|entry| Cause { entry, subject: None });
    store.txn(Txn { success, cause: by, ..Txn::default() }).await.unwrap();
    let entries = recorder.entries(EntryId(2));
    assert_eq!(entries.iter().map(|entry| entry.subject.as_str()).collect::<Vec<_>>(), ["pods/default/web", "other"]);
    assert!(entries.iter().all(|entry| entry.revision == Some(2) && entry.causes == [cause.unwrap()]));
    assert_eq!(recorder.commit(2).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn periodic_compaction_forgets_what_is_older_than_its_period() {
    let store = engine();
    let compaction = store.clone();
    let period = AutoCompaction::Periodic(Duration::from_secs(100));
    let compaction = tokio::spawn(async move { compaction.auto_compact(period).await });
    for _ in 0..30 {
        put(&store, "a", "1").await;
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
    let status = store.status().await.unwrap();
    assert_eq!(status.revision, 31);
    assert!((19..=21).contains(&status.compacted), "compacted at {}", status.compacted);
    compaction.abort();
}

#[tokio::test(start_paused = true)]
async fn history_is_bounded_by_its_bytes_too() {
    const LIMIT: i64 = 100_000;
    let store = engine();
    let bounded = store.clone();
    let bounding =
        tokio::spawn(async move { bounded.bound_history(HistoryLimit { least: LIMIT as u64, most: 1 << 20 }).await });
    tokio::task::yield_now().await;
    let value = "v".repeat(1000);
    for round in 0..1000 {
        let key = if round % 2 == 0 { "a" } else { "b" };
        write(&store, vec![Operation::put(key, value.clone())]).await.unwrap();
        tokio::task::yield_now().await;
        let status = store.status().await.unwrap();
        assert!(status.size_bytes - status.size_in_use_bytes <= LIMIT + 2000, "round {round}");
    }
    let status = store.status().await.unwrap();
    assert!(status.revision - status.compacted > 20, "no more is forgotten than has to be");
    for round in 0..1000 {
        let key = format!("deleted-{round}");
        write(&store, vec![Operation::put(key.clone(), value.clone())]).await.unwrap();
        write(&store, vec![Operation::delete(key)]).await.unwrap();
        tokio::task::yield_now().await;
    }
    let status = store.status().await.unwrap();
    assert!(status.size_bytes - status.size_in_use_bytes <= LIMIT + 4000, "deletions are history as well");
    for round in 0..300 {
        write(&store, vec![Operation::put(format!("kept-{round}"), value.clone())]).await.unwrap();
        tokio::task::yield_now().await;
    }
    let mut most = 0;
    for round in 0..1000 {
        write(&store, vec![Operation::put(format!("kept-{}", round % 300), value.clone())]).await.unwrap();
        tokio::task::yield_now().await;
        let status = store.status().await.unwrap();
        most = most.max(status.size_bytes - status.size_in_use_bytes);
        assert!(status.size_bytes - status.size_in_use_bytes <= status.size_in_use_bytes + 2000, "round {round}");
    }
    assert!(most > LIMIT * 3 / 2, "a store with more data keeps more history: {most} bytes");
    bounding.abort();
}
