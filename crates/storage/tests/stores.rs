//! Storage keeps its promises over every store: the engine in memory and on disk, the engine behind our etcd face, a
//! real etcd; and over connections, servers and leaders that go away and come back.

#[path = "etcd/mod.rs"]
mod common;
mod kit;

use std::sync::Arc;
use std::time::Duration;

use common::{RealEtcd, answers, connect, open_disk, real_cluster, real_etcd, serve, serve_engine, serve_engine_at};
use coracle_etcd::{EtcdStore, Options};
use coracle_meta::WatchEvent;
use coracle_storage::{
    Attempt, Draft, Freshness, HistoryLimits, ListQuery, Selection, Storage, Stored, Watch, WatchQuery, WatchStart,
    Write,
};
use coracle_store::Store;
use kit::{
    Mirror, compact, delete, fed, key, labelled, list, mirrors_stay_equal, names, put, steps, thing, things, watch,
};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

async fn promises(store: Arc<dyn Store>) {
    pages(&fed(Storage::new(Arc::clone(&store)))).await;
    guards(&fed(Storage::new(Arc::clone(&store)))).await;
    selected_watches(&fed(Storage::new(Arc::clone(&store)))).await;
    times_to_live(&fed(Storage::new(Arc::clone(&store)))).await;
    let mut runner = TestRunner::deterministic();
    for max_changes in [2, 5, 1000, 1000, 1000] {
        let limits = HistoryLimits { min_changes: 1, max_changes, ..HistoryLimits::default() };
        let steps = steps().new_tree(&mut runner).unwrap().current();
        mirrors_stay_equal(Arc::clone(&store), limits, &steps).await;
    }
}

async fn pages(storage: &Storage) {
    for name in ["a", "b", "c", "d", "e"] {
        put(storage, thing(name, "paged", "")).await;
    }
    let page = |token: &str| ListQuery {
        selection: Selection::namespace("ns"),
        limit: 2,
        continue_token: token.to_owned(),
        ..ListQuery::default()
    };
    let first = list(storage, page("")).await.unwrap();
    assert_eq!((names(&first), first.remaining), (vec!["a".into(), "b".into()], Some(3)));
    put(storage, thing("bb", "paged", "")).await;
    let second = list(storage, page(&first.continue_token)).await.unwrap();
    assert_eq!((names(&second), second.revision), (vec!["c".into(), "d".into()], first.revision));
    compact(storage).await;
    let expired = list(storage, page(&first.continue_token)).await.unwrap_err();
    let fresh = expired.metadata["continue"].as_str().unwrap();
    assert_eq!((expired.code, names(&list(storage, page(fresh)).await.unwrap())), (410, vec!["bb".into(), "c".into()]));
}

async fn guards(storage: &Storage) {
    let draft = Draft::new(thing("guarded", "", ""));
    let put = Write::Put { draft: &draft, ttl_seconds: None };
    let things = things();
    let guarded = key("guarded");
    let Attempt::Done(first) = storage.write(&things, &guarded, None, put, None).await.unwrap() else {
        panic!("nothing was there")
    };
    let Attempt::Stale(Some(found)) = storage.write(&things, &guarded, None, put, None).await.unwrap() else {
        panic!("something was there")
    };
    assert_eq!(found.revision(), first.revision());
    for freshness in [Freshness::Newest, Freshness::NotOlderThan(first.revision())] {
        assert_eq!(storage.get(&things, &guarded, freshness).await.unwrap().unwrap().revision(), first.revision());
    }
    let other = first.at(first.revision() - 1);
    let Attempt::Stale(_) = storage.write(&things, &guarded, Some(&other), Write::Delete, None).await.unwrap() else {
        panic!("it was another one")
    };
    let Attempt::Done(_) = storage.write(&things, &guarded, Some(&first), Write::Delete, None).await.unwrap() else {
        panic!("it is this")
    };
    assert!(storage.get(&things, &guarded, Freshness::Newest).await.unwrap().is_none());
    let never = storage.get(&things, &guarded, Freshness::NotOlderThan(1 << 40)).await.unwrap_err();
    assert_eq!(never.code, 504);
}

/// Type, name and revision of the next event.
async fn told(watch: &mut Watch) -> (&'static str, String, i64) {
    let event = tokio::time::timeout(Duration::from_secs(10), watch.next()).await.expect("an event").expect("no end");
    let word = event.event_type().as_str();
    match event {
        WatchEvent::Bookmark { resource_version, .. } => (word, String::new(), resource_version.parse().unwrap()),
        event => {
            let stored = event.object().unwrap();
            (word, stored.object().name().to_owned(), stored.revision())
        }
    }
}

async fn selected_watches(storage: &Storage) {
    let first = put(storage, thing("s-a", "red", "")).await.revision();
    put(storage, thing("s-b", "blue", "")).await;
    let blue = put(storage, thing("s-a", "blue", "")).await.revision();
    let red = put(storage, thing("s-b", "red", "")).await.revision();
    let past =
        WatchQuery { selection: labelled("color=red"), start: WatchStart::After(first), ..WatchQuery::default() };
    let snapshot = WatchQuery {
        selection: labelled("color=red"),
        start: WatchStart::Snapshot,
        bookmarks: true,
        initial_events_end: true,
        ..WatchQuery::default()
    };
    let mut begun = watch(storage, snapshot).await;
    assert_eq!(told(&mut begun).await, ("ADDED", "s-b".to_owned(), red));
    let (word, _, bookmark) = told(&mut begun).await;
    assert!(word == "BOOKMARK" && bookmark >= red);
    let deleted = delete(storage, "s-b").await.unwrap().revision();
    assert_eq!(told(&mut begun).await, ("DELETED", "s-b".to_owned(), deleted));
    // The cache of this storage began after `first`, so the past is the store's to tell, or not.
    if let Ok(mut past) = storage.watch(&things(), &past).await {
        assert_eq!(told(&mut past).await, ("DELETED", "s-a".to_owned(), blue));
        assert_eq!(told(&mut past).await, ("ADDED", "s-b".to_owned(), red));
    }
}

async fn times_to_live(storage: &Storage) {
    let draft = Draft::new(thing("mortal", "mortal", ""));
    let mut watch = watch(
        storage,
        WatchQuery { selection: labelled("color=mortal"), start: WatchStart::Now, ..WatchQuery::default() },
    )
    .await;
    let put = Write::Put { draft: &draft, ttl_seconds: Some(1) };
    storage.write(&things(), &key("mortal"), None, put, None).await.unwrap();
    assert_eq!(told(&mut watch).await.0, "ADDED");
    assert_eq!(told(&mut watch).await.0, "DELETED");
}

#[tokio::test(flavor = "multi_thread")]
async fn storage_keeps_its_promises_over_the_engine_in_memory() {
    let served = serve().await;
    promises(Arc::new(served.engine.clone())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn storage_keeps_its_promises_over_the_engine_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, thread) = open_disk(&folder.path().join("data"));
    let served = serve_engine(engine).await;
    promises(Arc::new(served.engine.clone())).await;
    served.engine.close();
    thread.join().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn storage_keeps_its_promises_over_our_etcd_server() {
    let served = serve().await;
    promises(Arc::new(connect(&served.url).await)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn storage_keeps_its_promises_over_a_real_etcd() {
    let Some(etcd) = real_etcd().await else { return };
    promises(Arc::new(connect(&etcd.url).await)).await;
}

/// A client beside whose watch things happen, and what it has written.
struct Witness {
    storage: Storage,
    mirrors: Vec<Mirror>,
    written: Vec<i64>,
}

impl Witness {
    async fn over(store: Arc<dyn Store>) -> Self {
        let storage = fed(Storage::new(store));
        let mut mirrors = Vec::new();
        for _ in 0..3 {
            mirrors.push(Mirror::new(&storage, Selection::default()).await);
        }
        Self { storage, mirrors, written: Vec::new() }
    }

    /// Writes, and reads what has come, through whatever goes on meanwhile.
    async fn work(&mut self) {
        for turn in 0..12_u8 {
            let name = format!("w{}", turn % 5);
            let written = match turn % 4 {
                3 => delete(&self.storage, &name).await,
                _ => Some(put(&self.storage, thing(&name, &turn.to_string(), "")).await),
            };
            self.written.extend(written.as_ref().map(Stored::revision));
            for mirror in &mut self.mirrors {
                mirror.take(&self.storage, 3).await;
            }
        }
    }

    /// Everything acknowledged is there, and every watch has told of it, or has said that it must be listed.
    async fn judge(mut self) {
        for mirror in &mut self.mirrors {
            mirror.settle(&self.storage).await;
            let missed = self.written.iter().find(|revision| {
                let in_a_gap = mirror.gaps.iter().any(|(after, to)| *after < **revision && **revision <= *to);
                !in_a_gap && mirror.told.binary_search(revision).is_err()
            });
            assert_eq!(missed, None, "told {:?}, listed {:?}", mirror.told, mirror.gaps);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_neither_skip_nor_go_back_while_an_etcd_is_killed_and_started_again() {
    let Some(mut etcd) = real_etcd().await else { return };
    let mut witness = Witness::over(Arc::new(connect(&etcd.url).await)).await;
    witness.work().await;
    for _ in 0..3 {
        etcd.kill();
        let restart = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            etcd.start();
        };
        tokio::join!(witness.work(), restart);
        compact(&witness.storage).await;
        witness.work().await;
    }
    assert!(
        witness.mirrors.iter().all(|mirror| mirror.gaps.len() == 1),
        "nothing was lost, so nothing had to be listed"
    );
    witness.judge().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_neither_skip_nor_go_back_while_our_store_is_closed_and_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let (mut engine, mut thread) = open_disk(&path);
    let mut served = serve_engine(engine.clone()).await;
    let address = served.url.trim_start_matches("http://").to_owned();
    let mut witness = Witness::over(Arc::new(connect(&served.url).await)).await;
    for _ in 0..3 {
        witness.work().await;
        drop(served);
        engine.close();
        thread.join().unwrap();
        (engine, thread) = open_disk(&path);
        let restart = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            serve_engine_at(&address, engine.clone()).await
        };
        ((), served) = tokio::join!(witness.work(), restart);
        compact(&witness.storage).await;
    }
    witness.judge().await;
    engine.close();
    thread.join().unwrap();
}

/// Compaction passes a watch while the store cannot be reached: it says that it has to be listed.
#[tokio::test(flavor = "multi_thread")]
async fn a_disconnected_watch_that_compaction_passes_must_list_again() {
    let Some(mut etcd) = real_etcd().await else { return };
    let mut witness = Witness::over(Arc::new(connect(&etcd.url).await)).await;
    witness.work().await;
    let mut quiet = Mirror::new(&witness.storage, Selection::default()).await;
    etcd.kill();
    etcd.start();
    answers(&etcd.url).await;
    // Another API server goes on and compacts, while this one pulls nothing.
    let mut beside = Witness::over(Arc::new(connect(&etcd.url).await)).await;
    beside.work().await;
    compact(&beside.storage).await;
    beside.work().await;
    quiet.settle(&witness.storage).await;
    beside.judge().await;
    witness.judge().await;
}

fn all(members: &[RealEtcd]) -> Options {
    Options { endpoints: members.iter().map(|member| member.url.clone()).collect(), tls: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_neither_skip_nor_go_back_while_leaders_change_and_the_quorum_is_lost() {
    let Some(mut members) = real_cluster(3).await else { return };
    let mut witness = Witness::over(Arc::new(EtcdStore::connect(all(&members)).await.unwrap())).await;
    witness.work().await;
    // One of the two is the leader, or the one that is left was.
    members[0].kill();
    witness.work().await;
    members[1].kill();
    let restart = async {
        // There is no quorum until then.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        members[0].start();
        members[1].start();
    };
    tokio::join!(witness.work(), restart);
    members[2].kill();
    witness.work().await;
    witness.judge().await;
}
