use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Random;
use coracle_client::Api;
use coracle_journal::EntryId;
use coracle_meta::{ApiObject, GroupVersionResource, parse_resource_version};
use futures_util::future::select;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::processor::{Audience, Handler, SharedProcessor, panicked};
use crate::reflector::{Reflector, Transform};
use crate::reflector_store::ReflectorStore;
use crate::{Delta, DeltaType, HandlerRegistration, Indexer, Lister, Notification, Popped, Records, Selection, Signal};

/// After so many objects others get a turn.
const BATCH: usize = 128;

/// A cache of one kind that everybody in a process shares; clones are handles of the same one.
///
/// What it promises, for objects of the selection:
/// - The cache follows the server: it is never ahead, and when the server is quiet it becomes equal.
/// - A handler is told of each object that is there, and then of its changes, in the order in which the cache made
///   them; a deletion that was missed is told when a list reveals it. Changes may be skipped, states are not invented.
/// - When a handler is told, the cache is at that state or a later one.
/// - Handlers do not wait for each other.
///
/// In Kubernetes: `cache.SharedIndexInformer`.
///
/// A handler says which key is concerned; whoever works on the key looks at the cache:
///
/// ```
/// use coracle::api::core_v1::ConfigMap;
/// use coracle::journal::Recorder;
/// use coracle::meta::Resource;
/// use coracle::runtime::informer::InformerFactory;
/// use coracle::runtime::workqueue::WorkQueue;
/// use coracle::runtime::{Api, DeleteParams};
///
/// coracle::run_virtual(1, async |cluster| {
///     let client = cluster.api_client();
///     let factory = InformerFactory::new(&client, cluster.ambient(), Recorder::off(), "program");
///     let informer = factory.informer::<ConfigMap>();
///     let queue = WorkQueue::new("maps");
///     let keys = queue.clone();
///     informer.add_handler("program", move |notification, causes| keys.add(notification.object().key(), causes));
///     tokio::spawn(async move { factory.run().await });
///     informer.synced().await;
///
///     let mut map = ConfigMap::default();
///     map.metadata.namespace = Some("default".to_owned());
///     map.metadata.name = Some("a".to_owned());
///     let maps = Api::<ConfigMap>::of(&client);
///     maps.create(&map).await.unwrap();
///     maps.delete(&map.key(), &DeleteParams::default()).await.unwrap();
///     while let Some(work) = queue.get().await {
///         queue.done(&work.key);
///         if work.key == map.key() && informer.lister().get(&work.key).is_none() {
///             break; // created and deleted: what counts is that it is not there
///         }
///     }
/// })
/// .unwrap();
/// ```
pub struct SharedInformer<T> {
    inner: Arc<Inner<T>>,
}

struct Inner<T> {
    resource: GroupVersionResource,
    reflector: Reflector<T>,
    store: ReflectorStore<T>,
    indexer: Arc<Indexer<T>>,
    processor: SharedProcessor<T>,
    records: Records,
    synced: Signal,
    stopped: Signal,
    /// Rings when the cache has come to a later version.
    advanced: Notify,
}

impl<T> Clone for SharedInformer<T> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<T> fmt::Debug for SharedInformer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformer")
            .field("indexer", &self.inner.indexer)
            .field("synced", &self.inner.synced.is_given())
            .finish_non_exhaustive()
    }
}

impl<T: ApiObject> SharedInformer<T> {
    /// An informer of what `selection` selects; it does nothing until it is [`run`](Self::run). Most callers ask an
    /// [`InformerFactory`](crate::InformerFactory) instead.
    pub fn new(api: Api<T>, selection: Selection, random: Random, records: Records) -> Self {
        Self::with_transform(api, selection, random, records, Box::new(T::drop_managed_fields))
    }

    /// An informer that changes each object by `transform` before it is cached. In Kubernetes: `cache.TransformFunc`.
    pub fn with_transform(
        api: Api<T>,
        selection: Selection,
        random: Random,
        records: Records,
        transform: Box<Transform<T>>,
    ) -> Self {
        let indexer = Arc::new(Indexer::default());
        Self {
            inner: Arc::new(Inner {
                resource: api.resource().clone(),
                reflector: Reflector::new(api, selection, transform, random, records.clone()),
                store: ReflectorStore::new(indexer.clone(), records.clone()),
                processor: SharedProcessor::new(records.clone()),
                indexer,
                records,
                synced: Signal::default(),
                stopped: Signal::default(),
                advanced: Notify::new(),
            }),
        }
    }

    /// Adds a handler, at any time; `actor` is its name in the event log. It is told first of what is there.
    pub fn add_handler(
        &self,
        actor: &str,
        handler: impl FnMut(&Notification<T>, &[EntryId]) + Send + 'static,
    ) -> HandlerRegistration<T> {
        self.register(actor, None, Box::new(handler))
    }

    /// Adds a handler that is told of everything again each `period`, from the cache: the server is not asked.
    pub fn add_resyncing_handler(
        &self,
        actor: &str,
        period: Duration,
        handler: impl FnMut(&Notification<T>, &[EntryId]) + Send + 'static,
    ) -> HandlerRegistration<T> {
        self.register(actor, Some(period), Box::new(handler))
    }

    fn register(&self, actor: &str, resync: Option<Duration>, handler: Handler<T>) -> HandlerRegistration<T> {
        // While the queue is held the cache stands still, so that the handler misses nothing and hears nothing twice.
        let fifo = self.inner.store.lock();
        let complete = self.inner.synced.is_given();
        let registration = self.inner.processor.add(actor, resync, handler, self.inner.indexer.list(), complete);
        drop(fifo);
        registration
    }

    /// Adds an index to the cache; a second one of the same name changes nothing.
    ///
    /// ```
    /// # use coracle::api::core_v1::Namespace;
    /// # use coracle::journal::Recorder;
    /// # use coracle::runtime::informer::InformerFactory;
    /// # coracle::run_virtual(1, async |cluster| {
    /// # let factory = InformerFactory::new(&cluster.api_client(), cluster.ambient(), Recorder::off(), "program");
    /// let namespaces = factory.informer::<Namespace>();
    /// namespaces.add_index("initial", |namespace| {
    ///     let name = namespace.metadata.name.clone().unwrap_or_default();
    ///     name.chars().next().into_iter().map(String::from).collect()
    /// });
    /// tokio::spawn(async move { factory.run().await });
    /// namespaces.synced().await;
    /// assert_eq!(namespaces.lister().by_index("initial", "d").len(), 1);
    /// # }).unwrap();
    /// ```
    pub fn add_index(&self, name: &'static str, values: impl Fn(&T) -> Vec<String> + Send + Sync + 'static) {
        self.inner.indexer.add_index(name, values);
    }

    /// Which resource this is.
    pub fn resource(&self) -> &GroupVersionResource {
        &self.inner.resource
    }

    /// A handle to read the cache.
    pub fn lister(&self) -> Lister<T> {
        Lister::new(self.inner.indexer.clone())
    }

    /// Whether the first list is in the cache.
    pub fn has_synced(&self) -> bool {
        self.inner.synced.is_given()
    }

    /// Waits until the first list is in the cache.
    pub async fn synced(&self) {
        self.inner.synced.given().await;
    }

    /// Up to which version the cache holds everything; empty before the first list.
    pub fn version(&self) -> String {
        self.inner.indexer.version()
    }

    /// Whether the cache holds everything up to this revision.
    pub fn has_reached(&self, revision: i64) -> bool {
        parse_resource_version(&self.version()).is_some_and(|reached| reached >= revision)
    }

    /// Waits until the cache holds everything up to this revision.
    pub async fn reached(&self, revision: i64) {
        loop {
            let mut advanced = pin!(self.inner.advanced.notified());
            advanced.as_mut().enable();
            if self.has_reached(revision) {
                return;
            }
            advanced.await;
        }
    }

    /// Lets [`run`](Self::run) end.
    pub fn stop(&self) {
        self.inner.stopped.give();
    }

    /// Keeps the cache and tells the handlers, until it is stopped or dropped. To be called once.
    pub async fn run(&self) {
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

    /// Takes deltas from the queue to the cache and to the handlers. In Kubernetes: `controller.processLoop`.
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

    /// Applies one delta to the cache, and says what changed. In Kubernetes: `processDeltas`.
    fn apply(&self, delta: Delta<T>, initial: bool) -> Option<(Notification<T>, Audience)> {
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

    /// Says everything again to the handlers that asked for it, at their times.
    async fn resync(&self) {
        loop {
            self.inner.processor.resync_due().await;
            self.inner.processor.begin_resync();
            self.inner.store.resync();
        }
    }
}

/// Does `work` until it ends or `end` comes.
async fn until(end: impl Future<Output = ()>, work: impl Future) {
    select(pin!(end), pin!(work)).await;
}
