use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use coracle_journal::EntryId;
use coracle_meta::{Object, ObjectKey, Status};
use coracle_store::{Cause, Compare, KeyValue, Operation, OperationResult, RangeRequest, Revision, Store, Txn};
use futures_util::future::{Either, select};
use indexmap::IndexMap;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::cache::{Announcement, Cache};
use crate::decoded_objects::{DecodedObjects, DecodedResource};
use crate::feed;
use crate::leases::Leases;
use crate::recent::Recent;
use crate::unreadable_reports::UnreadableReports;
use crate::{Draft, Freshness, HistoryLimits, NotStorable, Resource, Stored, Watch, WatchQuery, WatchStart, errors};

/// Objects in a store. A handle: clones share the caches.
#[derive(Clone)]
pub struct Storage {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    streams_ranges: bool,
    limits: HistoryLimits,
    caches: Mutex<Caches>,
    /// Notified when a cache was added.
    added: Notify,
    leases: Leases,
    recent: Mutex<Recent>,
    reports: UnreadableReports,
    /// What another storage has decoded, by directory, for caches that are added later.
    decoded: Mutex<BTreeMap<String, DecodedResource>>,
}

/// The watch caches of the resources in use.
#[derive(Default)]
struct Caches {
    by_directory: IndexMap<String, Arc<Cache>>,
    /// Those without a task.
    unfed: Vec<Arc<Cache>>,
}

/// The result of one attempt to write.
#[derive(Clone, Debug)]
pub enum Attempt {
    /// Written: the new object, or the last state of a deleted one.
    Done(Stored),
    /// Another client wrote first: this is the current object.
    Stale(Option<Stored>),
}

/// A write of an object.
#[derive(Clone, Copy, Debug)]
pub enum Write<'a> {
    /// Creates or replaces it.
    Put {
        /// The new object in the store's layout.
        draft: &'a Draft,
        /// After how many seconds the store deletes it.
        ttl_seconds: Option<i64>,
    },
    /// Deletes it.
    Delete,
}

/// The result of a transaction.
enum TxnOutcome {
    At(Revision),
    /// The current object is not the expected one.
    Stale(Option<Stored>),
}

impl Storage {
    /// Objects in `store`, with the default amount of history for watches.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self::with_history(store, HistoryLimits::default())
    }

    /// Objects in `store`, with this amount of history of each resource for watches that start in the past or are
    /// slow.
    pub fn with_history(store: Arc<dyn Store>, limits: HistoryLimits) -> Self {
        Self::with_settings(store, limits, false)
    }

    /// Objects in `store`, of which whole ranges are read as streams where it offers them, and as pages elsewhere.
    ///
    /// In Kubernetes: the feature gate `EtcdRangeStream`.
    pub fn streaming(store: Arc<dyn Store>) -> Self {
        Self::with_settings(store, HistoryLimits::default(), true)
    }

    fn with_settings(store: Arc<dyn Store>, limits: HistoryLimits, streams_ranges: bool) -> Self {
        let inner = Inner {
            store,
            streams_ranges,
            limits,
            caches: Mutex::default(),
            added: Notify::new(),
            leases: Leases::default(),
            recent: Mutex::default(),
            reports: UnreadableReports::default(),
            decoded: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The decoded objects of all caches as they are now.
    pub fn decoded_objects(&self) -> DecodedObjects {
        let caches: Vec<_> = self.inner.caches().by_directory.values().map(Arc::clone).collect();
        let decoded = |cache: &Arc<Cache>| DecodedResource::new(&cache.resource, cache.state().objects.clone());
        DecodedObjects::new(caches.iter().map(|cache| (cache.resource.directory.clone(), decoded(cache))))
    }

    /// Reuses the decoded objects of another storage where the stores of both have the same values in the same memory.
    /// The kinds of both must be those of the same release. Each resource uses them for its first cache.
    pub fn reuse_decoded(&self, objects: &DecodedObjects) {
        *self.inner.decoded.lock() = objects.resources();
    }

    /// Sets a function that is called once for each value of the watch caches that cannot be decoded, with its key
    /// and the reason. Such a value is kept, and is left out where the server derives data from the objects of its
    /// kind.
    pub fn report_unreadable(&self, report: impl Fn(&str, &NotStorable) + Send + Sync + 'static) {
        self.inner.reports.go_to(report);
    }

    /// Feeds the caches of all used resources, including later ones, until the future is dropped. Without it, reads
    /// that need a cache fail after a timeout. Must be called only once, and again after a panic: then caches whose
    /// tasks had ended are filled again.
    ///
    /// In Kubernetes: each `Cacher` starts a goroutine of its own.
    ///
    /// # Panics
    /// If a task that feeds a cache panics.
    pub fn run(&self) -> impl Future<Output = Infallible> + Send + use<> {
        let inner = Arc::clone(&self.inner);
        async move {
            inner.replace_ended();
            let mut feeds = JoinSet::new();
            loop {
                for cache in std::mem::take(&mut inner.caches().unfed) {
                    let task = feeds.spawn(feed::run(Arc::clone(&cache)));
                    cache.fed_by(task);
                }
                let ended = pin!(async {
                    match feeds.join_next().await {
                        Some(ended) => ended,
                        None => std::future::pending().await,
                    }
                });
                if let Either::Right((Err(ended), _)) = select(pin!(inner.added.notified()), ended).await
                    && let Ok(panic) = ended.try_into_panic()
                {
                    std::panic::resume_unwind(panic);
                }
            }
        }
    }

    /// Whether whole ranges are read as streams where the store offers them.
    pub(crate) fn streams_ranges(&self) -> bool {
        self.inner.streams_ranges
    }

    /// The underlying store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    pub(crate) fn cache(&self, resource: &Arc<Resource>) -> Arc<Cache> {
        let mut caches = self.inner.caches();
        if let Some(cache) = caches.by_directory.get(&resource.directory) {
            return Arc::clone(cache);
        }
        let cache = self.inner.new_cache(resource);
        caches.by_directory.insert(resource.directory.clone(), Arc::clone(&cache));
        caches.unfed.push(Arc::clone(&cache));
        drop(caches);
        self.inner.added.notify_one();
        cache
    }

    /// Drops the cache of a resource, because its kind is no longer served or has changed. Its watches end.
    pub fn forget(&self, resource: &Resource) {
        let cache = self.inner.caches().by_directory.shift_remove(&resource.directory);
        if let Some(cache) = cache {
            cache.close();
        }
    }

    /// Reads one object. `Exact` is treated as `NotOlderThan`, as everywhere in the API.
    pub async fn get(
        &self,
        resource: &Arc<Resource>,
        key: &ObjectKey,
        freshness: Freshness,
    ) -> Result<Option<Stored>, Status> {
        let cache = self.cache(resource);
        match freshness {
            Freshness::Newest => return self.read(resource, key, 0).await,
            Freshness::AsOf(revision) => return self.read(resource, key, revision).await,
            Freshness::Any => cache.fresh().await?,
            Freshness::NotOlderThan(revision) | Freshness::Exact(revision) => cache.wait_for(revision).await?,
        }
        let short = resource.short_key(key);
        let state = cache.state();
        state.unreadable.check_key(resource, &short)?;
        Ok(state.objects.get(short.as_str()).map(|entry| entry.stored.clone()))
    }

    /// Reads one object from the store at a revision, or the newest with 0.
    async fn read(&self, resource: &Resource, key: &ObjectKey, revision: Revision) -> Result<Option<Stored>, Status> {
        let range = coracle_store::KeyRange::key(resource.key(key));
        let request = RangeRequest { range, revision, limit: 1, ..RangeRequest::default() };
        let response = self.inner.store.range(request).await.map_err(errors::status)?;
        let Some(kv) = response.kvs.into_iter().next() else { return Ok(None) };
        match self.cached(resource, &resource.short_key(key), &kv) {
            Some(stored) => Ok(Some(stored)),
            None => {
                self.missed(resource, kv.mod_revision);
                stored(resource, kv).map(Some)
            }
        }
    }

    /// Lets the cache apply a change that a reader has found in the store.
    fn missed(&self, resource: &Resource, revision: Revision) {
        let cache = self.inner.caches().by_directory.get(&resource.directory).cloned();
        cache.iter().for_each(|cache| cache.missed(revision));
    }

    /// The object of a value, if the cache has it, or a write of this process that the cache has not applied: it may be
    /// parsed already.
    pub(crate) fn cached(&self, resource: &Resource, key: &str, kv: &KeyValue) -> Option<Stored> {
        let cache = Arc::clone(self.inner.caches().by_directory.get(&resource.directory)?);
        let state = cache.state();
        let applied = state.objects.get(key).map(|entry| &entry.stored);
        let applied = applied.filter(|stored| stored.revision() == kv.mod_revision);
        applied.or_else(|| state.announced.written(&kv.value, kv.mod_revision)).cloned()
    }

    /// Opens a watch.
    pub async fn watch(&self, resource: &Arc<Resource>, query: &WatchQuery) -> Result<Watch, Status> {
        let past = match (query.start, query.freshness) {
            (WatchStart::Snapshot, Freshness::AsOf(revision)) => {
                Some(self.objects_at(resource, query, revision).await?)
            }
            _ => None,
        };
        Watch::open(self.cache(resource), query, past).await
    }

    /// Waits until an object of a resource has changed after `revision`, or the resource is no longer cached.
    pub async fn changed_after(&self, resource: &Arc<Resource>, revision: Revision) {
        self.cache(resource).changed_after(revision).await;
    }

    /// The revision of the last change of any object of a resource, after synchronizing with the store.
    pub async fn last_change(&self, resource: &Arc<Resource>) -> Result<Revision, Status> {
        self.cache(resource).last_change().await
    }

    /// Writes an object if the one in the store is still `expected`, or if it does not exist and none is expected.
    /// The only way to change objects.
    pub async fn write(
        &self,
        resource: &Arc<Resource>,
        key: &ObjectKey,
        expected: Option<&Stored>,
        write: Write<'_>,
        cause: Option<EntryId>,
    ) -> Result<Attempt, Status> {
        let cache = self.cache(resource);
        cache.ready().await?;
        let store_key = resource.key(key);
        let compare = Compare::mod_revision(store_key.clone(), expected.map_or(0, Stored::revision));
        let txn = |operation| Txn {
            compare: vec![compare],
            success: vec![operation],
            failure: vec![Operation::get(store_key.clone())],
            cause: cause.map(|entry| Cause { entry, subject: Some(resource.subject(key)) }),
        };
        match write {
            Write::Put { draft, ttl_seconds } => {
                let put = Operation::Put {
                    key: store_key.clone(),
                    value: draft.value().clone(),
                    lease: self.lease(ttl_seconds).await?,
                    prev_kv: false,
                    ignore_value: false,
                    ignore_lease: false,
                };
                let announcement = draft.parsed().map(|object| cache.announce(&draft.stored, object));
                match self.commit(resource, txn(put)).await? {
                    TxnOutcome::At(revision) => {
                        let settle = |announced: Announcement<'_>| announced.settle(&resource.short_key(key), revision);
                        Ok(Attempt::Done(announcement.map_or_else(|| draft.stored.at(revision), settle)))
                    }
                    TxnOutcome::Stale(current) => Ok(Attempt::Stale(current)),
                }
            }
            Write::Delete => {
                match (self.commit(resource, txn(Operation::delete(store_key.clone()))).await?, expected) {
                    (TxnOutcome::At(revision), Some(expected)) => Ok(Attempt::Done(expected.at(revision))),
                    (TxnOutcome::At(_), None) => Ok(Attempt::Stale(None)),
                    (TxnOutcome::Stale(current), _) => Ok(Attempt::Stale(current)),
                }
            }
        }
    }

    async fn lease(&self, ttl_seconds: Option<i64>) -> Result<i64, Status> {
        match ttl_seconds {
            Some(ttl) if ttl > 0 => self.inner.leases.lease(&self.inner.store, ttl).await.map_err(errors::status),
            _ => Ok(0),
        }
    }

    /// Keeps the parsed object of a write for a while: it is often read next.
    pub fn remember(&self, stored: &Stored, written: Draft) {
        let mut object = Arc::unwrap_or_clone(written.into_object());
        object.set_resource_version(stored.revision().to_string());
        let object = stored.share(Arc::new(object));
        self.inner.recent.lock().push(object, stored.len());
    }

    /// The parsed object, kept for a while: for small objects that are read repeatedly.
    pub fn object(&self, stored: &Stored) -> Arc<Object> {
        stored.parsed().unwrap_or_else(|| {
            let object = stored.object();
            let mut recent = self.inner.recent.lock();
            recent.push(Arc::clone(&object), stored.len());
            object
        })
    }

    async fn commit(&self, resource: &Resource, txn: Txn) -> Result<TxnOutcome, Status> {
        let response = self.inner.store.txn(txn).await.map_err(errors::status)?;
        if response.succeeded {
            return Ok(TxnOutcome::At(response.revision));
        }
        let found = response.results.into_iter().find_map(|result| match result {
            OperationResult::Range(range) => range.kvs.into_iter().next(),
            _ => None,
        });
        Ok(TxnOutcome::Stale(found.map(|kv| stored(resource, kv)).transpose()?))
    }
}

impl Inner {
    fn caches(&self) -> MutexGuard<'_, Caches> {
        self.caches.lock()
    }

    fn new_cache(&self, resource: &Arc<Resource>) -> Arc<Cache> {
        let (store, reports) = (Arc::clone(&self.store), self.reports.clone());
        let decoded = self.decoded.lock().remove(&resource.directory).unwrap_or_default().objects_for(resource);
        Arc::new(Cache::new(Arc::clone(resource), store, self.streams_ranges, self.limits, reports, decoded))
    }

    /// Replaces each cache that is no longer fed.
    fn replace_ended(&self) {
        let mut caches = self.caches();
        let Caches { by_directory, unfed } = &mut *caches;
        for cache in by_directory.values_mut().filter(|cache| cache.state().closed) {
            *cache = self.new_cache(&cache.resource);
            unfed.push(Arc::clone(cache));
        }
    }
}

pub(crate) fn stored(resource: &Resource, kv: KeyValue) -> Result<Stored, Status> {
    resource.read(kv.value, kv.mod_revision).map_err(|error| errors::unreadable(&kv.key, &error))
}
