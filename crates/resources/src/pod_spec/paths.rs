//! Paths inside a volume and the modes of files. In Kubernetes: `validateLocalDescendingPath` and its neighbours.

use coracle_meta::FieldError;
use coracle_meta::fields::Fields;
use serde_json::Value;

use crate::field_checks::Wrong;

/// A path without the element `..`. In Kubernetes: `validatePathNoBacksteps`.
pub(super) fn without_backsteps(value: &str, path: &str) -> Wrong {
    if value.split('/').any(|step| step == "..") {
        return vec![FieldError::invalid(path, value, "must not contain '..'")];
    }
    Wrong::new()
}

/// A relative path without the element `..`. In Kubernetes: `validateLocalDescendingPath`.
pub(super) fn relative_path(value: &str, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    if value.starts_with('/') {
        wrong.push(FieldError::invalid(path, value, "must be a relative path"));
    }
    wrong.extend(without_backsteps(value, path));
    wrong
}

/// A relative path that does not start with `..`. In Kubernetes: `ValidateLocalNonReservedPath`.
pub(super) fn unreserved_path(value: &str, path: &str) -> Wrong {
    let mut wrong = relative_path(value, path);
    if value.starts_with("..") && !value.starts_with("../") {
        wrong.push(FieldError::invalid(path, value, "must not start with '..'"));
    }
    wrong
}

/// The permissions of a file, from 0 to 0777 octal.
pub(super) fn wrong_mode(holder: &Value, field: &str, path: &str) -> Wrong {
    match holder.int_if_set(field) {
        Some(mode) if !(0..=0o777).contains(&mode) => {
            let what = "must be a number between 0 and 0777 (octal), both inclusive";
            vec![FieldError::invalid(format!("{path}.{field}"), mode, what)]
        }
        _ => Wrong::new(),
    }
}
