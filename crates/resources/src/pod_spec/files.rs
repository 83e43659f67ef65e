//! Files of volumes from keys, fields and resources. In Kubernetes: `validateKeyToPath`,
//! `validateDownwardAPIVolumeFile`.

use coracle_meta::FieldError;
use coracle_meta::fields::Fields;
use serde_json::Value;

use super::downward::{FILE_FIELDS, wrong_field, wrong_resource_field};
use super::paths::{unreserved_path, wrong_mode};
use crate::field_checks::{Wrong, required};

/// The errors of the file of a key.
pub(super) fn wrong_key_file(item: &Value, path: &str) -> Wrong {
    let mut wrong = required(item, "key", path);
    wrong.extend(required(item, "path", path));
    wrong.extend(unreserved_path(item.text("path"), &format!("{path}.path")));
    wrong.extend(wrong_mode(item, "mode", path));
    wrong
}

/// The errors of a source whose keys become files.
pub(super) fn wrong_key_files(source: &Value, path: &str) -> Wrong {
    let mut wrong = wrong_mode(source, "defaultMode", path);
    for (at, item) in source.list("items").iter().enumerate() {
        wrong.extend(wrong_key_file(item, &format!("{path}.items[{at}]")));
    }
    wrong
}

/// The errors of the file of a field or a resource. `path` is that of the source: the errors do not name the invalid
/// file.
pub(super) fn wrong_downward_file(file: &Value, path: &str) -> Wrong {
    let mut wrong = required(file, "path", path);
    wrong.extend(unreserved_path(file.text("path"), &format!("{path}.path")));
    let (field, resource) = (file.at("fieldRef"), file.at("resourceFieldRef"));
    if !field.is_null() {
        wrong.extend(wrong_field(field, &FILE_FIELDS, &format!("{path}.fieldRef")));
        if !resource.is_null() {
            let what = "fieldRef and resourceFieldRef can not be specified simultaneously";
            wrong.push(FieldError::invalid(path, "resource", what));
        }
    } else if !resource.is_null() {
        wrong.extend(wrong_resource_field(resource, true, &format!("{path}.resourceFieldRef")));
    } else {
        wrong.push(FieldError::required(path, "one of fieldRef and resourceFieldRef is required"));
    }
    wrong.extend(wrong_mode(file, "mode", path));
    wrong
}

/// The errors of a source of such files.
pub(super) fn wrong_downward_files(source: &Value, path: &str) -> Wrong {
    let mut wrong = wrong_mode(source, "defaultMode", path);
    wrong.extend(source.list("items").iter().flat_map(|file| wrong_downward_file(file, path)));
    wrong
}
