use std::collections::BTreeMap;

use coracle_journal::EntryId;
use serde_json::Value;

use super::run_log::{LoggedWrite, RunLog, at};

/// The number at a JSON pointer.
pub(super) fn number(object: Option<&Value>, pointer: &str) -> Option<i64> {
    at(object?, pointer)?.as_i64()
}

/// The generation that the status of an object reports.
pub(super) fn observed(object: Option<&Value>) -> Option<i64> {
    number(object, "/status/observedGeneration")
}

/// The objects at rest whose generation is not the observed one.
pub(super) fn late(log: &RunLog, rest: EntryId) -> BTreeMap<&str, &LoggedWrite> {
    let mut objects = log.objects_at(rest);
    objects.retain(|_, write| {
        let after = write.after.as_deref();
        number(after, "/metadata/generation").is_some_and(|generation| observed(after) != Some(generation))
    });
    objects
}
