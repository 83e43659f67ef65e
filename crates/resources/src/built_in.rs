use coracle_meta::{GroupVersionKind, Object};
use coracle_registry::KindSpec;
use serde_json::Value;

use crate::defaults::fill_parts;

/// A plain kind of Kubernetes' own: its row and schema of the table, and the defaults of the parts that kinds share.
/// A kind's file says what is special with `KindSpec { .., ..built_in("apps", "v1", "deployments") }`.
///
/// # Panics
/// If the table does not know the resource; a test goes through all of them.
pub(crate) fn built_in(group: &str, version: &str, plural: &str) -> KindSpec {
    KindSpec { set_part_defaults: fill_parts, ..KindSpec::built_in(group, version, plural) }
}

/// What `/status` keeps of kinds whose metadata it leaves alone. In Kubernetes: `metav1.ResetObjectMetaForStatus`.
pub(crate) const SPEC_AND_METADATA: &[&str] = &["spec", "metadata"];

/// An object that the server makes itself: of a kind in its first version, with these fields.
pub(crate) fn object(group: &str, kind: &str, name: &str, fields: Value) -> Object {
    let mut object = Object::of_kind(&GroupVersionKind::new(group, "v1", kind));
    object.set("metadata.name", name);
    for (field, value) in fields.as_object().into_iter().flatten() {
        object.set(field.as_str(), value.clone());
    }
    object
}

/// Drops fields that belong to features which are off by default: dotted paths.
pub(crate) fn drop_fields(object: &mut Object, paths: &[&str]) {
    for path in paths {
        object.remove(*path);
    }
}
