use coracle_meta::fields::{Fields, FieldsMut, Tree};
use coracle_meta::{GroupVersionKind, Object};
use coracle_registry::KindSpec;
use coracle_release::Release;
use serde_json::Value;

use crate::defaults::fill_parts;

/// A plain built-in kind: its row and schema in the table, and the defaults of shared types.
/// The file of a kind adds its own behaviour with `KindSpec { .., ..built_in(release, "apps", "v1", "deployments") }`.
///
/// # Panics
/// If the table does not contain the resource; a test covers all of them.
pub(crate) fn built_in(release: &Release, group: &str, version: &str, plural: &str) -> KindSpec {
    KindSpec {
        set_part_defaults: fill_parts,
        declares_rules: release.has("DeclaredRules"),
        ..KindSpec::built_in(release, group, version, plural)
    }
}

/// The fields that `/status` resets for kinds whose metadata it does not change. In Kubernetes:
/// `metav1.ResetObjectMetaForStatus`.
pub(crate) const SPEC_AND_METADATA: &[&str] = &["spec", "metadata"];

/// An object that the API server creates itself: of a kind in version `v1`, with these fields.
pub(crate) fn object(group: &str, kind: &str, name: &str, fields: Value) -> Object {
    let mut object = Object::of_kind(&GroupVersionKind::new(group, "v1", kind));
    object.set("metadata.name", name);
    for (field, value) in fields.as_object().into_iter().flatten() {
        object.set(field.as_str(), value.clone());
    }
    object
}

/// Fields by the feature gate that adds them.
pub(crate) type GatedFields<'f> = (&'f str, &'f [&'f str]);

/// Drops the fields whose feature gates are off in a release.
pub(crate) fn drop_disabled(tree: &mut Tree, features: &[GatedFields<'_>], release: &Release) {
    for (gate, fields) in features {
        if !release.enabled(gate) {
            tree.drop_fields(fields);
        }
    }
}

/// Drops the fields that the old object does not have; of a new object, all of them: dotted paths.
pub(crate) fn drop_newly_used(new: &mut Object, old: Option<&Object>, paths: &[&str]) {
    for path in paths.iter().filter(|path| old.is_none_or(|old| !old.has(path))) {
        new.remove(*path);
    }
}

/// Drops fields of features that are disabled by default: dotted paths.
pub(crate) fn drop_fields(object: &mut Object, paths: &[&str]) {
    for path in paths {
        object.remove(*path);
    }
}
