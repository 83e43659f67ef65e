use coracle_meta::fields::{Fields, FieldsMut, edit_spec};
use coracle_meta::{FieldError, Object, format_time, names};
use coracle_registry::{KindSpec, Request, TableColumn, restore};
use coracle_release::Release;
use serde_json::{Value, json};

use crate::built_in::built_in;
use crate::cells::set_or;
use crate::field_checks::{Wrong, each_invalid, immutable, one_of, quantity_not_negative, required, same};
use crate::volume_claim_spec::{above_zero, wrong_access_modes};

/// `persistentvolumes`. In Kubernetes: `pkg/registry/core/persistentvolume`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, _| set_defaults(object),
        prepare_create: |object, request, _| {
            object.set("status", json!({"phase": "Pending", "lastPhaseTransitionTime": format_time(request.now)}));
        },
        prepare_status: |new, old, request, _| prepare_status(new, old, request),
        validate: |object, _| wrong(object),
        validate_change: |new, old, _| {
            let what = "spec.persistentvolumesource is immutable after creation";
            let source = |object: &Object| SOURCES.map(|source| object.at("spec").at(source).clone());
            let changed = source(new).iter().zip(&source(old)).any(|(new, old)| !same(new, old));
            let mut wrong =
                if changed { vec![FieldError::forbidden("spec.persistentvolumesource", what)] } else { Wrong::new() };
            wrong.extend(immutable(new, old, "spec.volumeMode"));
            wrong
        },
        warnings: |new, _, _| {
            let policy = new.text("spec.persistentVolumeReclaimPolicy");
            let what = "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.";
            (policy == "Recycle").then(|| what.to_owned()).into_iter().collect()
        },
        columns: columns(),
        ..built_in(release, "", "v1", "persistentvolumes")
    }
}

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

/// Keeps the time of the last phase transition if the client does not set it.
fn prepare_status(new: &mut Object, old: &Object, request: &Request) {
    const TIME: &str = "status.lastPhaseTransitionTime";
    let same_phase = new.at("status.phase") == old.at("status.phase");
    let given = new.has(TIME);
    let stale = new.at(TIME) == old.at(TIME);
    if same_phase && !given {
        restore(new, old, TIME);
    } else if !same_phase && (!given || stale) {
        new.set("status.lastPhaseTransitionTime", format_time(request.now));
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Capacity",
            "capacity is the description of the persistent volume's resources and capacity. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#capacity",
            |object| set_or(object.at("spec.capacity").field_named("storage"), "0"),
        ),
        TableColumn::text(
            "Access Modes",
            "accessModes contains all ways the volume can be mounted. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#access-modes",
            |object| access_modes(object.list("spec.accessModes")).into(),
        ),
        TableColumn::text(
            "Reclaim Policy",
            "persistentVolumeReclaimPolicy defines what happens to a persistent volume when released from its claim. Valid options are Retain (default for manually created PersistentVolumes), Delete (default for dynamically provisioned PersistentVolumes), and Recycle (deprecated). Recycle must be supported by the volume plugin underlying this PersistentVolume. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#reclaiming",
            |object| object.text("spec.persistentVolumeReclaimPolicy").into(),
        ),
        TableColumn::text(
            "Status",
            "phase indicates if a volume is available, bound to a claim, or released by a claim. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#phase",
            |object| phase(object).into(),
        ),
        TableColumn::text(
            "Claim",
            "claimRef is part of a bi-directional binding between PersistentVolume and PersistentVolumeClaim. Expected to be non-nil when bound. claim.VolumeName is the authoritative bind between PV and PVC. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#binding",
            |object| claim(object).into(),
        ),
        TableColumn::text("StorageClass", "StorageClass of the pv", |object| storage_class(object).into()),
        TableColumn::text(
            "VolumeAttributesClass",
            "VolumeAttributesClass of the pv",
            |object| set_or(object.at("spec.volumeAttributesClassName"), "<unset>"),
        ),
        TableColumn::text(
            "Reason",
            "reason is a brief CamelCase string that describes any failure and is meant for machine parsing and tidy display in the CLI.",
            |object| object.text("status.reason").into(),
        ),
        TableColumn::age(),
        TableColumn::text(
            "VolumeMode",
            "volumeMode defines if a volume is intended to be used with a formatted filesystem or to remain in raw block state. Value of Filesystem is implied when not included in spec.",
            |object| set_or(object.at("spec.volumeMode"), "<unset>"),
        ).wide(),
    ]
}

fn claim(object: &Object) -> String {
    match object.at("spec.claimRef") {
        Value::Null => String::new(),
        claim => format!("{}/{}", claim.text("namespace"), claim.text("name")),
    }
}

/// The phase, or `Terminating`.
pub(super) fn phase(object: &Object) -> &str {
    if object.is_terminating() { "Terminating" } else { object.text("status.phase") }
}

/// The class, which the older annotation overrides.
pub(super) fn storage_class(object: &Object) -> &str {
    let annotation = object.annotation("volume.beta.kubernetes.io/storage-class");
    annotation.unwrap_or_else(|| object.text("spec.storageClassName"))
}

/// The short forms, in a fixed order, each once.
pub(super) fn access_modes(modes: &[Value]) -> String {
    const SHORT: [(&str, &str); 4] =
        [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];
    let short = SHORT.iter().filter(|(mode, _)| modes.iter().any(|own| own == mode)).map(|(_, short)| *short);
    short.collect::<Vec<_>>().join(",")
}

/// The volume sources in the order of Kubernetes' checks: the first one counts.
const SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

/// The valid types of a host path.
const HOST_PATHS: [&str; 8] =
    ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];

/// In Kubernetes: `ValidatePersistentVolume`.
fn wrong(object: &Object) -> Wrong {
    let spec = object.at("spec");
    let mut wrong = Wrong::new();
    if spec.list("accessModes").is_empty() {
        wrong.push(FieldError::required("spec.accessModes", ""));
    }
    wrong.extend(wrong_access_modes(spec, "spec"));
    wrong.extend(wrong_capacity(spec));
    wrong.extend(one_of(spec, "persistentVolumeReclaimPolicy", "spec", &["Delete", "Recycle", "Retain"]));
    wrong.extend(wrong_sources(spec));
    wrong.extend(wrong_classes(spec));
    if spec.has("nodeAffinity") && !spec.has("nodeAffinity.required") {
        wrong.push(FieldError::required("spec.nodeAffinity.required", "must specify required node constraints"));
    }
    wrong.extend(wrong_local_paths(spec));
    wrong.extend(one_of(spec, "volumeMode", "spec", &["Block", "Filesystem"]));
    wrong
}

fn wrong_capacity(spec: &Value) -> Wrong {
    let capacity = spec.at("capacity");
    let mut wrong = Wrong::new();
    if spec.entries("capacity").next().is_none() {
        wrong.push(FieldError::required("spec.capacity", ""));
    }
    if capacity.get("storage").is_none() || spec.entries("capacity").count() > 1 {
        wrong.push(FieldError::not_supported("spec.capacity", capacity.clone(), &["storage"]));
    }
    for (resource, amount) in spec.entries("capacity") {
        let path = format!("spec.capacity[{resource}]");
        if !quantity_not_negative(amount, &path).is_empty() {
            // Kubernetes shows it as a number.
            let printed = amount.as_str().unwrap_or_default();
            let what = "must be a valid resource quantity";
            wrong.push(FieldError::invalid(&path, printed, what).printed_as(printed));
        }
        wrong.extend(above_zero(amount, &path));
    }
    wrong
}

/// A volume has exactly one source.
fn wrong_sources(spec: &Value) -> Wrong {
    let mut wrong = Wrong::new();
    let sources: Vec<&str> = SOURCES.into_iter().filter(|source| spec.has(source)).collect();
    match sources[..] {
        [] => wrong.push(FieldError::required("spec", "must specify a volume type")),
        [_] => {}
        [_, ref more @ ..] => {
            let what = "may not specify more than 1 volume type";
            let named =
                |source: &str| if source == "cephfs" { "spec.cephFS".to_owned() } else { format!("spec.{source}") };
            wrong.extend(more.iter().map(|source| FieldError::forbidden(named(source), what)));
        }
    }
    if sources.first() == Some(&"nfs") {
        wrong.extend(wrong_nfs(spec.at("nfs")));
    }
    wrong
}

fn wrong_classes(spec: &Value) -> Wrong {
    let mut wrong = Wrong::new();
    let class = spec.text("storageClassName");
    if !class.is_empty() {
        wrong.extend(each_invalid("spec.storageClassName", class, names::dns1123_subdomain(class)));
    }
    if let Some(class) = spec.at("volumeAttributesClassName").as_str() {
        let path = "spec.volumeAttributesClassName";
        if class.is_empty() {
            wrong.push(FieldError::required(path, "an empty string is disallowed"));
        } else {
            wrong.extend(each_invalid(path, class, names::dns1123_subdomain(class)));
        }
        if !spec.has("csi") {
            let what = "has to be specified when using volumeAttributesClassName";
            wrong.push(FieldError::required("spec.csi", what));
        }
    }
    wrong
}

/// Volumes on the disk of a node.
fn wrong_local_paths(spec: &Value) -> Wrong {
    let mut wrong = Wrong::new();
    if let Some(kind) = spec.at("hostPath.type").as_str() {
        wrong.extend(
            one_of(spec.at("hostPath"), "type", "spec.hostPath", &HOST_PATHS).into_iter().filter(|_| !kind.is_empty()),
        );
    }
    if spec.has("hostPath") && spec.text("hostPath.path").is_empty() {
        wrong.push(FieldError::required("spec.hostPath.path", ""));
    }
    if spec.has("local") && !spec.has("nodeAffinity") {
        wrong.push(FieldError::required("spec.nodeAffinity", "Local volume requires node affinity"));
    }
    if spec.text("hostPath.path") == "/" && spec.text("persistentVolumeReclaimPolicy") == "Recycle" {
        let what = "may not be 'recycle' for a hostPath mount of '/'";
        wrong.push(FieldError::forbidden("spec.persistentVolumeReclaimPolicy", what));
    }
    wrong
}

fn wrong_nfs(nfs: &Value) -> Wrong {
    let mut wrong = required(nfs, "server", "spec.nfs");
    wrong.extend(required(nfs, "path", "spec.nfs"));
    let path = nfs.text("path");
    if !path.starts_with('/') {
        wrong.push(FieldError::invalid("spec.nfs.path", path, "must be an absolute path"));
    }
    wrong
}
