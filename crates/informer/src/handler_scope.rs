use std::sync::Arc;

use parking_lot::Mutex;

use crate::HandlerRegistration;

/// The handlers that one part of a process has added to shared informers, so that they can be removed together. Clones
/// are the same scope.
#[derive(Clone, Debug, Default)]
pub struct HandlerScope(Arc<Mutex<Vec<HandlerRegistration>>>);

impl HandlerScope {
    pub(crate) fn add(&self, handler: HandlerRegistration) {
        self.0.lock().push(handler);
    }

    /// Removes the handlers: they get no more notifications.
    pub fn remove_handlers(&self) {
        let handlers = std::mem::take(&mut *self.0.lock());
        handlers.iter().for_each(HandlerRegistration::remove);
    }
}
