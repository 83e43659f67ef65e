//! Restores fields that an update cannot change.

use coracle_meta::Object;
use serde_json::Value;

/// Sets the value at a dotted path of `new` to that of `old`.
pub fn restore(new: &mut Object, old: &Object, path: &str) {
    // Most clients change nothing there, and a comparison costs less than a copy.
    if new.field(path) != old.field(path) {
        new.set_or_remove(path, old.field(path).cloned());
    }
}

/// Sets the metadata of `new` to that of `old`, except the managed fields and the resource version.
pub fn restore_metadata(new: &mut Object, old: &Object) {
    if restored(new).eq(restored(old)) {
        return;
    }
    let managed = new.remove("metadata.managedFields");
    let version = new.resource_version().to_owned();
    restore(new, old, "metadata");
    new.set_or_remove("metadata.managedFields", managed);
    if !version.is_empty() {
        new.set_resource_version(version);
    }
}

/// The restored fields of the metadata.
fn restored(object: &Object) -> impl Iterator<Item = (&String, &Value)> {
    let members = object.field("metadata").and_then(Value::as_object).into_iter().flatten();
    members.filter(|(name, _)| !matches!(name.as_str(), "managedFields" | "resourceVersion"))
}

/// Sets everything in `new` to `old`, except the status, the managed fields and the resource version.
pub(crate) fn restore_all_but_status(new: &mut Object, old: &Object) {
    let status = new.remove("status");
    let owners = new.remove("metadata.managedFields");
    let version = new.resource_version().to_owned();
    *new = old.clone();
    new.set_or_remove("status", status);
    new.set_or_remove("metadata.managedFields", owners);
    if !version.is_empty() {
        new.set_resource_version(version);
    }
}
