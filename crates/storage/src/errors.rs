use coracle_meta::Status;
use coracle_store::{Error, Revision};

use crate::{NotStorable, Resource};

/// The response for an error of the store that the client did not cause.
pub(crate) fn status(error: Error) -> Status {
    match error {
        Error::TooLarge => Status::failure(
            413,
            coracle_meta::reason::REQUEST_ENTITY_TOO_LARGE,
            "Request entity too large: etcdserver: request is too large",
        ),
        Error::Compacted { .. } => Status::expired(TOO_OLD),
        Error::Unavailable(_) => {
            Status::failure(503, coracle_meta::reason::SERVICE_UNAVAILABLE, error.to_string()).with_retry_after(1)
        }
        error => Status::failure(500, "", error.to_string()),
    }
}

/// 500: the value of a key cannot be decoded. In Kubernetes: `storage.NewCorruptObjError`.
pub(crate) fn unreadable(key: &[u8], why: &NotStorable) -> Status {
    let message = format!("Internal error occurred: {}: {why}", String::from_utf8_lossy(key));
    Status::failure(500, coracle_meta::reason::STORE_READ_ERROR, message)
}

/// The message for a list at a compacted revision.
pub(crate) const TOO_OLD: &str = "The resourceVersion for the provided list is too old.";

/// 504: the revision does not exist yet.
pub(crate) fn too_large(wanted: Revision, current: Revision) -> Status {
    Status::timeout(&format!("Too large resource version: {wanted}, current: {current}"), 1).with_cause(
        "ResourceVersionTooLarge",
        "Too large resource version",
        "",
    )
}

/// 410 for a watch.
pub(crate) fn too_old(wanted: Revision, oldest: Revision) -> Status {
    Status::expired(format!("too old resource version: {wanted} ({oldest})"))
}

/// 503: the task that feeds the watch cache does not run, or was stopped.
pub(crate) fn not_fed(resource: &Resource) -> Status {
    let message = format!("the watch cache of {} is not fed: Storage::run does not run", resource.name);
    Status::failure(503, coracle_meta::reason::SERVICE_UNAVAILABLE, message).with_retry_after(1)
}
