use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use coracle_ambient::{HoldsWork, Horizon, Pending, Random};
use coracle_client::AnyApi;
use coracle_journal::EntryId;
use coracle_meta::{AnyObject, GroupVersionResource, ObjectKey, parse_resource_version};
use futures_util::future::select;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::processor::{Audience, Handler, SharedProcessor, panicked};
use crate::reads::Look;
use crate::reflector::Reflector;
use crate::reflector_store::ReflectorStore;
use crate::{
    Delta, DeltaType, HandlerRegistration, HandlerScope, Indexer, Notification, Popped, Records, Selection, Signal,
    reads,
};

/// How long a caller waits for a version before the server is asked for its current version: usually an event brings
/// it sooner.
const PATIENCE: Duration = Duration::from_secs(1);
/// After this many objects the task yields to others.
const BATCH: usize = 128;

/// A [`SharedInformer`](crate::SharedInformer) without its type: the code that is the same for all kinds, compiled
/// once. Clones are handles of the same informer.
#[derive(Clone)]
pub struct AnyInformer {
    inner: Arc<Inner>,
    /// Where the handlers are noted that this handle adds.
    scope: Option<HandlerScope>,
}

struct Inner {
    resource: GroupVersionResource,
    reflector: Reflector,
    store: ReflectorStore,
    indexer: Arc<Indexer>,
    processor: SharedProcessor,
    records: Records,
    synced: Signal,
    runs: AtomicBool,
    stopped: Signal,
    /// Notified when the cache has reached a later version.
    advanced: Notify,
}

impl fmt::Debug for AnyInformer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformer")
            .field("indexer", &self.inner.indexer)
            .field("synced", &self.inner.synced.is_given())
            .finish_non_exhaustive()
    }
}

impl AnyInformer {
    pub(crate) fn new(api: &AnyApi, selection: Selection, random: Random, records: Records) -> Self {
        let indexer = Arc::new(Indexer::default());
        Self {
            inner: Arc::new(Inner {
                resource: api.resource().clone(),
                reflector: Reflector::new(api, selection, random, records.clone()),
                store: ReflectorStore::new(indexer.clone(), records.clone()),
                processor: SharedProcessor::new(records.clone()),
                indexer,
                records,
                synced: Signal::default(),
                runs: AtomicBool::new(false),
                stopped: Signal::default(),
                advanced: Notify::new(),
            }),
            scope: None,
        }
    }

    /// A handle that notes the handlers that it adds.
    pub(crate) fn within(&self, scope: Option<&HandlerScope>) -> Self {
        Self { inner: Arc::clone(&self.inner), scope: scope.cloned() }
    }

    /// Adds a handler, at any time; `actor` is its name in the event log. It is first notified of all existing
    /// objects.
    pub fn add_handler(
        &self,
        actor: &str,
        handler: impl FnMut(&Notification<dyn AnyObject>, &[EntryId]) + Send + 'static,
    ) -> HandlerRegistration {
        self.register(actor, None, Box::new(handler))
    }

    /// Adds a handler that is notified of every object again each `period`, from the cache, without a request to the
    /// server.
    pub fn add_resyncing_handler(
        &self,
        actor: &str,
        period: Duration,
        handler: impl FnMut(&Notification<dyn AnyObject>, &[EntryId]) + Send + 'static,
    ) -> HandlerRegistration {
        self.register(actor, Some(period), Box::new(handler))
    }

    fn register(&self, actor: &str, resync: Option<Duration>, handler: Handler) -> HandlerRegistration {
        // While the queue is locked the cache does not change, so the handler gets each change exactly once.
        let fifo = self.inner.store.lock();
        let complete = self.inner.synced.is_given();
        let registration = self.inner.processor.add(actor, resync, handler, self.inner.indexer.list(), complete);
        drop(fifo);
        if let Some(scope) = &self.scope {
            scope.add(registration.clone());
        }
        registration
    }

    /// Adds an index to the cache; a second index of the same name changes nothing.
    pub fn add_index(
        &self,
        name: &'static str,
        values: impl Fn(&dyn AnyObject) -> Vec<String> + Send + Sync + 'static,
    ) {
        self.inner.indexer.add_index(name, values);
    }

    /// The resource.
    pub fn resource(&self) -> &GroupVersionResource {
        &self.inner.resource
    }

    /// The cache as a holder of work.
    pub(crate) fn holder(&self) -> Weak<dyn HoldsWork> {
        let inner: Weak<Inner> = Arc::downgrade(&self.inner);
        inner
    }

    pub(crate) fn indexer(&self) -> Arc<Indexer> {
        self.inner.indexer.clone()
    }

    /// Whether the cache holds the first list.
    pub fn has_synced(&self) -> bool {
        self.inner.synced.is_given()
    }

    /// Waits until the cache holds the first list.
    pub async fn synced(&self) {
        self.inner.synced.given().await;
    }

    /// The version up to which the cache is complete; empty before the first list.
    pub fn version(&self) -> String {
        self.inner.indexer.version()
    }

    /// The revision up to which the cache is complete; 0 before the first list, and if versions are not numbers.
    pub fn revision(&self) -> i64 {
        self.inner.indexer.revision()
    }

    /// Whether the cache is complete up to this revision.
    pub fn has_reached(&self, revision: i64) -> bool {
        parse_resource_version(&self.version()).is_some_and(|reached| reached >= revision)
    }

    /// Waits until the cache is complete up to this revision.
    pub async fn reached(&self, revision: i64) {
        loop {
            let mut advanced = pin!(self.inner.advanced.notified());
            advanced.as_mut().enable();
            if self.has_reached(revision) {
                return;
            }
            if timeout(PATIENCE, advanced).await.is_err() {
                self.inner.store.awaited.notify_one();
            }
        }
    }

    /// Whether the cache holds the object with this uid.
    pub fn holds(&self, key: &ObjectKey, uid: &str) -> bool {
        let is_same = |object: Arc<dyn AnyObject>| object.object_meta().uid.as_deref() == Some(uid);
        !self.is_stopped() && self.inner.indexer.get(key).is_some_and(is_same)
    }

    /// Waits until the cache no longer holds the object with this uid.
    pub async fn lost(&self, key: &ObjectKey, uid: &str) {
        loop {
            let mut advanced = pin!(self.inner.advanced.notified());
            advanced.as_mut().enable();
            if !self.holds(key, uid) {
                return;
            }
            if timeout(PATIENCE, advanced).await.is_err() {
                self.inner.store.awaited.notify_one();
            }
        }
    }

    /// How many objects of a namespace the cache holds.
    pub fn count(&self, namespace: &str) -> usize {
        reads::note(&self.inner.resource.resource, &self.inner.indexer, Look::Around);
        self.inner.indexer.count(namespace)
    }

    /// Whether the informer was stopped.
    pub fn is_stopped(&self) -> bool {
        self.inner.stopped.is_given()
    }

    /// Stops [`run`](Self::run).
    pub fn stop(&self) {
        self.inner.stopped.give();
    }

    /// Updates the cache and notifies the handlers, until the informer is stopped or the future is dropped. Must be
    /// called only once.
    pub async fn run(&self) {
        let _runs = Runs::of(&self.inner.runs);
        let work = async {
            tokio::join!(
                biased;
                self.inner.reflector.run(&self.inner.store),
                self.process(),
                self.resync(),
                self.listen(),
            )
        };
        until(self.inner.stopped.given(), work).await;
    }

    /// Starts a listener for each handler. In Kubernetes: `sharedProcessor.run`.
    async fn listen(&self) {
        let mut listeners = JoinSet::new();
        loop {
            self.inner.processor.start_listeners(&mut listeners);
            select(pin!(panicked(&mut listeners)), pin!(self.inner.processor.handler_added())).await;
        }
    }

    /// Moves deltas from the queue to the cache and to the handlers. In Kubernetes: `controller.processLoop`.
    async fn process(&self) {
        loop {
            let mut processed = 0;
            while self.process_next() {
                processed += 1;
                if processed % BATCH == 0 {
                    tokio::task::yield_now().await;
                }
            }
            self.inner.store.filled.notified().await;
        }
    }

    fn process_next(&self) -> bool {
        let mut fifo = self.inner.store.lock();
        let Some(popped) = fifo.pop() else {
            self.inner.indexer.set_version(fifo.version());
            if fifo.has_synced() && !self.inner.synced.is_given() {
                self.inner.processor.distribute_synced();
                self.inner.synced.give();
            }
            self.inner.advanced.notify_waiters();
            return false;
        };
        let Popped { deltas, initial, .. } = popped;
        for delta in deltas {
            let cause = delta.cause;
            if let Some((notification, audience)) = self.apply(delta, initial) {
                let cause = self.inner.records.applied(&notification, cause);
                self.inner.processor.distribute(notification, audience, cause);
            }
        }
        true
    }

    /// Applies one delta to the cache, and returns the resulting notification. In Kubernetes: `processDeltas`.
    fn apply(&self, delta: Delta, initial: bool) -> Option<(Notification<dyn AnyObject>, Audience)> {
        let Delta { delta_type, object, observed, .. } = delta;
        if delta_type == DeltaType::Deleted {
            self.inner.indexer.remove(&object.object_key())?;
            return Some((Notification::Deleted { object, observed }, Audience::All));
        }
        let Some(old) = self.inner.indexer.insert(object.clone()) else {
            return Some((Notification::Added { object, initial }, Audience::All));
        };
        let unchanged = delta_type == DeltaType::Replaced && old.resource_version() == object.resource_version();
        let audience = if unchanged || delta_type == DeltaType::Sync { Audience::Resyncing } else { Audience::All };
        Some((Notification::Updated { old, new: object }, audience))
    }

    /// Notifies handlers with a resync period of every object again, when they are due.
    async fn resync(&self) {
        loop {
            self.inner.processor.resync_due().await;
            self.inner.processor.begin_resync();
            self.inner.store.resync();
        }
    }
}

/// Sets a flag until it is dropped.
struct Runs<'f>(&'f AtomicBool);

impl<'f> Runs<'f> {
    fn of(flag: &'f AtomicBool) -> Self {
        flag.store(true, Ordering::Relaxed);
        Self(flag)
    }
}

impl Drop for Runs<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl HoldsWork for Inner {
    /// A cache that runs and does not show the revision yet. It then asks the server for its current version.
    fn pending(&self, horizon: &Horizon) -> Vec<Pending> {
        let version = self.indexer.version();
        let shows = parse_resource_version(&version).is_some_and(|shown| shown >= horizon.revision);
        if shows || !self.runs.load(Ordering::Relaxed) || self.stopped.is_given() {
            return Vec::new();
        }
        self.store.awaited.notify_one();
        let shown = if version.is_empty() { "nothing".to_owned() } else { format!("revision {version}") };
        let resource = &self.resource.resource;
        let what = format!("informer of {resource}: it shows {shown}, and revision {} is needed", horizon.revision);
        vec![Pending { what, due: None }]
    }
}

/// Runs `work` until it ends or `end` completes.
async fn until(end: impl Future<Output = ()>, work: impl Future) {
    select(pin!(end), pin!(work)).await;
}
