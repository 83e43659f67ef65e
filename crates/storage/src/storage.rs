use std::sync::Arc;

use coracle_store::Store;

/// Objects in a store. A handle: clones share the caches.
#[derive(Clone)]
pub struct Storage {
    store: Arc<dyn Store>,
}

impl Storage {
    /// Objects in `store`.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// The store beneath.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }
}
