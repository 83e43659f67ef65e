use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object};
use coracle_registry::{Former, KindSpec, TableColumn};
use coracle_release::Release;

use super::classes::{forbidden_changes, parameters, provisioner};
use crate::built_in::built_in;
use crate::field_checks::Wrong;

/// `volumeattributesclasses`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        former_versions: &[("storage.k8s.io/v1beta1", Former::SameFields)],
        validate: |object, _| wrong(object),
        validate_change: |new, old, _| wrong_change(new, old),
        columns: columns(),
        ..built_in(release, "storage.k8s.io", "v1", "volumeattributesclasses")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text("DriverName", "Name of the CSI driver This field is immutable.", |object| {
            object.text("driverName").into()
        }),
        TableColumn::age(),
    ]
}

fn wrong(object: &Object) -> Wrong {
    let mut wrong = provisioner(object, "driverName");
    wrong.extend(parameters(object));
    if object.entries("parameters").count() == 0 {
        wrong.push(FieldError::required("parameters", "must contain at least one key/value pair"));
    }
    wrong
}

fn wrong_change(new: &Object, old: &Object) -> Wrong {
    forbidden_changes(new, old, &["driverName", "parameters"])
}
