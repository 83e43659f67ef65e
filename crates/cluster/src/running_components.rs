use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use coracle_supervisor::Running;
use parking_lot::Mutex;

use crate::Instance;

/// The running components of a cluster, by name.
#[derive(Default)]
pub(crate) struct RunningComponents(Mutex<BTreeMap<String, Running>>);

impl RunningComponents {
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.lock().contains_key(name)
    }

    /// Starts a component with `start` unless it is running; returns whether it was started.
    pub(crate) fn start(&self, name: &str, start: impl FnOnce() -> Option<Running>) -> bool {
        let mut all = self.0.lock();
        if all.contains_key(name) {
            return false;
        }
        let started = start().map(|running| all.insert(name.to_owned(), running));
        started.is_some()
    }

    /// Which start of a component runs, if it runs.
    pub(crate) fn instance(&self, name: &str) -> Option<Instance> {
        self.0.lock().get(name).map(|running| running.instance().clone())
    }

    /// Removes a component, which the caller then stops or drops.
    pub(crate) fn remove(&self, name: &str) -> Option<Running> {
        self.0.lock().remove(name)
    }
}

/// What the API server knows about the components that run in its process. It keeps none of them alive, because the
/// components hold the registry.
pub(crate) struct InThisProcess(Weak<RunningComponents>);

impl InThisProcess {
    pub(crate) fn of(components: &Arc<RunningComponents>) -> Arc<Self> {
        Arc::new(Self(Arc::downgrade(components)))
    }
}

impl coracle_registry::RunningComponents for InThisProcess {
    fn is_running(&self, name: &str) -> bool {
        self.0.upgrade().is_some_and(|running| running.contains(name))
    }
}
