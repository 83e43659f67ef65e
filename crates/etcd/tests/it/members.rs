//! Several members of one cluster, of which some are gone.

use std::time::Duration;

use coracle_etcd::{EtcdStore, Options};
use coracle_store::{Operation, Store, Txn, WatchRequest};
use tokio::time::{Instant, timeout};

use crate::common::{serve, serve_engine};

/// An address at which no program listens.
fn nowhere() -> String {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("http://127.0.0.1:{port}")
}

fn put(number: u32) -> Txn {
    Txn { success: vec![Operation::put(format!("key/{number}"), "1")], ..Txn::default() }
}

#[tokio::test]
async fn every_request_skips_unavailable_members() {
    let served = serve().await;
    let endpoints = vec![nowhere(), served.url.clone(), nowhere()];
    let began = Instant::now();
    let store = EtcdStore::connect(Options { endpoints, tls: None }).await.unwrap();
    for number in 0..100 {
        assert!(store.txn(put(number)).await.unwrap().succeeded);
        assert_eq!(store.lease_grant(0, 60).await.map(|id| id > 0), Ok(true));
    }
    assert!(began.elapsed() < Duration::from_secs(10), "requests wait for members that are gone");
}

#[tokio::test]
async fn a_member_that_ends_is_followed_by_the_next_and_its_watch_misses_nothing() {
    let first = serve().await;
    let second = serve_engine(first.engine.clone()).await;
    let endpoints = vec![first.url.clone(), second.url.clone()];
    let store = EtcdStore::connect(Options { endpoints, tls: None }).await.unwrap();
    let request = WatchRequest { range: coracle_store::KeyRange::prefix("key/"), start_revision: 1, prev_kv: false };
    let mut watch = store.watch(request).await.unwrap();
    store.txn(put(0)).await.unwrap();
    assert_eq!(watch.next().await.unwrap().events.len(), 1);
    drop(first);
    // The first may have been asked when it ended, so that it is not known what became of the request.
    let written = async { while store.txn(put(1)).await.is_err() {} };
    timeout(Duration::from_secs(10), written).await.expect("the second member is asked");
    let batch = timeout(Duration::from_secs(10), watch.next()).await.expect("the second member is watched").unwrap();
    assert_eq!(batch.events[0].kv.key, "key/1");
}
