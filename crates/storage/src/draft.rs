use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use coracle_meta::Object;

use crate::{NotStorable, Stored};

/// An object that will be written, in the layout of the store. Its own resource version is ignored.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Parsed on demand if the object was laid out before.
    object: OnceLock<Arc<Object>>,
    pub(crate) stored: Stored,
}

impl Draft {
    /// Lays an object out.
    pub fn new(object: impl Into<Arc<Object>>) -> Self {
        let object = object.into();
        let stored = Stored::from_object(&object, 0);
        Self { object: OnceLock::from(object), stored }
    }

    /// Takes an object that is laid out. A write does not parse it: the first reader does.
    ///
    /// # Errors
    /// If the value is no object.
    pub fn laid_out(value: Bytes) -> Result<Self, NotStorable> {
        Ok(Self { object: OnceLock::new(), stored: Stored::from_value(value, 0)? })
    }

    /// The object.
    pub fn object(&self) -> &Arc<Object> {
        self.object.get_or_init(|| self.stored.object())
    }

    /// The object, if it is parsed.
    pub(crate) fn parsed(&self) -> Option<&Arc<Object>> {
        self.object.get()
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
        let Self { object, stored } = self;
        object.into_inner().unwrap_or_else(|| stored.object())
    }
}
