use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

/// A panic of a component, which was started again afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentPanic {
    /// The component.
    pub component: String,
    /// Its message.
    pub message: String,
}

impl fmt::Display for ComponentPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the component {} panicked: {}", self.component, self.message)
    }
}

/// The panics of a cluster's components that no caller has taken. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct ComponentPanics(Arc<Mutex<Vec<ComponentPanic>>>);

impl ComponentPanics {
    pub(crate) fn add(&self, panic: ComponentPanic) {
        self.0.lock().push(panic);
    }

    /// Returns them, and forgets them.
    pub(crate) fn take(&self) -> Vec<ComponentPanic> {
        std::mem::take(&mut *self.0.lock())
    }
}

/// Panics when it is dropped, unless all panics of components were taken: a test must not pass because it did not look.
pub(crate) struct Unseen(pub(crate) ComponentPanics);

impl Drop for Unseen {
    fn drop(&mut self) {
        let first = self.0.take().into_iter().next();
        if let Some(panic) = first.filter(|_| !std::thread::panicking()) {
            panic!("{panic}");
        }
    }
}
