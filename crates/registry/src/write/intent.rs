use std::sync::Arc;

use coracle_meta::{Object, Status};

use super::plan::Plan;
use crate::{DeleteOptions, Planned, Registry};

/// The differences between the verbs. Called again for each attempt, with the object as it is then.
pub(super) trait Intent: Send + Sync {
    /// Whether it expects that the object does not exist, and so does not read it first.
    fn is_creation(&self) -> bool {
        false
    }

    /// Which admission plug-ins are called.
    fn admission(&self) -> AdmissionScope<'_>;

    /// The object that the client wants. `live` is the existing object in the version of the request.
    fn wanted(&mut self, _registry: &Registry, _live: Option<&Object>) -> Planned<IntendedObject> {
        Ok(IntendedObject::Nothing)
    }

    /// The part with its own kind, if the write is for one.
    fn part(&self) -> Option<&dyn OwnKind> {
        None
    }

    /// Completes the requested object, in the stored version, before reservations.
    fn complete(&self, _registry: &Registry, _wanted: &mut Object, _existing: Option<&Object>) -> Result<(), Status> {
        Ok(())
    }

    /// Whether the kind can make reservations for the requested object.
    fn reserves(&self) -> bool {
        true
    }

    /// The plan, or the refusal. `wanted` is complete and in the stored version, like `existing`.
    fn plan(&self, wanted: Option<Object>, existing: Option<&Arc<Object>>) -> Planned<Plan>;
}

/// The object that a client wants, with its managed fields.
pub(super) enum IntendedObject {
    /// The verb has no requested object.
    Nothing,
    /// The object before mutating plug-ins, in the version of the request; for a part with its own kind, the part.
    ToMutate(Object),
    /// The object in the stored version: plug-ins have mutated it before the first attempt.
    Mutated(Object),
}

/// Which admission plug-ins are called for a write.
#[derive(Clone, Copy)]
pub(super) enum AdmissionScope<'a> {
    /// Those for creates and updates.
    OfWrites,
    /// Those for deletions.
    OfDeletions(&'a DeleteOptions),
    /// None: a write of the API server itself.
    None,
}

/// A part of an object with its own kind, such as `Scale`. Plug-ins get the part instead of the object.
///
/// In Kubernetes: `scaleUpdatedObjectInfo`, `toScaleUpdateValidation`.
pub(super) trait OwnKind: Send + Sync {
    /// The part of an object for validating plug-ins.
    ///
    /// # Errors
    /// The object has no such part.
    fn of(&self, object: &Object) -> Result<Object, Status>;

    /// The existing part of an object with its managed fields, for mutating plug-ins.
    ///
    /// # Errors
    /// The object has no such part, or its managed fields cannot be decoded.
    fn with_owners(&self, object: &Object) -> Result<Object, Status>;

    /// The object with another part.
    ///
    /// # Errors
    /// The part does not match the object, or is invalid.
    fn put_into(&self, object: &Object, part: Object) -> Result<Object, Status>;
}
