use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, GroupVersion, names};
use serde_json::Value;

use crate::field_checks::{Wrong, each_invalid, required};

/// The errors of a reference to an object of any kind. In Kubernetes: `ValidateCrossVersionObjectReference`.
pub(super) fn wrong_reference(reference: &Value, path: &str) -> Wrong {
    let mut wrong = wrong_described_object(reference, path);
    if wrong_version(reference).is_none() && has_no_group(reference) {
        let what = "apiVersion must specify API group";
        wrong.push(FieldError::invalid(format!("{path}.apiVersion"), reference.text("apiVersion"), what));
    }
    wrong
}

/// The errors of a reference to an object whose version may be left out.
pub(super) fn wrong_described_object(reference: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    for field in ["kind", "name"] {
        wrong.extend(required(reference, field, path));
        let value = reference.text(field);
        wrong.extend(each_invalid(&format!("{path}.{field}"), value, names::path_segment(value)));
    }
    let version = reference.text("apiVersion");
    let what = wrong_version(reference);
    wrong.extend(what.map(|what| FieldError::invalid(format!("{path}.apiVersion"), version, what)));
    wrong
}

fn wrong_version(target: &Value) -> Option<String> {
    let version = target.text("apiVersion");
    GroupVersion::parse(version).is_none().then(|| format!("unexpected GroupVersion string: {version}"))
}

/// Only a ReplicationController has no group.
fn has_no_group(target: &Value) -> bool {
    let version = GroupVersion::parse(target.text("apiVersion"));
    version.is_some_and(|version| version.group.is_empty()) && target.text("kind") != "ReplicationController"
}
