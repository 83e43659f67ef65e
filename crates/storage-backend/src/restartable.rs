use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use coracle_store::{
    Engine, Error, HistoryHash, LeaseId, LeaseStatus, Operation, Options, Position, RangeRequest, RangeResponse,
    Revision, Store, StoreStatus, Txn, TxnResponse, WatchBatch, WatchRequest, Watcher,
};
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::store_content::StoreContent;

/// A store in memory that can be killed and started again, like one on disk: acknowledged writes are kept with their
/// history, leases have their full time again, and watches end. It can be slow, and it can be full.
#[derive(Clone)]
pub(crate) struct Restartable {
    inner: Arc<Inner>,
}

struct Inner {
    options: Options,
    /// Starts the maintenance tasks of an engine.
    upkeep: Box<Upkeep>,
    state: Mutex<State>,
    deaths: Arc<Deaths>,
}

/// A function that starts the maintenance tasks of an engine.
type Upkeep = dyn Fn(&Engine) -> JoinSet<()> + Send + Sync;

/// The number of kills of a store. Tasks that wait for the next one are woken in the order of waiting.
#[derive(Default)]
struct Deaths {
    count: AtomicU64,
    died: Notify,
}

struct State {
    engine: Engine,
    /// The maintenance tasks of the engine; `None` while the store is dead.
    alive: Option<JoinSet<()>>,
    /// How much longer each request takes.
    latency: Duration,
    /// Whether there is no space for more.
    is_full: bool,
}

impl Restartable {
    pub(crate) fn new(options: Options, upkeep: impl Fn(&Engine) -> JoinSet<()> + Send + Sync + 'static) -> Self {
        Self::of(Engine::in_memory(options.clone()), options, upkeep)
    }

    /// A store with the content of this engine.
    pub(crate) fn of(
        engine: Engine,
        options: Options,
        upkeep: impl Fn(&Engine) -> JoinSet<()> + Send + Sync + 'static,
    ) -> Self {
        let alive = Some(upkeep(&engine));
        let state = Mutex::new(State { engine, alive, latency: Duration::ZERO, is_full: false });
        Self { inner: Arc::new(Inner { options, upkeep: Box::new(upkeep), state, deaths: Arc::default() }) }
    }

    /// `kill -9`: returns whether the store was alive.
    pub(crate) fn kill(&self) -> bool {
        let was_alive = self.inner.state.lock().alive.take().is_some();
        self.inner.deaths.count.fetch_add(1, Ordering::Relaxed);
        self.inner.deaths.died.notify_waiters();
        was_alive
    }

    /// Starts the store with its content; returns whether it was dead.
    pub(crate) fn start(&self) -> Result<bool, Error> {
        let mut state = self.inner.state.lock();
        if state.alive.is_some() {
            return Ok(false);
        }
        state.engine = state.engine.fork(0, self.inner.options.clone())?;
        state.alive = Some((self.inner.upkeep)(&state.engine));
        Ok(true)
    }

    /// The content with its history, for another store; a dead store has the content of its next start.
    pub(crate) fn content(&self) -> Result<StoreContent, Error> {
        let engine = self.inner.state.lock().engine.fork(0, self.inner.options.clone())?;
        Ok(StoreContent { engine, options: self.inner.options.clone() })
    }

    /// Each request takes this much longer, except watches.
    pub(crate) fn slow(&self, latency: Duration) {
        self.inner.state.lock().latency = latency;
    }

    /// Whether there is no space for more.
    pub(crate) fn fill(&self, is_full: bool) {
        self.inner.state.lock().is_full = is_full;
    }

    /// The engine after the latency of a request. A request that the store is slow with fails if it dies meanwhile.
    async fn engine(&self) -> Result<Engine, Error> {
        let latency = self.inner.state.lock().latency;
        if !latency.is_zero() {
            sleep(latency).await;
        }
        self.engine_now()
    }

    fn engine_now(&self) -> Result<Engine, Error> {
        let state = self.inner.state.lock();
        if state.alive.is_some() { Ok(state.engine.clone()) } else { Err(dead()) }
    }

    /// # Errors
    /// If there is no space for a request that adds something.
    fn has_space(&self, adds: bool) -> Result<(), Error> {
        if adds && self.inner.state.lock().is_full { Err(Error::NoSpace(None)) } else { Ok(()) }
    }
}

/// Whether a transaction may add something. In etcd: `costTxn`.
fn adds(txn: &Txn) -> bool {
    txn.success.iter().chain(&txn.failure).any(|operation| matches!(operation, Operation::Put { .. }))
}

fn dead() -> Error {
    Error::Unavailable("the store does not run".to_owned())
}

/// A cursor that ends with its store.
struct MortalWatcher {
    inner: Box<dyn Watcher>,
    life: Life,
}

/// The store between two kills.
#[derive(Clone)]
struct Life {
    /// The number of kills at its beginning.
    before: u64,
    deaths: Arc<Deaths>,
}

impl Life {
    /// An ended cursor stays ended: unread commits before the kill are lost with the connection.
    fn has_ended(&self) -> bool {
        self.deaths.count.load(Ordering::Relaxed) != self.before
    }
}

/// A cursor's position, valid as long as the store is alive.
struct MortalPosition {
    inner: Arc<dyn Position>,
    life: Life,
}

impl Position for MortalPosition {
    fn unchanged_since(&self, seen: Revision) -> Option<Revision> {
        self.inner.unchanged_since(seen).filter(|_| !self.life.has_ended())
    }
}

#[async_trait]
impl Watcher for MortalWatcher {
    async fn next(&mut self) -> Result<WatchBatch, Error> {
        let deaths = Arc::clone(&self.life.deaths);
        // Before the count is read, so that no kill between the two is missed.
        let died = pin!(deaths.died.notified());
        if self.life.has_ended() {
            return Err(dead());
        }
        match select(self.inner.next(), died).await {
            Either::Left((batch, _)) => batch,
            Either::Right(_) => Err(dead()),
        }
    }

    async fn progress(&mut self) -> Result<Revision, Error> {
        if self.life.has_ended() { Err(dead()) } else { self.inner.progress().await }
    }

    fn position(&self) -> Option<Arc<dyn Position>> {
        let (inner, life) = (self.inner.position()?, self.life.clone());
        Some(Arc::new(MortalPosition { inner, life }))
    }
}

#[async_trait]
impl Store for Restartable {
    async fn range(&self, request: RangeRequest) -> Result<RangeResponse, Error> {
        self.engine().await?.range(request).await
    }

    async fn txn(&self, txn: Txn) -> Result<TxnResponse, Error> {
        let engine = self.engine().await?;
        self.has_space(adds(&txn))?;
        engine.txn(txn).await
    }

    async fn watch(&self, request: WatchRequest) -> Result<Box<dyn Watcher>, Error> {
        let (engine, deaths) = (self.engine_now()?, Arc::clone(&self.inner.deaths));
        let life = Life { before: deaths.count.load(Ordering::Relaxed), deaths };
        Ok(Box::new(MortalWatcher { inner: engine.watch(request).await?, life }))
    }

    async fn compact(&self, revision: Revision) -> Result<(), Error> {
        self.engine().await?.compact(revision).await
    }

    async fn lease_grant(&self, id: LeaseId, ttl_seconds: i64) -> Result<LeaseId, Error> {
        let engine = self.engine().await?;
        self.has_space(true)?;
        engine.lease_grant(id, ttl_seconds).await
    }

    async fn lease_revoke(&self, id: LeaseId) -> Result<(), Error> {
        self.engine().await?.lease_revoke(id).await
    }

    async fn lease_keep_alive(&self, id: LeaseId) -> Result<i64, Error> {
        self.engine().await?.lease_keep_alive(id).await
    }

    async fn lease_status(&self, id: LeaseId) -> Result<LeaseStatus, Error> {
        self.engine().await?.lease_status(id).await
    }

    async fn leases(&self) -> Result<Vec<LeaseId>, Error> {
        self.engine().await?.leases().await
    }

    async fn history_hash(&self, revision: Revision) -> Result<HistoryHash, Error> {
        self.engine().await?.history_hash(revision).await
    }

    async fn defragment(&self) -> Result<(), Error> {
        self.engine().await?.defragment().await
    }

    async fn status(&self) -> Result<StoreStatus, Error> {
        self.engine().await?.status().await
    }
}

#[cfg(test)]
mod tests {
    use coracle_ambient::Ambient;
    use coracle_journal::Recorder;
    use coracle_store::KeyRange;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn acknowledged_writes_survive_a_crash_with_history_and_watches_end() {
        let store = Restartable::new(Options::new(Ambient::seeded(1), Recorder::off()), |_| JoinSet::new());
        let put = |value: &'static str| Txn { success: vec![Operation::put("a", value)], ..Txn::default() };
        let range = || RangeRequest { range: KeyRange::key("a"), ..RangeRequest::default() };
        let past = || WatchRequest { range: KeyRange::key("a"), start_revision: 2, prev_kv: false };
        store.txn(put("1")).await.unwrap();
        let mut watch = store.watch(past()).await.unwrap();
        store.txn(put("2")).await.unwrap();
        assert!(store.kill() && !store.kill());
        assert_eq!(store.range(range()).await, Err(dead()));
        assert_eq!(store.txn(put("3")).await, Err(dead()));
        assert!(store.start().unwrap() && !store.start().unwrap());
        assert_eq!(watch.next().await, Err(dead()));
        assert_eq!(watch.next().await, Err(dead()));
        assert_eq!(store.range(range()).await.unwrap().kvs[0].value, "2");
        assert_eq!(store.watch(past()).await.unwrap().next().await.unwrap().events.len(), 2);
        assert_eq!(store.txn(put("3")).await.unwrap().revision, 4);
    }
}
