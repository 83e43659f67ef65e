//! `storage.k8s.io/v1`.

mod validation;

use coracle_ambient::Timestamp;
use coracle_meta::Object;
use serde_json::{Value, json};

use crate::cells::age;
use crate::checks::immutable;
use crate::columns;
use crate::rules::{BY_SPEC, Rules, SPEC_AND_METADATA};
use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_spec};

/// `storageclasses`.
pub(crate) const STORAGE_CLASS: Rules = Rules {
    set_defaults: |object| {
        object.edit(|tree| {
            tree.fill("reclaimPolicy", "Delete");
            tree.fill("volumeBindingMode", "Immediate");
        });
    },
    validate: validation::wrong_class,
    validate_change: validation::wrong_change_of_class,
    columns: columns::STORAGE_CLASS,
    cells: class_cells,
    ..Rules::of("storage.k8s.io", "v1", "storageclasses")
};

/// `volumeattributesclasses`.
pub(crate) const VOLUME_ATTRIBUTES_CLASS: Rules = Rules {
    validate: validation::wrong_attributes_class,
    validate_change: validation::wrong_change_of_attributes_class,
    columns: columns::VOLUME_ATTRIBUTES_CLASS,
    cells: |object: &Object, now: Timestamp| -> Vec<Value> {
        vec![object.name().into(), object.text(&["driverName"]).into(), age(object, now)]
    },
    ..Rules::of("storage.k8s.io", "v1", "volumeattributesclasses")
};

/// `csidrivers`.
pub(crate) const CSI_DRIVER: Rules = Rules {
    set_defaults: |object| edit_spec(object, driver_defaults),
    generation: BY_SPEC,
    validate: validation::wrong_driver,
    validate_change: validation::wrong_change_of_driver,
    columns: columns::CSI_DRIVER,
    cells: driver_cells,
    ..Rules::of("storage.k8s.io", "v1", "csidrivers")
};

/// `csinodes`.
pub(crate) const CSI_NODE: Rules = Rules {
    validate: validation::wrong_node,
    columns: columns::CSI_NODE,
    cells: |object: &Object, now: Timestamp| -> Vec<Value> {
        vec![object.name().into(), object.list("spec.drivers").len().into(), age(object, now)]
    },
    ..Rules::of("storage.k8s.io", "v1", "csinodes")
};

/// `csistoragecapacities`.
pub(crate) const CSI_STORAGE_CAPACITY: Rules = Rules {
    validate: validation::wrong_capacity,
    validate_change: validation::wrong_change_of_capacity,
    ..Rules::of("storage.k8s.io", "v1", "csistoragecapacities")
};

/// `volumeattachments`.
pub(crate) const VOLUME_ATTACHMENT: Rules = Rules {
    validate: validation::wrong_attachment,
    validate_change: |new, old| immutable(new, old, "spec"),
    kept_by_status: SPEC_AND_METADATA,
    columns: columns::VOLUME_ATTACHMENT,
    cells: attachment_cells,
    ..Rules::of("storage.k8s.io", "v1", "volumeattachments")
};

fn class_cells(object: &Object, now: Timestamp) -> Vec<Value> {
    const DEFAULT: [&str; 2] =
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
    let is_default = DEFAULT.iter().any(|name| object.annotation(name) == Some("true"));
    let name = if is_default { format!("{} (default)", object.name()) } else { object.name().to_owned() };
    vec![
        name.into(),
        object.text(&["provisioner"]).into(),
        object.at("reclaimPolicy").as_str().unwrap_or("Delete").into(),
        object.at("volumeBindingMode").as_str().unwrap_or("Immediate").into(),
        object.flag("allowVolumeExpansion").into(),
        age(object, now),
    ]
}

fn driver_defaults(spec: &mut Tree) {
    spec.fill("attachRequired", true);
    for field in ["podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"] {
        spec.fill(field, false);
    }
    spec.fill("fsGroupPolicy", "ReadWriteOnceWithFSType");
    if spec.list("volumeLifecycleModes").is_empty() {
        spec.insert("volumeLifecycleModes".to_owned(), json!(["Persistent"]));
    }
}

fn driver_cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let spec = object.at("spec");
    let requests = match spec.at("tokenRequests") {
        Value::Null => "<unset>".to_owned(),
        _ => spec.list("tokenRequests").iter().map(|request| request.text("audience")).collect::<Vec<_>>().join(","),
    };
    let modes = object.texts(&["spec", "volumeLifecycleModes"]).join(",");
    vec![
        object.name().into(),
        spec.at("attachRequired").as_bool().unwrap_or(true).into(),
        spec.flag("podInfoOnMount").into(),
        spec.flag("storageCapacity").into(),
        requests.into(),
        spec.flag("requiresRepublish").into(),
        crate::cells::text_or(&modes, "<none>"),
        age(object, now),
    ]
}

fn attachment_cells(object: &Object, now: Timestamp) -> Vec<Value> {
    vec![
        object.name().into(),
        object.text(&["spec", "attacher"]).into(),
        object.text(&["spec", "source", "persistentVolumeName"]).into(),
        object.text(&["spec", "nodeName"]).into(),
        object.flag("status.attached").into(),
        age(object, now),
    ]
}
