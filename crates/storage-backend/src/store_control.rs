use std::sync::Arc;
use std::time::Duration;

use coracle_journal::{Detail, EntryId, Recorder, Stage};
use coracle_store::{Revision, Store};
use coracle_supervisor::{Running, Tasks};
use parking_lot::Mutex;

use crate::restartable::Restartable;
use crate::store::OpenStore;

/// The store in the event log.
const STORE: &str = "store";

/// Kills, starts, slows, fills and compacts the store of an API server while it runs.
pub struct StoreControl {
    store: Arc<dyn Store>,
    /// The store, if it can be killed.
    restartable: Option<Restartable>,
    /// Called after each compaction.
    compacted: Arc<dyn Fn() + Send + Sync>,
    recorder: Recorder,
    tasks: Tasks,
    compactions: Mutex<Vec<Running>>,
}

impl StoreControl {
    /// Controls a store. `compacted` lets the API server fill its watch caches again.
    pub fn new(
        store: &OpenStore,
        recorder: &Recorder,
        tasks: &Tasks,
        compacted: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self {
            store: Arc::clone(&store.store),
            restartable: store.restartable().cloned(),
            compacted: Arc::new(compacted),
            recorder: recorder.clone(),
            tasks: tasks.clone(),
            compactions: Mutex::default(),
        }
    }

    /// Whether the store is in the memory of this process, so that it can be killed, slowed and filled.
    pub fn is_in_memory(&self) -> bool {
        self.restartable.is_some()
    }

    /// Kills the store like `kill -9`; returns whether it ran, or `None` if it cannot be killed.
    pub fn kill(&self, cause: Option<EntryId>) -> Option<bool> {
        let was_alive = self.restartable.as_ref()?.kill();
        if was_alive {
            let detail = || Detail::default().caused_by(cause).with("why", "killed");
            self.recorder.record(STORE, Stage::ComponentStop, detail);
        }
        Some(was_alive)
    }

    /// Starts a killed store with all acknowledged writes; returns whether it was dead, or `None` if it cannot be killed.
    pub fn start(&self, cause: Option<EntryId>) -> Option<Result<bool, coracle_store::Error>> {
        let started = self.restartable.as_ref()?.start();
        if let Ok(true) = started {
            self.recorder.record(STORE, Stage::ComponentStart, || Detail::default().caused_by(cause));
        }
        Some(started)
    }

    /// Each request takes this much longer; false if the store is not in the memory of this process.
    pub fn slow(&self, latency: Duration) -> bool {
        self.restartable.as_ref().map(|store| store.slow(latency)).is_some()
    }

    /// Whether the store has no space for more; false if the store is not in the memory of this process.
    pub fn fill(&self, is_full: bool) -> bool {
        self.restartable.as_ref().map(|store| store.fill(is_full)).is_some()
    }

    /// Compacts the store up to a revision, and then lets the API server fill its watch caches again.
    pub fn compact(&self, revision: Revision) {
        let (store, compacted) = (Arc::clone(&self.store), Arc::clone(&self.compacted));
        let compaction = async move {
            // An error means that it was compacted further already, or that it does not run.
            if store.compact(revision).await.is_ok() {
                compacted();
            }
        };
        self.compactions.lock().push(Running::of(&self.tasks, "compaction", compaction));
    }
}
