use std::sync::Arc;

use coracle_journal::EntryId;
use coracle_meta::AnyObject;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::{DeltaFifo, DeltaType, Indexer, Records};

/// The output of a reflector: the queue, the cache, and a signal for the task that drains the queue.
///
/// In Kubernetes: `cache.ReflectorStore`.
#[derive(Debug)]
pub(crate) struct ReflectorStore {
    fifo: Mutex<DeltaFifo>,
    indexer: Arc<Indexer>,
    /// Notified when something was queued; one task waits for it.
    pub(crate) filled: Notify,
    /// Notified when a caller waits for a version that the cache has not reached.
    pub(crate) awaited: Notify,
}

impl ReflectorStore {
    pub(crate) fn new(indexer: Arc<Indexer>, records: Records) -> Self {
        let fifo = Mutex::new(DeltaFifo::new(records));
        Self { fifo, indexer, filled: Notify::new(), awaited: Notify::new() }
    }

    /// Locks the queue; the lock also keeps the cache from changing.
    pub(crate) fn lock(&self) -> MutexGuard<'_, DeltaFifo> {
        self.fifo.lock()
    }

    /// Queues a watch event.
    pub(crate) fn push(&self, delta_type: DeltaType, object: Arc<dyn AnyObject>, causes: &[EntryId]) {
        self.lock().push(delta_type, object, &self.indexer, causes);
        self.filled.notify_one();
    }

    /// Queues a list.
    pub(crate) fn replace(&self, objects: Vec<Arc<dyn AnyObject>>, version: &str, cause: Option<EntryId>) {
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
