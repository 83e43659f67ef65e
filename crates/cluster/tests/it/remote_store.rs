//! A store in another process, as an API server sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use coracle_ambient::Ambient;
use coracle_apiserver::NoNodes;
use coracle_cluster::{ApiServer, ApiServerOptions, Release, StoreSpec};
use coracle_journal::Recorder;
use coracle_store::{
    Error, HistoryHash, LeaseId, LeaseStatus, RangeRequest, RangeResponse, RangeStream, Revision, Store, StoreStatus,
    Txn, TxnResponse, WatchRequest, Watcher,
};

/// What happens at the wire to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    Range,
    Stream,
    Txn,
    Answer,
}

/// A wire to a store.
#[async_trait]
pub(crate) trait Wire: Send + Sync + 'static {
    /// Carries a message.
    async fn carry(&self, message: Message);
}

/// A store at the other end of a wire. It offers no streams.
pub(crate) struct StoreBehind<W> {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) wire: W,
}

/// A wire each message of which takes a while that a seed says.
pub(crate) struct Remote {
    pub(crate) ambient: Ambient,
    /// How many streams were requested.
    pub(crate) asked_streams: Arc<AtomicU64>,
}

#[async_trait]
impl Wire for Remote {
    async fn carry(&self, message: Message) {
        if message == Message::Stream {
            self.asked_streams.fetch_add(1, Ordering::Relaxed);
            return;
        }
        tokio::time::sleep(Duration::from_micros((self.ambient.random.fraction() * 3000.0) as u64)).await;
    }
}

#[async_trait]
impl<W: Wire> Store for StoreBehind<W> {
    async fn range(&self, request: RangeRequest) -> Result<RangeResponse, Error> {
        self.wire.carry(Message::Range).await;
        let response = self.store.range(request).await;
        self.wire.carry(Message::Answer).await;
        response
    }

    async fn range_stream(&self, _request: RangeRequest) -> Result<Option<Box<dyn RangeStream>>, Error> {
        self.wire.carry(Message::Stream).await;
        Ok(None)
    }

    async fn txn(&self, txn: Txn) -> Result<TxnResponse, Error> {
        self.wire.carry(Message::Txn).await;
        let response = self.store.txn(txn).await;
        self.wire.carry(Message::Answer).await;
        response
    }

    async fn watch(&self, request: WatchRequest) -> Result<Box<dyn Watcher>, Error> {
        self.store.watch(request).await
    }

    async fn compact(&self, revision: Revision) -> Result<(), Error> {
        self.store.compact(revision).await
    }

    async fn lease_grant(&self, id: LeaseId, ttl_seconds: i64) -> Result<LeaseId, Error> {
        self.store.lease_grant(id, ttl_seconds).await
    }

    async fn lease_revoke(&self, id: LeaseId) -> Result<(), Error> {
        self.store.lease_revoke(id).await
    }

    async fn lease_keep_alive(&self, id: LeaseId) -> Result<i64, Error> {
        self.store.lease_keep_alive(id).await
    }

    async fn lease_status(&self, id: LeaseId) -> Result<LeaseStatus, Error> {
        self.store.lease_status(id).await
    }

    async fn leases(&self) -> Result<Vec<LeaseId>, Error> {
        self.store.leases().await
    }

    async fn history_hash(&self, revision: Revision) -> Result<HistoryHash, Error> {
        self.store.history_hash(revision).await
    }

    async fn defragment(&self) -> Result<(), Error> {
        self.store.defragment().await
    }

    async fn status(&self) -> Result<StoreStatus, Error> {
        self.store.status().await
    }
}

/// How many streams an API server of a release asks its store for while it starts.
async fn asked_streams(release: Release) -> u64 {
    let ambient = Ambient::seeded(1);
    let store = StoreSpec::Memory.open(&ambient, &Recorder::off()).await.unwrap().store;
    let asked = Arc::new(AtomicU64::new(0));
    let wire = Remote { ambient: ambient.split("wire"), asked_streams: Arc::clone(&asked) };
    let remote = StoreBehind { store, wire };
    let options = ApiServerOptions { release, ..ApiServerOptions::default() };
    let _server =
        ApiServer::start(&options, Arc::new(remote), Arc::new(NoNodes), &ambient, &Recorder::off()).await.unwrap();
    asked.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn an_api_server_asks_its_store_for_streams_where_the_gate_etcd_range_stream_is_on() {
    for (version, gates, asks) in
        [("1.35", "", false), ("1.36", "", false), ("1.37", "", true), ("1.37", "EtcdRangeStream=false", false)]
    {
        let release = Release::named(version).unwrap().with_gates(gates).unwrap();
        assert_eq!(asked_streams(release).await > 0, asks, "{version} {gates}");
    }
}
