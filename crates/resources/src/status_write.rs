//! Writes of a status on which hooks decide.

use coracle_meta::{FieldError, Object, Status};
use coracle_registry::Request;

/// Whether a request writes the status of the stored version of an object. A write of another version is refused as a
/// conflict.
pub(crate) fn is_current(request: &Request, new: &Object, old: &Object) -> bool {
    let seen = new.resource_version();
    request.at.subresource == "status" && (seen.is_empty() || seen == old.resource_version())
}

/// Refuses a write with these errors, if there are any.
pub(crate) fn refuse(object: &Object, wrong: &[FieldError]) -> Result<(), Status> {
    if wrong.is_empty() {
        return Ok(());
    }
    let kind = object.group_version_kind().unwrap_or_default();
    Err(Status::invalid(&kind, object.name(), wrong))
}
