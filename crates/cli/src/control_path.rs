//! Paths that control a running cluster, in addition to those of its API: for members of `system:masters`.

use coracle_cluster::PathRequest;
use coracle_meta::Status;

/// The group with access. A permission for `nonResourceURLs` does not suffice: a snapshot contains the key of the
/// authority, and a fault acts on every user.
const MASTERS: &str = "system:masters";

/// Refuses a user without access; `verb` says what the user may not do with `path`.
pub(crate) fn only_masters(asked: &PathRequest, verb: &str, path: &str) -> Result<(), Status> {
    if asked.user.is_in(MASTERS) {
        return Ok(());
    }
    Err(Status::failure(403, "Forbidden", format!("you may not {verb} {path}: only members of {MASTERS} may")))
}
