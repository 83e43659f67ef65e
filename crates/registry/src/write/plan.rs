use std::sync::Arc;

use coracle_meta::{Object, Status};

/// What shall happen to an object, given what it is.
#[derive(Clone, Debug)]
pub enum Plan {
    /// It is stored so, in the stored version.
    Put {
        /// The object from now on. The very one that is there already, or an equal one, makes no revision.
        object: Arc<Object>,
        /// Whether it goes right afterwards.
        then_delete: bool,
    },
    /// It goes.
    Delete {
        /// As what it is shown to the client, if not as it last was: an update that takes the last finalizer deletes, and
        /// answers as an update. Then it is no failure either if somebody else was faster.
        shown: Option<Arc<Object>>,
    },
    /// It stays as it is.
    Keep,
}

impl Plan {
    /// It is stored so.
    pub fn put(object: impl Into<Arc<Object>>) -> Self {
        Self::Put { object: object.into(), then_delete: false }
    }

    /// It is stored as `change` changes it, unless that refuses.
    ///
    /// # Errors
    /// What `change` refuses with.
    pub fn edit(existing: &Object, change: impl FnOnce(&mut Object) -> Result<(), Status>) -> Result<Self, Status> {
        let mut object = existing.clone();
        change(&mut object)?;
        Ok(Self::put(object))
    }
}
