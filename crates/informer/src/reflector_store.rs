use std::sync::Arc;

use coracle_journal::EntryId;
use coracle_meta::ApiObject;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::{DeltaFifo, DeltaType, Indexer, Records};

/// Where a reflector puts what it sees: the queue, what the cache knows, and a bell for whoever empties the queue.
///
/// In Kubernetes: `cache.ReflectorStore`.
#[derive(Debug)]
pub(crate) struct ReflectorStore<T> {
    fifo: Mutex<DeltaFifo<T>>,
    indexer: Arc<Indexer<T>>,
    records: Records,
    /// Rings when something was queued; one task listens.
    pub(crate) filled: Notify,
}

impl<T: ApiObject> ReflectorStore<T> {
    pub(crate) fn new(indexer: Arc<Indexer<T>>, records: Records) -> Self {
        let fifo = Mutex::new(DeltaFifo::new(records.clone()));
        Self { fifo, indexer, records, filled: Notify::new() }
    }

    /// The queue; who holds it keeps the cache from changing.
    pub(crate) fn lock(&self) -> MutexGuard<'_, DeltaFifo<T>> {
        self.fifo.lock()
    }

    /// Queues an event of a watch.
    pub(crate) fn push(&self, delta_type: DeltaType, object: T) {
        let causes = self.records.commits(&object);
        self.lock().push(delta_type, Arc::new(object), &self.indexer, &causes);
        self.filled.notify_one();
    }

    /// Queues a list.
    pub(crate) fn replace(&self, objects: Vec<T>, version: &str, cause: Option<EntryId>) {
        let objects = objects.into_iter().map(Arc::new).collect();
        self.lock().replace(objects, version, &self.indexer, cause);
        self.filled.notify_one();
    }

    pub(crate) fn bookmark(&self, version: &str) {
        self.lock().bookmark(version);
        self.filled.notify_one();
    }

    pub(crate) fn resync(&self) {
        self.lock().resync(&self.indexer);
        self.filled.notify_one();
    }
}
