use coracle_ambient::Timestamp;
use coracle_meta::Object;
use serde_json::{Value, json};

use super::persistent_volume::{access_modes, phase, storage_class};
use crate::cells::{age, set_or};
use crate::columns;
use crate::rules::Rules;
use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_spec};

/// `persistentvolumeclaims`. In Kubernetes: `pkg/registry/core/persistentvolumeclaim`.
pub(crate) const PERSISTENT_VOLUME_CLAIM: Rules = Rules {
    set_defaults: |object| {
        object.edit(|tree| {
            if let Some(status) = tree.object_made("status") {
                status.fill_text("phase", "Pending");
            }
        });
    },
    prepare_create: |object, _| {
        object.set(&["status"], json!({"phase": "Pending"}));
        edit_spec(object, align_data_sources);
    },
    prepare_update: |new, _, _| edit_spec(new, align_data_sources),
    columns: columns::PERSISTENT_VOLUME_CLAIM,
    cells,
    ..Rules::of("", "v1", "persistentvolumeclaims")
};

/// `dataSource` and the newer `dataSourceRef` say the same unless the newer one names a namespace.
fn align_data_sources(spec: &mut Tree) {
    let source = spec.at("dataSource").clone();
    let reference = spec.at("dataSourceRef").clone();
    if !source.is_null() && reference.is_null() {
        spec.insert("dataSourceRef".to_owned(), source);
    } else if source.is_null() && !reference.is_null() && reference.text("namespace").is_empty() {
        spec.insert("dataSource".to_owned(), reference);
    }
}

fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let volume = object.text(&["spec", "volumeName"]);
    let (capacity, modes) = if volume.is_empty() {
        (Value::from(""), String::new())
    } else {
        let capacity = set_or(object.at("status.capacity").field_named("storage"), "0");
        (capacity, access_modes(object.list("status.accessModes")))
    };
    vec![
        object.name().into(),
        phase(object).into(),
        volume.into(),
        capacity,
        modes.into(),
        storage_class(object).into(),
        set_or(object.at("spec.volumeAttributesClassName"), "<unset>"),
        age(object, now),
        set_or(object.at("spec.volumeMode"), "<unset>"),
    ]
}
