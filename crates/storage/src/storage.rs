use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use coracle_journal::EntryId;
use coracle_meta::{Object, ObjectKey, Status};
use coracle_store::{Compare, Error, KeyValue, Operation, OperationResult, RangeRequest, Revision, Store, Txn};

use crate::cache::Cache;
use crate::leases::Leases;
use crate::recent::Recent;
use crate::{Draft, Freshness, HistoryLimits, Resource, Stored, Watch, WatchQuery, errors};

/// Objects in a store. A handle: clones share the caches.
#[derive(Clone)]
pub struct Storage {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    limits: HistoryLimits,
    caches: Mutex<BTreeMap<String, Arc<Cache>>>,
    leases: Leases,
    recent: Mutex<Recent>,
}

/// What one attempt to write came to.
#[derive(Clone, Debug)]
pub enum Attempt {
    /// Written: the object now, or the last state of what was deleted.
    Done(Stored),
    /// Somebody else wrote first: this is there now.
    Stale(Option<Stored>),
}

/// What is to become of an object.
#[derive(Clone, Copy, Debug)]
pub enum Write<'a> {
    /// It is this from now on.
    Put {
        /// The object, laid out.
        draft: &'a Draft,
        /// After how many seconds the store drops it by itself.
        ttl_seconds: Option<i64>,
    },
    /// It goes.
    Delete,
}

/// What the store made of a transaction.
enum Committed {
    At(Revision),
    /// Not what was expected is there, but this.
    Stale(Option<Stored>),
}

impl Storage {
    /// Objects in `store`, with as much history for watches as is usual.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self::with_history(store, HistoryLimits::default())
    }

    /// Objects in `store`, with so much history of each resource for watches that begin in the past or are slow.
    pub fn with_history(store: Arc<dyn Store>, limits: HistoryLimits) -> Self {
        let (caches, leases, recent) = (Mutex::default(), Leases::default(), Mutex::default());
        Self { inner: Arc::new(Inner { store, limits, caches, leases, recent }) }
    }

    /// The store beneath.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    pub(crate) fn cache(&self, resource: &Arc<Resource>) -> Arc<Cache> {
        let mut caches = self.inner.caches.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cache) = caches.get(&resource.directory) {
            return Arc::clone(cache);
        }
        let cache = Arc::new(Cache::new(Arc::clone(resource), Arc::clone(&self.inner.store), self.inner.limits));
        caches.insert(resource.directory.clone(), Arc::clone(&cache));
        cache
    }

    /// Forgets what is cached of a resource, because its kind is served no longer or otherwise. Its watches end.
    pub fn forget(&self, resource: &Resource) {
        let cache = self.inner.caches.lock().unwrap_or_else(PoisonError::into_inner).remove(&resource.directory);
        if let Some(cache) = cache {
            cache.close();
        }
    }

    /// Reads one object. `Exact` is read as `NotOlderThan`, as everywhere in the API.
    pub async fn get(
        &self,
        resource: &Arc<Resource>,
        key: &ObjectKey,
        freshness: Freshness,
    ) -> Result<Option<Stored>, Status> {
        let cache = self.cache(resource);
        match freshness {
            Freshness::Newest => return self.read(resource, key).await,
            Freshness::Any => drop(cache.current().await?),
            Freshness::NotOlderThan(revision) | Freshness::Exact(revision) => cache.wait_for(revision).await?,
        }
        let short = resource.short_key(key);
        let found = cache.state().objects.get(short.as_str()).map(|entry| entry.stored.clone());
        Ok(found)
    }

    async fn read(&self, resource: &Resource, key: &ObjectKey) -> Result<Option<Stored>, Status> {
        let range = coracle_store::KeyRange::key(resource.key(key));
        let request = RangeRequest { range, limit: 1, ..RangeRequest::default() };
        let response = self.inner.store.range(request).await.map_err(errors::status)?;
        let Some(kv) = response.kvs.into_iter().next() else { return Ok(None) };
        match self.cached(resource, key, kv.mod_revision) {
            Some(stored) => Ok(Some(stored)),
            None => stored(kv).map(Some),
        }
    }

    /// What the cache has of an object, if it is of this revision: it may be parsed already.
    fn cached(&self, resource: &Resource, key: &ObjectKey, revision: Revision) -> Option<Stored> {
        let caches = self.inner.caches.lock().unwrap_or_else(PoisonError::into_inner);
        let cache = Arc::clone(caches.get(&resource.directory)?);
        drop(caches);
        let state = cache.state();
        let entry = state.objects.get(resource.short_key(key).as_str())?;
        (entry.stored.revision() == revision).then(|| entry.stored.clone())
    }

    /// Opens a watch.
    pub async fn watch(&self, resource: &Arc<Resource>, query: &WatchQuery) -> Result<Watch, Status> {
        Watch::open(self.cache(resource), query).await
    }

    /// The revision of the last change of any object of a resource, after catching up with the store.
    pub async fn last_change(&self, resource: &Arc<Resource>) -> Result<Revision, Status> {
        self.cache(resource).last_change().await
    }

    /// Writes an object if the one in the store is still `expected`, or if there is none where none is expected. The one
    /// way in which objects change.
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
            cause,
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
                let announcement = cache.announce(&draft.stored, draft.object());
                match self.commit(txn(put)).await? {
                    Committed::At(revision) => {
                        let stored = announcement.settle(&resource.short_key(key), revision);
                        cache.keep_up().await;
                        Ok(Attempt::Done(stored))
                    }
                    Committed::Stale(current) => Ok(Attempt::Stale(current)),
                }
            }
            Write::Delete => match (self.commit(txn(Operation::delete(store_key.clone()))).await?, expected) {
                (Committed::At(revision), Some(expected)) => Ok(Attempt::Done(expected.at(revision))),
                (Committed::At(_), None) => Ok(Attempt::Stale(None)),
                (Committed::Stale(current), _) => Ok(Attempt::Stale(current)),
            },
        }
    }

    async fn lease(&self, ttl_seconds: Option<i64>) -> Result<i64, Status> {
        match ttl_seconds {
            Some(ttl) if ttl > 0 => self.inner.leases.lease(&self.inner.store, ttl).await.map_err(errors::status),
            _ => Ok(0),
        }
    }

    /// Keeps the parsed object of what was just written at hand for a while: it is often asked for next.
    pub fn keep(&self, stored: &Stored, written: Draft) {
        let mut object = Arc::unwrap_or_clone(written.into_object());
        object.set_resource_version(stored.revision().to_string());
        let object = stored.share(Arc::new(object));
        self.inner.recent.lock().unwrap_or_else(PoisonError::into_inner).push(object, stored.len());
    }

    /// The parsed object, kept at hand for a while: for objects that are asked for again and again, and are small.
    pub fn object(&self, stored: &Stored) -> Arc<Object> {
        stored.parsed().unwrap_or_else(|| {
            let object = stored.object();
            let mut recent = self.inner.recent.lock().unwrap_or_else(PoisonError::into_inner);
            recent.push(Arc::clone(&object), stored.len());
            object
        })
    }

    async fn commit(&self, txn: Txn) -> Result<Committed, Status> {
        let response = self.inner.store.txn(txn).await.map_err(errors::status)?;
        if response.succeeded {
            return Ok(Committed::At(response.revision));
        }
        let found = response.results.into_iter().find_map(|result| match result {
            OperationResult::Range(range) => range.kvs.into_iter().next(),
            _ => None,
        });
        Ok(Committed::Stale(found.map(stored).transpose()?))
    }

    /// The store's newest revision.
    pub async fn revision(&self, resource: &Resource) -> Result<Revision, Status> {
        crate::cache::newest(&self.inner.store, resource).await
    }

    /// Forgets history up to `revision`; a revision that is forgotten already is no error.
    pub async fn compact(&self, revision: Revision) -> Result<(), Status> {
        match self.inner.store.compact(revision).await {
            Ok(()) | Err(Error::Compacted { .. }) => Ok(()),
            Err(error) => Err(errors::status(error)),
        }
    }
}

pub(crate) fn stored(kv: KeyValue) -> Result<Stored, Status> {
    Stored::from_value(kv.value, kv.mod_revision).map_err(|error| {
        let key = String::from_utf8_lossy(&kv.key).into_owned();
        Status::internal(format!("{key}: {error}"))
    })
}
