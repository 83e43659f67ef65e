use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::component::{Component, Running};

/// The running components of a cluster.
#[derive(Default)]
pub(crate) struct RunningComponents(Mutex<BTreeMap<Component, Running>>);

impl RunningComponents {
    pub(crate) fn contains(&self, component: Component) -> bool {
        self.0.lock().contains_key(&component)
    }

    /// Starts a component with `start` unless it is running.
    pub(crate) fn start(&self, component: Component, start: impl FnOnce() -> Running) {
        self.0.lock().entry(component).or_insert_with(start);
    }

    /// Removes a component, which the caller then stops or drops.
    pub(crate) fn remove(&self, component: Component) -> Option<Running> {
        self.0.lock().remove(&component)
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
        let running = self.0.upgrade();
        running.is_some_and(|running| running.0.lock().keys().any(|component| component.word() == name))
    }
}
