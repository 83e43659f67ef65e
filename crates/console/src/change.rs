//! Changes of an object as patches, from the object before and after the change.

use coracle_meta::GroupVersionKind;
use coracle_release::Release;
use coracle_schema::apply::TablePlace;
use coracle_schema::patch::{JsonPatch, merge_patch, strategic_merge_patch};
use coracle_schema::{KindSchema, Table};
use serde_json::Value;

use crate::kinds::ServedKind;
use crate::three_way;

/// The media type of JSON merge patches.
pub(crate) const MERGE: &str = "application/merge-patch+json";

/// The media type of patches that merge lists by keys.
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// The schema of a built-in kind.
pub(crate) fn schema(kind: &ServedKind) -> Option<KindSchema> {
    let gvk = GroupVersionKind::new(kind.group.clone(), kind.version.clone(), kind.kind.clone());
    let release = Release::default();
    Table::of(&release).type_of_kind(&gvk)?;
    Some(KindSchema::built_in(&release, &gvk))
}

/// The patch from one object to another; a JSON merge patch for custom kinds.
pub(crate) fn patch(kind: &ServedKind, before: &Value, after: &Value) -> (&'static str, Value) {
    match schema(kind) {
        Some(schema) => (STRATEGIC, three_way::strategic(before, after, before, TablePlace::root(&schema))),
        None => (MERGE, three_way::json_merge(before, after, before)),
    }
}

/// An object with a patch applied by the console itself.
pub(crate) fn patched(kind: &ServedKind, object: Value, content_type: &str, patch: Value) -> Result<Value, String> {
    match (content_type, schema(kind)) {
        (MERGE, _) => merge_patch(object, patch).map_err(|error| error.to_string()),
        (STRATEGIC, Some(schema)) => {
            strategic_merge_patch(object, patch, TablePlace::root(&schema)).map_err(|error| error.to_string())
        }
        (STRATEGIC, None) => Err(format!(
            "strategic merge patch is not supported for {}/{}, Kind={} locally, try --type merge",
            kind.group, kind.version, kind.kind
        )),
        _ => {
            let (patch, _) = JsonPatch::parse(patch).map_err(|error| error.to_string())?;
            patch.apply(object).map_err(|error| error.to_string())
        }
    }
}
