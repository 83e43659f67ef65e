use std::sync::Arc;
use std::time::Duration;

use coracle_store::{Error, Revision, Store, WatchBatch, WatchRequest, Watcher};

/// How long to wait before a store that is down is called again.
const STORE_PAUSE: Duration = Duration::from_millis(100);

/// What happened in a store.
pub(crate) enum StoreChange {
    Batch(WatchBatch),
    /// Changes up to this revision cannot be read: the store was down at the start, or compacted them.
    Missed(Revision),
}

/// The changes of objects in a store, from the moment at which this is created.
pub(crate) struct StoreChanges {
    store: Arc<dyn Store>,
    watch: Option<Box<dyn Watcher>>,
    /// The first revision that was not returned; `None` while it is unknown.
    next: Option<Revision>,
}

impl StoreChanges {
    /// Changes from now on. A store that is down is called again when changes are awaited.
    pub(crate) async fn from_now(store: Arc<dyn Store>) -> Self {
        let next = store.status().await.ok().map(|status| status.revision + 1);
        Self { store, watch: None, next }
    }

    /// The last revision that was returned, or the one at the beginning; 0 while it is unknown.
    pub(crate) fn revision(&self) -> Revision {
        self.next.map_or(0, |next| next - 1)
    }

    /// Whether the store answered the last call.
    pub(crate) fn is_connected(&self) -> bool {
        self.watch.is_some()
    }

    /// Waits for the next changes. Cancel-safe.
    pub(crate) async fn next(&mut self) -> StoreChange {
        loop {
            match self.try_next().await {
                Ok(change) => return change,
                Err(error) => {
                    self.watch = None;
                    if matches!(error, Error::Compacted { .. }) {
                        self.next = None;
                    }
                    tokio::time::sleep(STORE_PAUSE).await;
                }
            }
        }
    }

    async fn try_next(&mut self) -> Result<StoreChange, Error> {
        if self.next.is_none() {
            let revision = self.store.status().await?.revision;
            self.next = Some(revision + 1);
            return Ok(StoreChange::Missed(revision));
        }
        if self.watch.is_none() {
            let range = coracle_storage::all_objects();
            let request = WatchRequest { range, start_revision: self.revision() + 1, prev_kv: true };
            self.watch = Some(self.store.watch(request).await?);
        }
        let Some(watch) = &mut self.watch else { return std::future::pending().await };
        let batch = watch.next().await?;
        self.next = Some(batch.revision + 1);
        Ok(StoreChange::Batch(batch))
    }
}
