//! Many clients at once: what each was told has to be explained by one order of the writes, in which nobody who was
//! answered is overtaken by somebody who asked later; and every watch has to deliver exactly that order.
//!
//! Every answer names the revision of the store, so the order is given, and checking it takes one pass.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the clock is real, or one receiver waits: the order in which receivers wake does not matter"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use coracle_ambient::Random;
use coracle_store::{
    Compare, Event, EventKind, KeyRange, Operation, OperationResult, RangeRequest, Revision, Store, Txn, WatchRequest,
};
use tokio::task::JoinSet;

use crate::common::{connect, open_disk, real_etcd, serve};

const CLIENTS: u64 = 16;
const KEYS: u64 = 5;
const OPERATIONS: u64 = 150;

/// What a client did, and what it was told.
#[derive(Clone, Debug)]
struct Done {
    /// Places in the one order of all calls and returns.
    called: u64,
    returned: u64,
    key: Bytes,
    told: Told,
}

#[derive(Clone, Debug)]
enum Told {
    /// The key's value and revision, read at a revision of the store.
    Read { at: Revision, found: Option<(Bytes, Revision)> },
    /// The value that was put (or nothing: deleted) at a revision, guarded by the key's revision before.
    Wrote { at: Revision, guard: Revision, value: Option<Bytes> },
    /// The guard did not hold; what was there instead.
    Refused { at: Revision, guard: Revision, found: Option<Revision> },
}

impl Told {
    fn at(&self) -> Revision {
        match self {
            Self::Read { at, .. } | Self::Wrote { at, .. } | Self::Refused { at, .. } => *at,
        }
    }
}

/// Explains the history, or says what cannot be explained.
fn check(history: &[Done]) -> Result<(), String> {
    // A read at a revision comes after the write that made it.
    let mut order: Vec<&Done> = history.iter().collect();
    order.sort_by_key(|done| (done.told.at(), !matches!(done.told, Told::Wrote { .. })));
    let mut store: BTreeMap<&Bytes, (Option<&Bytes>, Revision)> = BTreeMap::new();
    let mut newest = 0;
    for done in &order {
        let current = store.get(&done.key).copied();
        let live = current.and_then(|(value, revision)| Some((value?.clone(), revision)));
        match &done.told {
            Told::Wrote { at, guard, value } => {
                if *at <= newest {
                    return Err(format!("two writes made revision {at}"));
                }
                newest = *at;
                if live.as_ref().map_or(0, |(_, revision)| *revision) != *guard {
                    return Err(format!("a write was let through against {live:?}: {done:?}"));
                }
                store.insert(&done.key, (value.as_ref(), *at));
            }
            Told::Read { found, .. } if *found != live => return Err(format!("{live:?} was there: {done:?}")),
            Told::Refused { guard, found, .. } => {
                let revision = live.map(|(_, revision)| revision);
                if *found != revision || *guard == revision.unwrap_or(0) {
                    return Err(format!("{revision:?} was there: {done:?}"));
                }
            }
            Told::Read { .. } => {}
        }
    }
    check_real_time(history)
}

/// Whoever was answered before another asked must not have seen more than the other.
fn check_real_time(history: &[Done]) -> Result<(), String> {
    let mut by_call: Vec<&Done> = history.iter().collect();
    by_call.sort_by_key(|done| done.called);
    let mut by_return = by_call.clone();
    by_return.sort_by_key(|done| done.returned);
    let mut returned = by_return.into_iter().peekable();
    let mut newest = 0;
    for done in by_call {
        while let Some(earlier) = returned.next_if(|earlier| earlier.returned < done.called) {
            newest = newest.max(earlier.told.at());
        }
        if done.told.at() < newest {
            return Err(format!("revision {newest} had been seen before this was asked: {done:?}"));
        }
    }
    Ok(())
}

async fn client(store: Arc<dyn Store>, number: u64, clock: Arc<AtomicU64>) -> Vec<Done> {
    let random = Random::from_seed(number);
    let tick = || clock.fetch_add(1, Ordering::SeqCst);
    let mut done = Vec::new();
    let mut guards: BTreeMap<Bytes, Revision> = BTreeMap::new();
    for step in 0..OPERATIONS {
        let key = Bytes::from(format!("x/{}", random.below(KEYS)));
        let called = tick();
        let told = if random.below(3) == 0 {
            let request = RangeRequest { range: KeyRange::key(key.clone()), ..RangeRequest::default() };
            let response = store.range(request).await.unwrap();
            let found = response.kvs.first().map(|kv| (kv.value.clone(), kv.mod_revision));
            guards.insert(key.clone(), found.as_ref().map_or(0, |(_, revision)| *revision));
            Told::Read { at: response.revision, found }
        } else {
            let guard = guards.get(&key).copied().unwrap_or(0);
            let value = (guard == 0 || random.below(4) > 0).then(|| Bytes::from(format!("{number}/{step}")));
            let write = match &value {
                Some(value) => Operation::put(key.clone(), value.clone()),
                None => Operation::delete(key.clone()),
            };
            let txn = Txn {
                compare: vec![Compare::mod_revision(key.clone(), guard)],
                success: vec![write],
                failure: vec![Operation::get(key.clone())],
                cause: None,
            };
            let response = store.txn(txn).await.unwrap();
            match response.results.first() {
                Some(OperationResult::Range(range)) => {
                    let found = range.kvs.first().map(|kv| kv.mod_revision);
                    guards.insert(key.clone(), found.unwrap_or(0));
                    Told::Refused { at: response.revision, guard, found }
                }
                _ => {
                    guards.insert(key.clone(), if value.is_some() { response.revision } else { 0 });
                    Told::Wrote { at: response.revision, guard, value }
                }
            }
        };
        done.push(Done { called, returned: tick(), key, told });
    }
    done
}

/// Follows the keys from `start`, slowly at times, until `end`; checks what the guarantees of a watch say of one watch.
async fn follow(store: Arc<dyn Store>, start: Revision, mut end: tokio::sync::watch::Receiver<Revision>) -> Vec<Event> {
    let request = WatchRequest { range: KeyRange::prefix("x/"), start_revision: start, prev_kv: true };
    let mut watcher = store.watch(request).await.unwrap();
    let random = Random::from_seed(start as u64);
    let mut events: Vec<Event> = Vec::new();
    let mut bookmark = start - 1;
    while *end.borrow_and_update() == 0 || events.last().is_none_or(|event| event.kv.mod_revision < *end.borrow()) {
        let Ok(batch) = tokio::time::timeout(Duration::from_millis(200), watcher.next()).await else { continue };
        let batch = batch.unwrap();
        assert!(batch.events.iter().all(|event| event.kv.mod_revision > bookmark), "nothing after its bookmark");
        assert!(batch.revision >= bookmark, "bookmarks never go back");
        bookmark = batch.revision.max(bookmark);
        events.extend(batch.events);
        if random.below(8) == 0 {
            tokio::time::sleep(Duration::from_millis(random.below(20))).await;
        }
    }
    events
}

async fn run(store: Arc<dyn Store>) {
    let mark = async |store: &dyn Store| {
        let txn = Txn { success: vec![Operation::put("x/mark", "")], ..Txn::default() };
        store.txn(txn).await.unwrap().revision
    };
    let first = mark(&*store).await;
    let (end, ended) = tokio::sync::watch::channel(0);
    let mut followers = JoinSet::new();
    for offset in 0..4 {
        followers.spawn(follow(store.clone(), first + 1 + offset * 40, ended.clone()));
    }
    let clock = Arc::new(AtomicU64::new(0));
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        clients.spawn(client(store.clone(), number, clock.clone()));
    }
    let history: Vec<Done> = clients.join_all().await.into_iter().flatten().collect();
    check(&history).unwrap_or_else(|why| panic!("{why}"));
    end.send(mark(&*store).await).unwrap();
    let mut right: Vec<(Revision, Bytes, Option<Bytes>)> = history
        .iter()
        .filter_map(|done| match &done.told {
            Told::Wrote { at, value, .. } => Some((*at, done.key.clone(), value.clone())),
            _ => None,
        })
        .collect();
    right.sort();
    for events in followers.join_all().await {
        let start = events.first().map_or(0, |event| event.kv.mod_revision);
        let seen: Vec<_> = events
            .into_iter()
            .filter(|event| event.kv.key != "x/mark")
            .map(|event| {
                assert!(event.kv.version == 1 || event.prev_kv.is_some(), "what was before is there");
                let value = (event.kind == EventKind::Put).then(|| event.kv.value.clone());
                (event.kv.mod_revision, event.kv.key, value)
            })
            .collect();
        let expected: Vec<_> = right.iter().filter(|(at, ..)| *at >= start).cloned().collect();
        assert_eq!(seen, expected, "a watch delivers every write once and in order");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_is_linearizable_and_its_watches_are_complete() {
    run(Arc::new(serve().await.engine.clone())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_on_disk_is_linearizable_and_its_watches_are_complete() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, owner) = open_disk(folder.path());
    run(Arc::new(engine.clone())).await;
    engine.close();
    owner.join().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_etcd_server_is_linearizable_and_its_watches_are_complete() {
    let served = serve().await;
    run(Arc::new(connect(&served.url).await)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_etcd_passes_the_same_check() {
    let Some(etcd) = real_etcd().await else { return };
    run(Arc::new(connect(&etcd.url).await)).await;
}

#[test]
fn the_checker_finds_histories_that_are_known_to_be_wrong() {
    let done = |called, returned, told| Done { called, returned, key: "k".into(), told };
    let wrote = |at, guard, value: &'static str| Told::Wrote { at, guard, value: Some(value.into()) };
    let read = |at, found: Option<(&'static str, Revision)>| Told::Read {
        at,
        found: found.map(|(value, revision)| (value.into(), revision)),
    };
    let right = vec![done(0, 1, wrote(2, 0, "a")), done(2, 3, read(2, Some(("a", 2)))), done(4, 5, wrote(3, 2, "b"))];
    assert_eq!(check(&right), Ok(()));
    let with = |told, called| {
        let mut history = right.clone();
        history.push(done(called, called + 1, told));
        check(&history)
    };
    assert_eq!(with(read(3, Some(("b", 3))), 6), Ok(()));
    assert!(with(read(2, Some(("a", 2))), 6).unwrap_err().contains("had been seen"), "a stale read");
    assert!(with(read(3, Some(("a", 2))), 6).unwrap_err().contains("was there"), "a wrong read");
    assert!(with(wrote(3, 3, "c"), 6).unwrap_err().contains("two writes"), "a revision made twice");
    assert!(with(wrote(4, 2, "c"), 6).unwrap_err().contains("let through"), "a lost update");
    let refused = Told::Refused { at: 3, guard: 3, found: Some(3) };
    assert!(with(refused, 6).unwrap_err().contains("was there"), "a guard that held and was refused");
}
