use std::sync::Arc;

use coracle_meta::{Object, Status};

/// What a write does to an object.
#[derive(Clone, Debug)]
pub enum Plan {
    /// Stores an object, in the stored version.
    Put {
        /// The new object. An object that equals the stored one makes no revision.
        object: Arc<Object>,
        /// Whether the object is deleted right afterwards.
        then_delete: bool,
    },
    /// Deletes the object.
    Delete {
        /// The object in the response, if it is not the last stored one: an update that removes the last finalizer
        /// deletes the object, and responds like an update. It then also succeeds if another write was faster.
        shown: Option<Arc<Object>>,
    },
    /// Leaves the object unchanged.
    Keep,
}

impl Plan {
    /// A plan that stores `object`.
    pub fn put(object: impl Into<Arc<Object>>) -> Self {
        Self::Put { object: object.into(), then_delete: false }
    }

    /// A plan that stores the object after `change`.
    ///
    /// # Errors
    /// The error of `change`.
    pub fn edit(existing: &Object, change: impl FnOnce(&mut Object) -> Result<(), Status>) -> Result<Self, Status> {
        let mut object = existing.clone();
        change(&mut object)?;
        Ok(Self::put(object))
    }
}
