use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_spec};
use coracle_meta::{FieldError, Object, Quantity, names};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::{Value, json};

use super::persistent_volume::{access_modes, phase, storage_class};
use crate::built_in::built_in;
use crate::cells::set_or;
use crate::field_checks::{Wrong, each_invalid, same};
use crate::pod_spec::is_native;
use crate::volume_claim_spec::{claim_warnings, wrong_claim_spec};

/// `persistentvolumeclaims`. In Kubernetes: `pkg/registry/core/persistentvolumeclaim`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, _| {
            object.edit(|tree| {
                if let Some(status) = tree.object_made("status") {
                    status.fill_text("phase", "Pending");
                }
            });
        },
        prepare_create: |object, _, _| {
            object.set("status", json!({"phase": "Pending"}));
            edit_spec(object, |spec| align_data_sources(spec, None));
        },
        prepare_update: |new, old, _, _| edit_spec(new, |spec| align_data_sources(spec, Some(old.at("spec")))),
        warnings: |new, _, _| warnings(new),
        validate: |object, _| wrong(object),
        validate_change: |new, old, _| validate_change(new, old),
        validate_status: |new, old, _| wrong_status(new, old),
        columns: columns(),
        ..built_in(release, "", "v1", "persistentvolumeclaims")
    }
}

/// `dataSource` and the newer `dataSourceRef` are equal unless the newer one has a namespace, which is disabled by
/// default. In Kubernetes: `DropDisabledFields`, `EnforceDataSourceBackwardsCompatibility`, `NormalizeDataSources`.
fn align_data_sources(spec: &mut Tree, old: Option<&Value>) {
    let uses = |field: &str| old.is_some_and(|old| old.has(field));
    if !spec.text("dataSourceRef.namespace").is_empty() && !uses("dataSourceRef") {
        spec.remove("dataSourceRef");
    }
    let had_source = uses("dataSource") || uses("dataSourceRef");
    if !had_source && !spec.has("dataSourceRef") && !is_served(spec.at("dataSource")) {
        spec.remove("dataSource");
    }
    let (source, reference) = (spec.at("dataSource").clone(), spec.at("dataSourceRef").clone());
    if !source.is_null() && reference.is_null() {
        spec.insert("dataSourceRef".to_owned(), source);
    } else if source.is_null() && !reference.is_null() && reference.text("namespace").is_empty() {
        spec.insert("dataSource".to_owned(), reference);
    }
}

fn warnings(object: &Object) -> Vec<String> {
    const OLDER_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
    let mut warnings = Vec::new();
    if object.annotation(OLDER_CLASS).is_some() {
        let what = "deprecated since v1.8; use \"storageClassName\" attribute instead";
        warnings.push(format!("metadata.annotations[{OLDER_CLASS}]: {what}"));
    }
    warnings.extend(claim_warnings(object.at("spec"), "spec"));
    warnings
}

/// Whether the older field can contain such a source. In Kubernetes: `dataSourceIsPvcOrSnapshot`.
fn is_served(source: &Value) -> bool {
    let known = [("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")];
    known.contains(&(source.text("apiGroup"), source.text("kind")))
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Status",
            "phase represents the current phase of PersistentVolumeClaim.",
            |object| phase(object).into(),
        ),
        TableColumn::text(
            "Volume",
            "volumeName is the binding reference to the PersistentVolume backing this claim.",
            |object| object.text("spec.volumeName").into(),
        ),
        TableColumn::text(
            "Capacity",
            "capacity represents the actual resources of the underlying volume.",
            |object| if is_bound(object) { set_or(object.at("status.capacity").field_named("storage"), "0") } else { "".into() },
        ),
        TableColumn::text(
            "Access Modes",
            "accessModes contains the actual access modes the volume backing the PVC has. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#access-modes-1",
            |object| if is_bound(object) { access_modes(object.list("status.accessModes")).into() } else { "".into() },
        ),
        TableColumn::text("StorageClass", "StorageClass of the pvc", |object| storage_class(object).into()),
        TableColumn::text(
            "VolumeAttributesClass",
            "VolumeAttributesClass of the pvc",
            |object| set_or(object.at("spec.volumeAttributesClassName"), "<unset>"),
        ),
        TableColumn::age(),
        TableColumn::text(
            "VolumeMode",
            "volumeMode defines what type of volume is required by the claim. Value of Filesystem is implied when not included in claim spec.",
            |object| set_or(object.at("spec.volumeMode"), "<unset>"),
        ).wide(),
    ]
}

fn is_bound(object: &Object) -> bool {
    !object.text("spec.volumeName").is_empty()
}

fn wrong(object: &Object) -> Wrong {
    wrong_claim_spec(object.at("spec"), "spec")
}

/// A claim is immutable, except that a bound claim can request more storage or another VolumeAttributesClass.
/// Unlike Kubernetes: the message names the fields instead of a difference of Go structs.
fn validate_change(new: &Object, old: &Object) -> Wrong {
    let is_bound = old.text("status.phase") == "Bound";
    let capacity = old.at("status.capacity.storage");
    let has_class = old.has("status.currentVolumeAttributesClassName");
    let (new, old) = (new.at("spec"), old.at("spec"));
    let names = [new, old].into_iter().filter_map(Value::as_object).flatten().map(|(name, _)| name.as_str());
    let mut changed: Vec<&str> = names
        .filter(|name| !(*name == "volumeAttributesClassName" && is_bound))
        .filter(|name| !(*name == "volumeName" && old.text(name).is_empty()))
        .filter(|name| match *name {
            "resources" if is_bound => !same(new.at("resources.limits"), old.at("resources.limits")),
            name => !same(new.field_named(name), old.field_named(name)),
        })
        .collect();
    changed.sort_unstable();
    changed.dedup();
    let mut wrong = Wrong::new();
    if !changed.is_empty() {
        let what =
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        wrong.push(FieldError::forbidden("spec", format!("{what} (changed: {})", changed.join(", "))));
    }
    let amount = |value: &Value| value.as_str().and_then(|text| Quantity::parse(text).ok()).unwrap_or_default();
    let (size, old_size) = (amount(new.at("resources.requests.storage")), amount(old.at("resources.requests.storage")));
    if size < old_size && size <= amount(capacity) {
        let what = "field can not be less than status.capacity";
        wrong.push(FieldError::forbidden("spec.resources.requests.storage", what));
    }
    if new.at("volumeMode") != old.at("volumeMode") {
        wrong.push(FieldError::invalid("volumeMode", new.at("volumeMode").clone(), "field is immutable"));
    }
    let class = "volumeAttributesClassName";
    if has_class && new.at(class) != old.at(class) && new.text(class).is_empty() {
        let to = if new.has(class) { "empty string" } else { "nil" };
        let what = format!("update to {to} is forbidden when status.currentVolumeAttributesClassName is not nil");
        wrong.push(FieldError::forbidden(format!("spec.{class}"), what));
    }
    wrong
}

/// The valid resize statuses.
const RESIZE_STATUSES: [&str; 5] = [
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

/// In Kubernetes: `ValidatePersistentVolumeClaimStatusUpdate`.
fn wrong_status(new: &Object, _old: &Object) -> Wrong {
    const STATUSES: &str = "status.allocatedResourceStatuses";
    const AMOUNTS: &str = "status.allocatedResources";
    let mut wrong = Wrong::new();
    for (name, amount) in new.entries("status.capacity") {
        wrong.extend(wrong_amount(amount, &format!("status.capacity[{name}]")));
    }
    for (name, status) in new.entries(STATUSES) {
        wrong.extend(wrong_resource_name(name, STATUSES));
        if !RESIZE_STATUSES.iter().any(|known| known == status) {
            wrong.push(FieldError::not_supported(STATUSES, name.as_str(), &RESIZE_STATUSES));
        }
    }
    for (name, amount) in new.entries(AMOUNTS) {
        let unknown = wrong_resource_name(name, AMOUNTS);
        if !unknown.is_empty() {
            wrong.extend(unknown);
            continue;
        }
        wrong.extend(wrong_amount(amount, &format!("{AMOUNTS}[{name}]")));
    }
    wrong
}

/// A non-negative quantity, printed as a number. In Kubernetes: `validateBasicResource`.
fn wrong_amount(amount: &Value, path: &str) -> Wrong {
    let negative =
        amount.as_str().and_then(|text| Quantity::parse(text).ok()).filter(|quantity| quantity.is_negative());
    let what = "must be a valid resource quantity";
    negative.map(|quantity| FieldError::invalid(path, quantity.value(), what)).into_iter().collect()
}

/// `storage`, or a resource outside of Kubernetes' domain. In Kubernetes: `validatePersistentVolumeClaimResourceKey`.
fn wrong_resource_name(name: &str, path: &str) -> Wrong {
    let mut wrong = each_invalid(path, name, names::qualified_name(name));
    if wrong.is_empty() && is_native(name) && name != "storage" {
        wrong.push(FieldError::not_supported(path, name, &["storage"]));
    }
    wrong
}
