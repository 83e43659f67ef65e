//! What an update may not change is made again what it was.

use coracle_meta::Object;

/// Makes the value at a dotted path of `new` the one of `old`.
pub fn restore(new: &mut Object, old: &Object, path: &str) {
    match old.field(path) {
        Some(value) => new.set(path, value.clone()),
        None => drop(new.remove(path)),
    }
}

/// Makes the metadata of `new` that of `old`, the managed fields and the resource version aside.
pub fn restore_metadata(new: &mut Object, old: &Object) {
    let managed = new.remove("metadata.managedFields");
    let version = new.resource_version().to_owned();
    restore(new, old, "metadata");
    match managed {
        Some(managed) => new.set("metadata.managedFields", managed),
        None => drop(new.remove("metadata.managedFields")),
    }
    if !version.is_empty() {
        new.set_resource_version(version);
    }
}

/// Makes all of `new` that of `old`, but the status, the managed fields and the resource version.
pub(crate) fn restore_all_but_status(new: &mut Object, old: &Object) {
    let status = new.remove("status");
    let owners = new.remove("metadata.managedFields");
    let version = new.resource_version().to_owned();
    *new = old.clone();
    match status {
        Some(status) => new.set("status", status),
        None => drop(new.remove("status")),
    }
    match owners {
        Some(owners) => new.set("metadata.managedFields", owners),
        None => drop(new.remove("metadata.managedFields")),
    }
    if !version.is_empty() {
        new.set_resource_version(version);
    }
}
