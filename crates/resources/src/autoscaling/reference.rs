use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, GroupVersion, names};
use serde_json::Value;

use crate::field_checks::{Wrong, each_invalid, required};

/// The errors of a reference to an object of any kind. In Kubernetes: `ValidateCrossVersionObjectReference`.
pub(super) fn wrong_reference(reference: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    for field in ["kind", "name"] {
        wrong.extend(required(reference, field, path));
        let value = reference.text(field);
        wrong.extend(each_invalid(&format!("{path}.{field}"), value, names::path_segment(value)));
    }
    wrong.extend(wrong_target_version(reference, &format!("{path}.apiVersion")));
    wrong
}

/// Only a ReplicationController has no group.
fn wrong_target_version(target: &Value, path: &str) -> Wrong {
    let version = target.text("apiVersion");
    let what = match GroupVersion::parse(version) {
        None => format!("unexpected GroupVersion string: {version}"),
        Some(parsed) if parsed.group.is_empty() && target.text("kind") != "ReplicationController" => {
            "apiVersion must specify API group".to_owned()
        }
        Some(_) => return Wrong::new(),
    };
    vec![FieldError::invalid(path, version, what)]
}
