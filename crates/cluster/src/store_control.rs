use std::sync::Arc;
use std::time::Duration;

use coracle_journal::{Detail, EntryId, Recorder, Stage};
use coracle_registry::Registry;
use coracle_storage::Resource;
use coracle_store::{Revision, Store};
use parking_lot::Mutex;

use crate::component::Running;
use crate::restartable::Restartable;
use crate::store::OpenStore;
use crate::tasks::Tasks;

/// The store in the event log.
const STORE: &str = "store";

/// Kills, starts, slows, fills and compacts the store of an API server while it runs.
pub(crate) struct StoreControl {
    store: Arc<dyn Store>,
    /// The store, if it can be killed.
    restartable: Option<Restartable>,
    registry: Registry,
    recorder: Recorder,
    tasks: Tasks,
    compactions: Mutex<Vec<Running>>,
}

impl StoreControl {
    pub(crate) fn new(store: &OpenStore, registry: &Registry, recorder: &Recorder, tasks: &Tasks) -> Self {
        Self {
            store: Arc::clone(&store.store),
            restartable: store.restartable().cloned(),
            registry: registry.clone(),
            recorder: recorder.clone(),
            tasks: tasks.clone(),
            compactions: Mutex::default(),
        }
    }

    /// Kills the store like `kill -9`; returns whether it ran, or `None` if it cannot be killed.
    pub(crate) fn kill(&self, cause: Option<EntryId>) -> Option<bool> {
        let was_alive = self.restartable.as_ref()?.kill();
        if was_alive {
            let detail = || Detail::default().caused_by(cause).with("why", "killed");
            self.recorder.record(STORE, Stage::ComponentStop, detail);
        }
        Some(was_alive)
    }

    /// Starts a killed store with all acknowledged writes; returns whether it was dead, or `None` if it cannot be killed.
    pub(crate) fn start(&self, cause: Option<EntryId>) -> Option<Result<bool, coracle_store::Error>> {
        let started = self.restartable.as_ref()?.start();
        if let Ok(true) = started {
            self.recorder.record(STORE, Stage::ComponentStart, || Detail::default().caused_by(cause));
        }
        Some(started)
    }

    /// Each request takes this much longer; false if the store is not in the memory of this process.
    pub(crate) fn slow(&self, latency: Duration) -> bool {
        self.restartable.as_ref().map(|store| store.slow(latency)).is_some()
    }

    /// Whether the store has no space for more; false if the store is not in the memory of this process.
    pub(crate) fn fill(&self, is_full: bool) -> bool {
        self.restartable.as_ref().map(|store| store.fill(is_full)).is_some()
    }

    /// Compacts the store up to a revision, and then lets the API server fill its watch caches again.
    pub(crate) fn compact(&self, revision: Revision) {
        let (store, registry) = (Arc::clone(&self.store), self.registry.clone());
        let compaction = async move {
            // An error means that it was compacted further already, or that it does not run.
            if store.compact(revision).await.is_ok() {
                forget_watch_caches(&registry);
            }
        };
        self.compactions.lock().push(Running::of(&self.tasks, "compaction", compaction));
    }
}

/// Ends all watches of an API server, which then fills its watch caches again.
fn forget_watch_caches(registry: &Registry) {
    for kind in registry.kinds().iter() {
        let spec = kind.strategy().spec();
        let cached = Resource::new(spec.row.resource().group_resource(), spec.store_directory.clone(), true);
        registry.storage().forget(&cached);
    }
}
