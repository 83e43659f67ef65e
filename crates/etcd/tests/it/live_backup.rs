//! A backup of a store that runs, ours or an etcd, and a folder made out of it.

use coracle_etcd::EtcdStore;
use coracle_store::disk::{self, LiveData};
use coracle_store::{Error, KeyRange, Operation, RangeRequest, RangeResponse, Store, Txn, WatchRequest};

use crate::common::{connect, open_disk, real_etcd, serve};

async fn all(store: &dyn Store) -> RangeResponse {
    store.range(RangeRequest { range: KeyRange::prefix("b/"), ..RangeRequest::default() }).await.unwrap()
}

async fn put(store: &dyn Store, key: String, lease: i64) -> Txn {
    let put = Operation::Put {
        key: key.into(),
        value: vec![7; 100].into(),
        lease,
        prev_kv: false,
        ignore_value: false,
        ignore_lease: false,
    };
    let txn = Txn { success: vec![put], ..Txn::default() };
    store.txn(txn.clone()).await.unwrap();
    txn
}

async fn survives_in_a_folder(store: EtcdStore) {
    let lease = store.lease_grant(0, 500).await.unwrap();
    // More than one page, generations, several keys of one revision, and a deletion at the end.
    for number in 0..1200 {
        put(&store, format!("b/{number:04}"), if number % 100 == 0 { lease } else { 0 }).await;
    }
    put(&store, "b/0007".to_owned(), 0).await;
    let both = vec![Operation::put("b/x", "1"), Operation::put("b/y", "1"), Operation::delete("b/0008")];
    store.txn(Txn { success: both, ..Txn::default() }).await.unwrap();
    store.txn(Txn { success: vec![Operation::delete("b/0009")], ..Txn::default() }).await.unwrap();
    let before = all(&store).await;

    let folder = tempfile::tempdir().unwrap();
    let (file, data) = (folder.path().join("backup"), folder.path().join("data"));
    let written = LiveData::read(&store).await.unwrap().write(&file).unwrap();
    assert_eq!((written.records, written.revision), (1201, before.revision));
    assert!(LiveData::default().write(&file).is_err(), "a backup is never overwritten");
    let restored = disk::restore(&file, &data, None).unwrap();
    assert_eq!((restored.records, restored.revision, restored.compacted), (1201, before.revision, before.revision));

    let (engine, thread) = open_disk(&data);
    assert!(all(&engine).await == before, "keys, values, revisions and versions");
    assert_eq!(engine.lease_status(lease).await.unwrap().keys.len(), 12);
    let since = WatchRequest { range: KeyRange::prefix("b/"), start_revision: before.revision + 1, prev_kv: true };
    let mut watch = engine.watch(since).await.unwrap();
    put(&engine, "b/next".to_owned(), 0).await;
    assert_eq!(watch.next().await.unwrap().revision, before.revision + 1);
    let past = RangeRequest { revision: before.revision - 1, range: KeyRange::key("b/x"), ..RangeRequest::default() };
    assert!(matches!(engine.range(past).await, Err(Error::Compacted { .. })));
    engine.close();
    thread.join().unwrap();
    disk::check(&data).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_a_running_store_keeps_data_and_revisions() {
    let served = serve().await;
    survives_in_a_folder(connect(&served.url).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_a_real_etcd_keeps_data_and_revisions() {
    let Some(etcd) = real_etcd().await else { return };
    survives_in_a_folder(connect(&etcd.url).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_store_makes_an_empty_folder() {
    let served = serve().await;
    let folder = tempfile::tempdir().unwrap();
    let (file, data) = (folder.path().join("backup"), folder.path().join("data"));
    LiveData::read(&connect(&served.url).await).await.unwrap().write(&file).unwrap();
    disk::restore(&file, &data, None).unwrap();
    let (engine, thread) = open_disk(&data);
    assert_eq!(engine.revision(), 1);
    put(&engine, "b/first".to_owned(), 0).await;
    assert_eq!(engine.revision(), 2);
    engine.close();
    thread.join().unwrap();
}
