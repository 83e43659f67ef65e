use std::sync::Arc;

use bytes::Bytes;
use coracle_meta::Object;

use crate::Stored;

/// An object that will be written, in the layout of the store. Its own resource version is ignored.
#[derive(Clone, Debug)]
pub struct Draft {
    object: Arc<Object>,
    pub(crate) stored: Stored,
}

impl Draft {
    /// Lays an object out.
    pub fn new(object: impl Into<Arc<Object>>) -> Self {
        let object = object.into();
        let stored = Stored::from_object(&object, 0);
        Self { object, stored }
    }

    /// The object.
    pub fn object(&self) -> &Arc<Object> {
        &self.object
    }

    /// The bytes for the store.
    pub fn value(&self) -> &Bytes {
        self.stored.value()
    }

    /// The object as if it had been written at `revision`: the response of a dry run, or of a write that changes
    /// nothing.
    pub fn as_of(&self, revision: coracle_store::Revision) -> Stored {
        self.stored.at(revision)
    }

    /// Returns the object.
    pub(crate) fn into_object(self) -> Arc<Object> {
        self.object
    }
}
