use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_cluster::Cluster;
use coracle_meta::Object;
use parking_lot::Mutex;

use crate::broken_controller::BrokenControllers;

/// What steps leave for later ones: the objects that they gave names to, and the toys that they started. Clones are the
/// same memory.
#[derive(Clone)]
pub struct StepMemory {
    pub(crate) bound: Arc<Mutex<BTreeMap<String, Arc<Object>>>>,
    pub(crate) broken_controllers: BrokenControllers,
}

impl std::fmt::Debug for StepMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StepMemory").field("names", &self.bound.lock().keys()).finish_non_exhaustive()
    }
}

impl StepMemory {
    /// Nothing yet. `namespace` is that of resources without one.
    pub fn new(cluster: &Cluster, namespace: &str) -> Self {
        Self { bound: Arc::default(), broken_controllers: BrokenControllers::new(cluster, namespace) }
    }
}
