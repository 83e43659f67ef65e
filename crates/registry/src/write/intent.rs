use std::sync::Arc;

use coracle_meta::{Object, Status};

use super::plan::Plan;
use crate::{DeleteOptions, Planned, Registry};

/// The differences between the verbs. Called again for each attempt, with the object as it is then.
pub(super) trait Intent: Send + Sync {
    /// Whether it expects that there is nothing yet, and so does not look first.
    fn is_creation(&self) -> bool {
        false
    }

    /// Which admission plug-ins are asked.
    fn admission(&self) -> Asked<'_>;

    /// What the client wants to be there. `live` is what is there, in the version of the request.
    fn wanted(&mut self, _registry: &Registry, _live: Option<&Object>) -> Planned<Wanted> {
        Ok(Wanted::Nothing)
    }

    /// The part with a kind of its own through which is written, where it is written through one.
    fn part(&self) -> Option<&dyn OwnKind> {
        None
    }

    /// Completes what is wanted, in the stored version, before anything is reserved for it.
    fn complete(&self, _registry: &Registry, _wanted: &mut Object, _existing: Option<&Object>) -> Result<(), Status> {
        Ok(())
    }

    /// Whether the kind may reserve something for what is wanted.
    fn reserves(&self) -> bool {
        true
    }

    /// What shall happen, or why nothing. `wanted` is complete and in the stored version, as `existing` is.
    fn plan(&self, wanted: Option<Object>, existing: Option<&Arc<Object>>) -> Planned<Plan>;
}

/// What a client wants to be there, its owners booked.
pub(super) enum Wanted {
    /// This verb wants no object.
    Nothing,
    /// This, in the version of the request, once the plug-ins have changed it. Of a part with a kind of its own, the part.
    ToMutate(Object),
    /// This, in the stored version: the plug-ins have changed it before the first attempt.
    Mutated(Object),
}

/// Which admission plug-ins are asked about a write.
#[derive(Clone, Copy)]
pub(super) enum Asked<'a> {
    /// Those that look at what is created and updated.
    OfWrites,
    /// Those that look at deletions.
    OfDeletions(&'a DeleteOptions),
    /// None: the server keeps its own books.
    None,
}

/// A part of an object that has a kind of its own, such as `Scale`. Plug-ins see the part, and not the object.
///
/// In Kubernetes: `scaleUpdatedObjectInfo`, `toScaleUpdateValidation`.
pub(super) trait OwnKind: Send + Sync {
    /// The part of an object, as plug-ins that validate are shown it.
    ///
    /// # Errors
    /// The object has no such part.
    fn of(&self, object: &Object) -> Result<Object, Status>;

    /// The part of an object with its owners, as plug-ins that change it are shown what was there.
    ///
    /// # Errors
    /// The object has no such part, or its owners cannot be read.
    fn with_owners(&self, object: &Object) -> Result<Object, Status>;

    /// The object with another part.
    ///
    /// # Errors
    /// The part is not about the object, or is wrong.
    fn put_into(&self, object: &Object, part: Object) -> Result<Object, Status>;
}
