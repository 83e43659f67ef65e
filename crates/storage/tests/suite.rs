//! What storage promises, over any store: the suite is a function, so that every kind of store can be held to it.

mod kit;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use coracle_ambient::Ambient;
use coracle_journal::Recorder;
use coracle_meta::{FieldSelector, GroupResource, ObjectKey, WatchEvent};
use coracle_storage::{
    Attempt, DecodedObjects, Draft, Freshness, HistoryLimits, ListQuery, Resource, Selection, Storage, WatchQuery,
    WatchStart, Write,
};
use coracle_store::{
    Engine, Error, LeaseId, Options, RangeRequest, RangeResponse, Revision, Store, StoreStatus, Txn, TxnResponse,
    WatchBatch, WatchRequest, Watcher,
};
use futures_util::FutureExt;
use kit::{
    compact, delete, event, fed, key, labelled, list, mirrors_stay_equal, names, put, steps, text, thing, things,
    watch, write,
};
use proptest::prelude::*;

fn store() -> Arc<dyn Store> {
    Arc::new(Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off())))
}

#[tokio::test(start_paused = true)]
async fn an_object_is_written_against_a_revision_and_comes_back_with_its_own() {
    let storage = fed(Storage::new(store()));
    let draft = Draft::new(thing("a", "red", ""));
    let write = Write::Put { draft: &draft, ttl_seconds: None };
    let Attempt::Done(first) = storage.write(&things(), &key("a"), None, write, None).await.unwrap() else {
        panic!("nothing was there")
    };
    let Attempt::Stale(Some(found)) = storage.write(&things(), &key("a"), None, write, None).await.unwrap() else {
        panic!("something was there")
    };
    assert_eq!(found.revision(), first.revision());
    for freshness in [Freshness::Newest, Freshness::Any, Freshness::NotOlderThan(first.revision())] {
        let found = storage.get(&things(), &key("a"), freshness).await.unwrap();
        // Whatever is at hand may be older.
        if freshness != Freshness::Any {
            assert_eq!(found.unwrap().object().resource_version(), first.revision().to_string());
        }
    }
    assert!(storage.get(&things(), &key("b"), Freshness::Newest).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_revision_that_has_not_happened_is_waited_for_and_then_a_timeout() {
    let storage = fed(Storage::new(store()));
    let status = storage.get(&things(), &key("a"), Freshness::NotOlderThan(99)).await.unwrap_err();
    assert_eq!((status.code, &*status.message), (504, "Timeout: Too large resource version: 99, current: 1"));
    assert!(status.has_cause("ResourceVersionTooLarge"));
    let exact = ListQuery { freshness: Freshness::Exact(99), ..ListQuery::default() };
    assert_eq!(list(&storage, exact).await.unwrap_err().code, 504);
}

#[tokio::test(start_paused = true)]
async fn pages_have_the_revision_of_the_first_and_continue_inconsistently_after_compaction() {
    let storage = fed(Storage::new(store()));
    for name in ["a", "b", "c", "d", "e"] {
        put(&storage, thing(name, "red", "")).await;
    }
    let page = |token: &str| ListQuery {
        selection: Selection::namespace("ns"),
        limit: 2,
        continue_token: token.to_owned(),
        ..ListQuery::default()
    };
    let first = list(&storage, page("")).await.unwrap();
    assert_eq!((names(&first), first.remaining), (vec!["a".into(), "b".into()], Some(3)));
    put(&storage, thing("bb", "red", "")).await;
    let second = list(&storage, page(&first.continue_token)).await.unwrap();
    assert_eq!((names(&second), second.remaining), (vec!["c".into(), "d".into()], Some(1)));
    assert_eq!(second.revision, first.revision);
    let third = list(&storage, page(&second.continue_token)).await.unwrap();
    assert_eq!((names(&third), third.remaining, &*third.continue_token), (vec!["e".into()], None, ""));
    compact(&storage).await;
    let expired = list(&storage, page(&first.continue_token)).await.unwrap_err();
    assert_eq!(expired.code, 410);
    let fresh = expired.metadata["continue"].as_str().unwrap().to_owned();
    assert_eq!(names(&list(&storage, page(&fresh)).await.unwrap()), ["bb", "c"]);
    let exact = ListQuery { freshness: Freshness::Exact(first.revision), ..ListQuery::default() };
    let status = list(&storage, exact).await.unwrap_err();
    assert_eq!((status.code, &*status.message), (410, "The resourceVersion for the provided list is too old."));
}

#[tokio::test(start_paused = true)]
async fn a_page_with_a_selector_is_full_and_does_not_count_the_rest() {
    let storage = fed(Storage::new(store()));
    for (name, color) in [("a", "red"), ("b", "blue"), ("c", "red"), ("d", "red")] {
        put(&storage, thing(name, color, "")).await;
    }
    let query = ListQuery { selection: labelled("color=red"), limit: 2, ..ListQuery::default() };
    let first = list(&storage, query.clone()).await.unwrap();
    assert_eq!((names(&first), first.remaining), (vec!["a".into(), "c".into()], None));
    let rest = ListQuery { continue_token: first.continue_token, ..query };
    let rest = list(&storage, rest).await.unwrap();
    assert_eq!((names(&rest), &*rest.continue_token), (vec!["d".into()], ""));
}

#[tokio::test(start_paused = true)]
async fn a_watch_sees_objects_come_to_match_and_cease_to() {
    let storage = fed(Storage::new(store()));
    let start = put(&storage, thing("a", "red", "")).await.revision();
    put(&storage, thing("b", "blue", "")).await;
    put(&storage, thing("a", "blue", "")).await;
    put(&storage, thing("b", "red", "")).await;
    delete(&storage, "b").await;
    let query =
        WatchQuery { selection: labelled("color=red"), start: WatchStart::After(start), ..WatchQuery::default() };
    let mut watch = watch(&storage, query).await;
    assert_eq!(event(&mut watch).await, "DELETED a 4");
    let WatchEvent::Added(added) = watch.next().await.unwrap() else { panic!("b turns red") };
    assert_eq!((added.revision(), added.object().label("color")), (5, Some("red")));
    assert_eq!(event(&mut watch).await, "DELETED b 6");
    assert_eq!(event(&mut watch).await, "silence");
}

#[tokio::test(start_paused = true)]
async fn a_watch_begins_with_what_is_there_then_a_marked_bookmark_then_what_comes() {
    let storage = fed(Storage::new(store()));
    put(&storage, thing("a", "red", "")).await;
    put(&storage, thing("b", "red", "")).await;
    let query = WatchQuery { bookmarks: true, initial_events_end: true, ..WatchQuery::default() };
    let mut watch = watch(&storage, query).await;
    put(&storage, thing("c", "red", "")).await;
    let mut events = Vec::new();
    for _ in 0..5 {
        events.push(event(&mut watch).await);
    }
    assert_eq!(events, ["ADDED a 2", "ADDED b 3", "BOOKMARK 3 end", "ADDED c 4", "BOOKMARK 4"]);
}

#[tokio::test(start_paused = true)]
async fn a_bookmark_of_an_idle_watch_moves_with_the_store() {
    let storage = fed(Storage::new(store()));
    let others = Arc::new(Resource::new(GroupResource::new("", "others"), "others", false));
    let query = WatchQuery { start: WatchStart::Now, bookmarks: true, ..WatchQuery::default() };
    let mut watch = watch(&storage, query).await;
    let draft = Draft::new(thing("x", "", ""));
    let put = Write::Put { draft: &draft, ttl_seconds: None };
    write(&storage, &others, &ObjectKey::cluster("x"), put).await.unwrap();
    assert_eq!(event(&mut watch).await, "BOOKMARK 2");
}

#[tokio::test(start_paused = true)]
async fn the_next_read_sees_writes_made_between_reads() {
    let storage = fed(Storage::new(store()));
    let first = put(&storage, thing("a", "0", "")).await.revision();
    for round in 1..=200 {
        put(&storage, thing("a", &format!("{round}"), "")).await;
    }
    let start = WatchStart::After(first);
    let mut watch = watch(&storage, WatchQuery { start, ..WatchQuery::default() }).await;
    for revision in first + 1..=first + 200 {
        assert_eq!(event(&mut watch).await, format!("MODIFIED a {revision}"));
    }
    drop(watch);
    let last = put(&storage, thing("a", "end", "")).await.revision();
    assert_eq!(list(&storage, ListQuery::default()).await.unwrap().items[0].revision(), last);
    assert_eq!(storage.last_change(&things()).await.unwrap(), last);
    let waiting = tokio::spawn({
        let storage = storage.clone();
        async move { storage.changed_after(&things(), last).await }
    });
    tokio::task::yield_now().await;
    put(&storage, thing("b", "", "")).await;
    waiting.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn compaction_does_not_end_a_watch_to_which_nothing_happened() {
    let storage = fed(Storage::new(store()));
    let others = Arc::new(Resource::new(GroupResource::new("", "others"), "others", false));
    let mut watch = watch(&storage, WatchQuery { start: WatchStart::Now, ..WatchQuery::default() }).await;
    assert_eq!(event(&mut watch).await, "silence");
    for color in ["1", "2", "3"] {
        let draft = Draft::new(thing("x", color, ""));
        let put = Write::Put { draft: &draft, ttl_seconds: None };
        write(&storage, &others, &ObjectKey::cluster("x"), put).await.unwrap();
    }
    storage.store().compact(4).await.unwrap();
    put(&storage, thing("a", "", "")).await;
    assert_eq!(event(&mut watch).await, "ADDED a 5");
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_a_field_wakes_for_its_value_alone() {
    let storage = fed(Storage::new(store()));
    let fields = FieldSelector::parse("spec.node=n1").unwrap();
    let selection = Selection { fields, ..Selection::default() };
    let mut watch = watch(&storage, WatchQuery { selection, start: WatchStart::Now, ..WatchQuery::default() }).await;
    put(&storage, thing("a", "", "")).await;
    put(&storage, thing("b", "", "n2")).await;
    put(&storage, thing("a", "", "n1")).await;
    put(&storage, thing("a", "", "n2")).await;
    assert_eq!(event(&mut watch).await, "ADDED a 4");
    assert_eq!(event(&mut watch).await, "DELETED a 5");
    assert_eq!(event(&mut watch).await, "silence");
}

#[tokio::test(start_paused = true)]
async fn a_watch_whose_client_does_not_read_keeps_no_other_from_its_events() {
    let storage = fed(Storage::new(store()));
    let query = WatchQuery { start: WatchStart::Now, ..WatchQuery::default() };
    let mut stalled = watch(&storage, query.clone()).await;
    let mut other = watch(&storage, query).await;
    // It waits for news, and then nobody asks it any more: a connection whose window is full.
    let mut waiting = Box::pin(stalled.next());
    assert!(futures_util::poll!(&mut waiting).is_pending());
    put(&storage, thing("a", "", "")).await;
    let told = tokio::time::timeout(Duration::from_secs(1), event(&mut other)).await;
    assert_eq!(told.as_deref(), Ok("ADDED a 2"));
    assert!(waiting.await.is_some(), "nor is anything lost to it");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_too_slow_or_begins_too_early_ends_as_expired() {
    let limits = HistoryLimits { min_changes: 1, max_changes: 3, ..HistoryLimits::default() };
    let storage = fed(Storage::with_history(store(), limits));
    let mut slow = watch(&storage, WatchQuery { start: WatchStart::Now, ..WatchQuery::default() }).await;
    for color in ["1", "2", "3", "4", "5"] {
        put(&storage, thing("a", color, "")).await;
    }
    // Somebody else keeps the cache going meanwhile.
    list(&storage, ListQuery::default()).await.unwrap();
    assert_eq!(event(&mut slow).await, "ERROR 410 too old resource version: 1 (3)");
    assert_eq!(event(&mut slow).await, "end");
    let early = WatchQuery { start: WatchStart::After(2), ..WatchQuery::default() };
    let status = storage.watch(&things(), &early).await.unwrap_err();
    assert_eq!((status.code, &*status.message), (410, "too old resource version: 2 (3)"));
}

#[tokio::test(start_paused = true)]
async fn many_watches_see_the_same_events_in_the_same_order() {
    let storage = fed(Storage::new(store()));
    let mut watches = Vec::new();
    for _ in 0..20 {
        watches.push(watch(&storage, WatchQuery { start: WatchStart::Now, ..WatchQuery::default() }).await);
    }
    let tasks: Vec<_> = watches
        .into_iter()
        .map(|mut watch| {
            tokio::spawn(async move {
                let mut seen = Vec::new();
                for _ in 0..30 {
                    seen.push(event(&mut watch).await);
                }
                seen
            })
        })
        .collect();
    for number in 0..30 {
        put(&storage, thing(&format!("t{}", number % 7), &number.to_string(), "")).await;
        tokio::task::yield_now().await;
    }
    let mut all = Vec::new();
    for task in tasks {
        all.push(task.await.unwrap());
    }
    assert!(all.iter().all(|seen| seen == &all[0] && seen.len() == 30), "{all:?}");
}

#[tokio::test(start_paused = true)]
async fn an_object_with_a_time_to_live_is_dropped_by_the_store() {
    let engine = Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()));
    let expiry = tokio::spawn({
        let engine = engine.clone();
        async move { engine.expire_leases().await }
    });
    let storage = fed(Storage::new(Arc::new(engine)));
    let draft = Draft::new(thing("a", "", ""));
    let put = Write::Put { draft: &draft, ttl_seconds: Some(100) };
    storage.write(&things(), &key("a"), None, put, None).await.unwrap();
    let mut watch = watch(&storage, WatchQuery { start: WatchStart::Now, ..WatchQuery::default() }).await;
    assert!(event(&mut watch).await.starts_with("DELETED a"));
    expiry.abort();
}

/// A store in another process, over a connection that breaks: its watches end, and its progress is late.
struct Remote {
    engine: Engine,
    random: coracle_ambient::Random,
}

struct RemoteWatcher {
    inner: Box<dyn Watcher>,
    random: coracle_ambient::Random,
}

#[async_trait]
impl Watcher for RemoteWatcher {
    async fn next(&mut self) -> Result<WatchBatch, Error> {
        if self.random.below(6) == 0 {
            return Err(Error::Unavailable("the connection broke".to_owned()));
        }
        self.inner.next().await
    }

    async fn progress(&mut self) -> Result<Revision, Error> {
        tokio::time::sleep(Duration::from_millis(self.random.below(3))).await;
        match self.random.below(6) {
            0 => Err(Error::Unavailable("the connection broke".to_owned())),
            _ => self.inner.progress().await,
        }
    }
}

#[async_trait]
impl Store for Remote {
    async fn range(&self, request: RangeRequest) -> Result<RangeResponse, Error> {
        self.engine.range(request).await
    }
    async fn txn(&self, txn: Txn) -> Result<TxnResponse, Error> {
        self.engine.txn(txn).await
    }
    async fn watch(&self, request: WatchRequest) -> Result<Box<dyn Watcher>, Error> {
        let inner = self.engine.watch(request).await?;
        Ok(Box::new(RemoteWatcher { inner, random: self.random.clone() }))
    }
    async fn compact(&self, revision: Revision) -> Result<(), Error> {
        self.engine.compact(revision).await
    }
    async fn lease_grant(&self, id: LeaseId, ttl_seconds: i64) -> Result<LeaseId, Error> {
        self.engine.lease_grant(id, ttl_seconds).await
    }
    async fn lease_revoke(&self, id: LeaseId) -> Result<(), Error> {
        self.engine.lease_revoke(id).await
    }
    async fn lease_keep_alive(&self, id: LeaseId) -> Result<i64, Error> {
        self.engine.lease_keep_alive(id).await
    }
    async fn lease_status(&self, id: LeaseId) -> Result<coracle_store::LeaseStatus, Error> {
        self.engine.lease_status(id).await
    }
    async fn leases(&self) -> Result<Vec<LeaseId>, Error> {
        self.engine.leases().await
    }
    async fn history_hash(&self, revision: Revision) -> Result<coracle_store::HistoryHash, Error> {
        self.engine.history_hash(revision).await
    }
    async fn defragment(&self) -> Result<(), Error> {
        self.engine.defragment().await
    }
    async fn status(&self) -> Result<StoreStatus, Error> {
        self.engine.status().await
    }
}

fn block_on(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(test);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_interleaving_of_lists_watches_writes_and_compaction_leaves_a_mirror_equal_to_the_store(
        steps in steps(),
        max_changes in 1..12_usize,
    ) {
        let limits = HistoryLimits { min_changes: 1, max_changes, ..HistoryLimits::default() };
        block_on(async { mirrors_stay_equal(store(), limits, &steps).await });
    }

    #[test]
    fn the_same_holds_over_a_store_whose_connections_break(steps in steps(), seed in any::<u64>()) {
        block_on(async {
            let engine = Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()));
            let remote = Remote { engine, random: coracle_ambient::Random::from_seed(seed) };
            mirrors_stay_equal(Arc::new(remote), HistoryLimits::default(), &steps).await;
        });
    }
}

#[tokio::test(start_paused = true)]
async fn an_unpolled_watch_blocks_no_other() {
    let storage = fed(Storage::new(store()));
    let mut stalled = watch(&storage, WatchQuery { start: WatchStart::Now, ..WatchQuery::default() }).await;
    let mut next = Box::pin(stalled.next());
    assert!(next.as_mut().now_or_never().is_none());
    put(&storage, thing("a", "red", "")).await;
    let found = tokio::time::timeout(Duration::from_secs(1), list(&storage, ListQuery::default())).await;
    assert_eq!(names(&found.expect("the list does not wait for the watch").unwrap()), ["a"]);
    put(&storage, thing("b", "red", "")).await;
    let change = tokio::time::timeout(Duration::from_secs(1), storage.last_change(&things())).await;
    assert_eq!(change.expect("nor does this").unwrap(), 3);
    // Polled again, it has missed nothing and gets nothing twice.
    assert_eq!(text(&next.as_mut().await.unwrap()), "ADDED a 2");
    drop(next);
    assert_eq!(event(&mut stalled).await, "ADDED b 3");
    put(&storage, thing("c", "red", "")).await;
    assert_eq!(event(&mut stalled).await, "ADDED c 4");
}

#[tokio::test(start_paused = true)]
async fn a_read_of_unchanged_objects_neither_waits_nor_wakes_a_task() {
    let storage = fed(Storage::new(store()));
    let others = Arc::new(Resource::new(GroupResource::new("", "others"), "others", false));
    put(&storage, thing("a", "", "")).await;
    list(&storage, ListQuery::default()).await.unwrap();
    for color in ["1", "2", "3"] {
        let draft = Draft::new(thing("x", color, ""));
        let put = Write::Put { draft: &draft, ttl_seconds: None };
        write(&storage, &others, &ObjectKey::cluster("x"), put).await.unwrap();
    }
    let found = list(&storage, ListQuery::default()).now_or_never().expect("nothing to wait for").unwrap();
    assert_eq!((names(&found), found.revision), (vec!["a".to_owned()], 5));
    assert_eq!(storage.last_change(&things()).now_or_never().expect("nor here").unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_read_without_a_feed_fails_and_a_watch_ends_with_the_feed() {
    let unfed = Storage::new(store());
    let status = list(&unfed, ListQuery::default()).await.unwrap_err();
    let message = "the watch cache of things is not fed: Storage::run does not run";
    assert_eq!((status.code, &*status.message), (503, message));
    let storage = Storage::new(store());
    let feeding = tokio::spawn(storage.run());
    let mut watch = watch(&storage, WatchQuery { start: WatchStart::Now, ..WatchQuery::default() }).await;
    feeding.abort();
    assert_eq!(event(&mut watch).await, "end");
    assert_eq!(list(&storage, ListQuery::default()).await.unwrap_err().message, message);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_resource_ends_its_watches_and_is_cached_again_on_use() {
    let storage = fed(Storage::new(store()));
    put(&storage, thing("a", "", "")).await;
    let mut before = watch(&storage, WatchQuery { start: WatchStart::Now, ..WatchQuery::default() }).await;
    let waiting = tokio::spawn({
        let storage = storage.clone();
        async move { storage.changed_after(&things(), 2).await }
    });
    tokio::task::yield_now().await;
    storage.forget(&things());
    assert_eq!(event(&mut before).await, "end");
    waiting.await.unwrap();
    assert_eq!(names(&list(&storage, ListQuery::default()).await.unwrap()), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn the_last_change_of_a_resource_is_known_at_once_and_only_its_own() {
    let storage = fed(Storage::new(store()));
    let other = Arc::new(Resource::new(GroupResource::new("", "others"), "others", true));
    assert_eq!(storage.last_change(&things()).await.unwrap(), 1);
    for round in 0..50 {
        let written = put(&storage, thing("a", &format!("{round}"), "")).await.revision();
        for other_round in 0..3 {
            let draft = Draft::new(thing("x", "", ""));
            let put = Write::Put { draft: &draft, ttl_seconds: None };
            storage.write(&other, &key(&format!("{round}-{other_round}")), None, put, None).await.unwrap();
            assert_eq!(storage.last_change(&things()).await.unwrap(), written);
        }
    }
    delete(&storage, "a").await;
    assert_eq!(storage.last_change(&things()).await.unwrap(), storage.store().status().await.unwrap().revision);
}

/// The things, with a count of the values that are decoded.
fn counted(selectable: &[&str]) -> (Arc<Resource>, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let decodes = Arc::clone(&count);
    let mut resource = Resource::new(GroupResource::new("", "things"), "things", true).checks(Box::new(move |_| {
        decodes.fetch_add(1, Ordering::Relaxed);
        true
    }));
    resource.selectable = selectable.iter().map(|field| (*field).to_owned()).collect();
    resource.field = Box::new(|object, field| object.text(field).to_owned());
    (Arc::new(resource), count)
}

async fn put_counted(storage: &Storage, resource: &Arc<Resource>, name: &str, node: &str) {
    let draft = Draft::new(thing(name, "red", node));
    let expected = storage.get(resource, &key(name), Freshness::Newest).await.unwrap();
    let put = Write::Put { draft: &draft, ttl_seconds: None };
    let written = storage.write(resource, &key(name), expected.as_ref(), put, None).await.unwrap();
    assert!(matches!(written, Attempt::Done(_)));
}

#[tokio::test(start_paused = true)]
async fn values_that_another_storage_has_decoded_are_not_decoded_again() {
    let store = store();
    let (resource, count) = counted(&["spec.node"]);
    let first = fed(Storage::new(Arc::clone(&store)));
    for name in ["a", "b", "c"] {
        put_counted(&first, &resource, name, "n1").await;
    }
    assert_eq!(first.list(&resource, &ListQuery::default()).await.unwrap().items.len(), 3);
    let decoded = first.decoded_objects();
    put_counted(&first, &resource, "c", "n2").await;

    let on_n1 = || ListQuery {
        selection: Selection { fields: FieldSelector::parse("spec.node=n1").unwrap(), ..Selection::default() },
        ..ListQuery::default()
    };
    let decodes = async |resource: &Arc<Resource>, count: &AtomicUsize, decoded: Option<&DecodedObjects>| {
        count.store(0, Ordering::Relaxed);
        let storage = fed(Storage::new(Arc::clone(&store)));
        decoded.into_iter().for_each(|decoded| storage.reuse_decoded(decoded));
        let found = storage.list(resource, &on_n1()).await.unwrap();
        assert_eq!(names(&found), ["a", "b"]);
        count.load(Ordering::Relaxed)
    };
    assert_eq!(decodes(&resource, &count, None).await, 3);
    assert_eq!(decodes(&resource, &count, Some(&decoded)).await, 1, "the value that has changed");
    let (other, count) = counted(&["spec.color", "spec.node"]);
    assert_eq!(decodes(&other, &count, Some(&decoded)).await, 3, "other fields for selectors");
}

#[tokio::test(start_paused = true)]
async fn a_read_finds_a_write_that_the_cache_has_not_applied() {
    let store = store();
    let (resource, count) = counted(&[]);
    let storage = fed(Storage::new(Arc::clone(&store)));
    for name in ["a", "b"] {
        put_counted(&storage, &resource, name, "n1").await;
    }
    for name in ["a", "b"] {
        let found = storage.get(&resource, &key(name), Freshness::Newest).await.unwrap().unwrap();
        assert_eq!(found.object().name(), name);
    }
    assert_eq!(count.load(Ordering::Relaxed), 0);
    assert!(Storage::new(store).get(&resource, &key("a"), Freshness::Newest).await.unwrap().is_some());
    assert_eq!(count.load(Ordering::Relaxed), 1, "another storage decodes it");
}
