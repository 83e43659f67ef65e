//! What every `Store` promises: the engine itself, the engine behind our face, and a real etcd.

use std::time::Duration;

use bytes::Bytes;
use coracle_store::{
    Compare, CompareOperator, CompareTarget, Error, EventKind, KeyRange, Operation, OperationResult, RangeRequest,
    Revision, SortField, SortOrder, Store, Txn, TxnResponse, WatchRequest, Watcher,
};

use crate::common::{connect, real_etcd, serve};

async fn txn(store: &dyn Store, success: Vec<Operation>) -> Result<TxnResponse, Error> {
    store.txn(Txn { success, ..Txn::default() }).await
}

async fn put(store: &dyn Store, key: &'static str, value: &'static str) -> i64 {
    txn(store, vec![Operation::put(key, value)]).await.unwrap().revision
}

fn prefix(prefix: &'static str) -> RangeRequest {
    RangeRequest { range: KeyRange::prefix(prefix), ..RangeRequest::default() }
}

async fn keys(store: &dyn Store, request: RangeRequest) -> Result<Vec<Bytes>, Error> {
    Ok(store.range(request).await?.kvs.into_iter().map(|kv| kv.key).collect())
}

async fn watch(store: &dyn Store, prefix: &'static str, start_revision: i64) -> Box<dyn Watcher> {
    let request = WatchRequest { range: KeyRange::prefix(prefix), start_revision, prev_kv: true };
    store.watch(request).await.unwrap()
}

/// The next batch with events.
async fn events(watcher: &mut dyn Watcher) -> Result<Vec<coracle_store::Event>, Error> {
    loop {
        let batch = tokio::time::timeout(Duration::from_secs(10), watcher.next()).await.expect("events in time")?;
        if !batch.events.is_empty() {
            return Ok(batch.events);
        }
    }
}

/// `late` is the same store, seen by somebody who has seen nothing of it yet.
async fn promises(store: &dyn Store, late: &dyn Store) {
    revisions_and_guards(store).await;
    ranges(store).await;
    refusals(store).await;
    watches(store).await;
    leases(store).await;
    let compacted = compaction(store).await;
    a_watch_of_compacted_history_ends(late, compacted).await;
}

async fn revisions_and_guards(store: &dyn Store) {
    let first = put(store, "g/a", "1").await;
    assert_eq!(put(store, "g/a", "1").await, first + 1);
    let create = |key: &'static str| Txn {
        compare: vec![Compare::mod_revision(key, 0)],
        success: vec![Operation::put(key, "new")],
        failure: vec![Operation::get(key)],
        cause: None,
    };
    let refused = store.txn(create("g/a")).await.unwrap();
    assert!(!refused.succeeded && refused.revision == first + 1);
    let OperationResult::Range(found) = &refused.results[0] else { panic!("a range was asked for") };
    assert_eq!((found.kvs[0].version, found.kvs[0].create_revision, found.count), (2, first, 1));
    assert!(store.txn(create("g/b")).await.unwrap().succeeded);
    let inner = Txn {
        compare: vec![Compare {
            range: KeyRange::prefix("g/"),
            operator: CompareOperator::Greater,
            target: CompareTarget::Version(0),
        }],
        success: vec![Operation::Delete { range: KeyRange::key("g/a"), prev_kv: true }],
        ..Txn::default()
    };
    let both = txn(store, vec![Operation::put("g/b", "2"), Operation::Txn(Box::new(inner))]).await.unwrap();
    assert_eq!(both.revision, first + 3);
    let OperationResult::Txn(inner) = &both.results[1] else { panic!("a transaction was asked for") };
    let OperationResult::Delete { deleted, prev_kvs } = &inner.results[0] else { panic!("a deletion was asked for") };
    assert_eq!((*deleted, &prev_kvs[0].value[..]), (1, &b"1"[..]));
}

async fn ranges(store: &dyn Store) {
    for (key, value) in [("r/a", "3"), ("r/b", "1"), ("r/c", "2")] {
        put(store, key, value).await;
    }
    let revision = txn(store, vec![Operation::delete("r/b")]).await.unwrap().revision;
    assert_eq!(keys(store, prefix("r/")).await.unwrap(), ["r/a", "r/c"]);
    let past = RangeRequest { revision: revision - 1, limit: 2, ..prefix("r/") };
    let page = store.range(past.clone()).await.unwrap();
    assert_eq!((page.count, page.more, page.kvs.len(), page.revision), (3, true, 2, revision));
    let by_value =
        RangeRequest { limit: 0, sort_field: SortField::Value, sort_order: SortOrder::Descend, ..past.clone() };
    assert_eq!(keys(store, by_value).await.unwrap(), ["r/a", "r/c", "r/b"]);
    let counted = store.range(RangeRequest { count_only: true, limit: 0, ..past.clone() }).await.unwrap();
    assert_eq!((counted.count, counted.kvs.len()), (3, 0));
    let bare = store.range(RangeRequest { keys_only: true, ..past }).await.unwrap();
    assert!(bare.kvs.iter().all(|kv| kv.value.is_empty() && kv.mod_revision > 0));
}

async fn refusals(store: &dyn Store) {
    let twice = vec![Operation::put("x", "1"), Operation::put("x", "2")];
    let refused = Error::Invalid("etcdserver: duplicate key given in txn request");
    assert_eq!(txn(store, twice).await, Err(refused));
    let refused = Error::Invalid("etcdserver: key is not provided");
    assert_eq!(txn(store, vec![Operation::put("", "1")]).await, Err(refused));
    let many = vec![Operation::get("x"); 129];
    assert_eq!(txn(store, many).await, Err(Error::Invalid("etcdserver: too many operations in txn request")));
    assert_eq!(txn(store, vec![Operation::put("x", vec![0; 2 << 20])]).await, Err(Error::TooLarge));
    let future = RangeRequest { revision: 1 << 40, ..prefix("r/") };
    assert!(matches!(store.range(future).await, Err(Error::FutureRevision { .. })));
    assert_eq!(store.lease_revoke(12345).await, Err(Error::LeaseNotFound));
    assert_eq!(store.lease_keep_alive(12345).await, Err(Error::LeaseNotFound));
}

async fn watches(store: &dyn Store) {
    let before = store.status().await.unwrap().revision;
    let mut live = watch(store, "w/", 0).await;
    txn(store, vec![Operation::put("w/a", "1"), Operation::put("w/b", "1"), Operation::put("v", "1")]).await.unwrap();
    put(store, "w/a", "2").await;
    txn(store, vec![Operation::delete("w/a")]).await.unwrap();
    let mut past = watch(store, "w/", before + 1).await;
    let mut seen = [Vec::new(), Vec::new()];
    for (watcher, seen) in [&mut live, &mut past].into_iter().zip(&mut seen) {
        while seen.len() < 4 {
            seen.extend(events(&mut **watcher).await.unwrap());
        }
    }
    assert_eq!(seen[0], seen[1]);
    let told: Vec<_> = seen[0].iter().map(|event| (event.kind, event.kv.mod_revision - before)).collect();
    assert_eq!(told, [(EventKind::Put, 1), (EventKind::Put, 1), (EventKind::Put, 2), (EventKind::Delete, 3)]);
    assert_eq!(seen[0][3].prev_kv.as_ref().unwrap().value, "2");
    assert_eq!(seen[0][0].prev_kv, None);
}

async fn leases(store: &dyn Store) {
    let lease = store.lease_grant(0, 600).await.unwrap();
    assert_eq!(store.lease_grant(lease, 600).await, Err(Error::LeaseExists));
    let put = |key: &'static str, lease| Operation::Put {
        key: key.into(),
        value: "1".into(),
        lease,
        prev_kv: false,
        ignore_value: false,
        ignore_lease: false,
    };
    assert_eq!(txn(store, vec![put("l/a", 999)]).await, Err(Error::LeaseNotFound));
    let granted = txn(store, vec![put("l/b", lease), put("l/a", lease), put("l/c", 0)]).await.unwrap();
    let status = store.lease_status(lease).await.unwrap();
    assert_eq!((status.granted_ttl_seconds, status.keys), (600, vec!["l/a".into(), "l/b".into()]));
    assert_eq!(store.lease_keep_alive(lease).await, Ok(600));
    assert!(store.leases().await.unwrap().contains(&lease));
    let mut watcher = watch(store, "l/", granted.revision + 1).await;
    store.lease_revoke(lease).await.unwrap();
    assert_eq!(keys(store, prefix("l/")).await.unwrap(), ["l/c"]);
    let ended = events(&mut *watcher).await.unwrap();
    let told: Vec<_> = ended.iter().map(|event| (&event.kv.key[..], event.kv.mod_revision)).collect();
    assert_eq!(told, [(&b"l/a"[..], granted.revision + 1), (&b"l/b"[..], granted.revision + 1)]);
    assert!(store.lease_status(lease).await.is_err());
}

/// Compacts, and returns up to where.
async fn compaction(store: &dyn Store) -> Revision {
    put(store, "c/a", "1").await;
    let revision = put(store, "c/a", "2").await;
    store.compact(revision).await.unwrap();
    assert!(matches!(store.compact(revision).await, Err(Error::Compacted { .. })));
    assert!(matches!(store.compact(1 << 40).await, Err(Error::FutureRevision { .. })));
    let past = RangeRequest { revision: revision - 1, ..prefix("c/") };
    assert!(matches!(store.range(past).await, Err(Error::Compacted { .. })));
    assert_eq!(keys(store, RangeRequest { revision, ..prefix("c/") }).await.unwrap(), ["c/a"]);
    revision
}

async fn a_watch_of_compacted_history_ends(store: &dyn Store, revision: Revision) {
    let request = WatchRequest { range: KeyRange::prefix("c/"), start_revision: revision - 1, prev_kv: true };
    let ended = match store.watch(request).await {
        Ok(mut watcher) => events(&mut *watcher).await.map(|_| ()),
        Err(error) => Err(error),
    };
    assert_eq!(ended, Err(Error::Compacted { compacted: revision }));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_keeps_the_promises_of_a_store() {
    let engine = serve().await.engine;
    promises(&engine, &engine).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_behind_the_etcd_server_keeps_the_promises_of_a_store() {
    let served = serve().await;
    promises(&connect(&served.url).await, &connect(&served.url).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_etcd_keeps_the_promises_of_a_store() {
    let Some(etcd) = real_etcd().await else { return };
    promises(&connect(&etcd.url).await, &connect(&etcd.url).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_over_the_wire_reports_delivered_revisions() {
    let served = serve().await;
    let store = connect(&served.url).await;
    let mut watcher = watch(&store, "p/", 0).await;
    let revision = put(&store, "elsewhere", "1").await;
    assert_eq!(watcher.progress().await.unwrap(), revision);
    let revision = put(&store, "p/a", "1").await;
    assert_eq!(watcher.progress().await.unwrap(), revision - 1, "the event has not been handed out");
    assert_eq!(events(&mut *watcher).await.unwrap().len(), 1);
    assert_eq!(watcher.progress().await.unwrap(), revision);
}
