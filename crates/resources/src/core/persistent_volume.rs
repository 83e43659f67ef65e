use coracle_ambient::Timestamp;
use coracle_meta::{Object, format_time};
use coracle_registry::Request;
use serde_json::{Value, json};

use crate::cells::{age, set_or};
use crate::columns;
use crate::rules::Rules;
use coracle_meta::fields::{Fields, FieldsMut, edit_spec};

/// `persistentvolumes`. In Kubernetes: `pkg/registry/core/persistentvolume`.
pub(crate) const PERSISTENT_VOLUME: Rules = Rules {
    set_defaults,
    prepare_create: |object, request| {
        object.set(&["status"], json!({"phase": "Pending", "lastPhaseTransitionTime": format_time(request.now)}));
    },
    prepare_status,
    columns: columns::PERSISTENT_VOLUME,
    cells,
    ..Rules::of("", "v1", "persistentvolumes")
};

fn set_defaults(object: &mut Object) {
    edit_spec(object, |spec| {
        spec.fill_text("persistentVolumeReclaimPolicy", "Retain");
        spec.fill("volumeMode", "Filesystem");
    });
    object.edit(|tree| {
        if let Some(status) = tree.object_made("status") {
            status.fill_text("phase", "Pending");
        }
    });
}

/// The time of the last change of phase is kept for those who do not write it.
fn prepare_status(new: &mut Object, old: &Object, request: &Request) {
    const TIME: &str = "status.lastPhaseTransitionTime";
    let same_phase = new.at("status.phase") == old.at("status.phase");
    let given = new.has(TIME);
    let stale = new.at(TIME) == old.at(TIME);
    if same_phase && !given {
        crate::built_in::restore(new, old, TIME);
    } else if !same_phase && (!given || stale) {
        new.set(&["status", "lastPhaseTransitionTime"], format_time(request.now));
    }
}

fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let claim = object.at("spec.claimRef");
    let claim =
        if claim.is_null() { String::new() } else { format!("{}/{}", claim.text("namespace"), claim.text("name")) };
    vec![
        object.name().into(),
        set_or(object.at("spec.capacity").field_named("storage"), "0"),
        access_modes(object.list("spec.accessModes")).into(),
        object.text(&["spec", "persistentVolumeReclaimPolicy"]).into(),
        phase(object).into(),
        claim.into(),
        storage_class(object).into(),
        set_or(object.at("spec.volumeAttributesClassName"), "<unset>"),
        object.text(&["status", "reason"]).into(),
        age(object, now),
        set_or(object.at("spec.volumeMode"), "<unset>"),
    ]
}

/// The phase, or `Terminating`.
pub(super) fn phase(object: &Object) -> &str {
    if object.is_terminating() { "Terminating" } else { object.text(&["status", "phase"]) }
}

/// The class, which the older annotation overrides.
pub(super) fn storage_class(object: &Object) -> &str {
    let annotation = object.annotation("volume.beta.kubernetes.io/storage-class");
    annotation.unwrap_or_else(|| object.text(&["spec", "storageClassName"]))
}

/// The short forms, in a fixed order, each once.
pub(super) fn access_modes(modes: &[Value]) -> String {
    const SHORT: [(&str, &str); 4] =
        [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];
    let short = SHORT.iter().filter(|(mode, _)| modes.iter().any(|own| own == mode)).map(|(_, short)| *short);
    short.collect::<Vec<_>>().join(",")
}
