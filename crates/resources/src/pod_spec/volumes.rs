//! Volumes, and where containers mount them. In Kubernetes: `ValidateVolumes`, `ValidateVolumeMounts`.

use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use serde_json::Value;

use super::environment::{FILE_FIELDS, wrong_field, wrong_resource_field};
use crate::field_checks::{Wrong, each_invalid, one_of, required};

/// The volumes that containers can mount, by name.
pub(super) type Volumes<'s> = BTreeMap<&'s str, &'s Value>;

/// The sources of a volume, in the order in which Kubernetes looks at them.
const SOURCES: [&str; 30] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];

const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";

/// The volumes that are fine, and what is wrong with the others.
pub(super) fn volumes<'s>(spec: &'s Value, path: &str) -> (Volumes<'s>, Wrong) {
    let mut fine = Volumes::new();
    let mut wrong = Wrong::new();
    for (at, volume) in spec.list("volumes").iter().enumerate() {
        let path = format!("{path}.volumes[{at}]");
        let name = volume.text("name");
        let mut own = wrong_sources(volume, &path);
        if name.is_empty() {
            own.push(FieldError::required(format!("{path}.name"), ""));
        } else {
            own.extend(each_invalid(&format!("{path}.name"), name, names::dns1123_label(name)));
        }
        if fine.contains_key(name) {
            own.push(FieldError::duplicate(format!("{path}.name"), name));
        }
        if own.is_empty() {
            fine.insert(name, volume);
        }
        wrong.extend(own);
    }
    (fine, wrong)
}

fn wrong_sources(volume: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let mut has_one = false;
    for kind in SOURCES {
        let source = volume.at(kind);
        if source.is_null() {
            continue;
        }
        let path = format!("{path}.{kind}");
        if has_one {
            wrong.push(FieldError::forbidden(path, "may not specify more than 1 volume type"));
            continue;
        }
        has_one = true;
        wrong.extend(wrong_source(kind, source, &path));
    }
    if !has_one {
        wrong.push(FieldError::required(path, "must specify a volume type"));
    }
    wrong
}

fn wrong_source(kind: &str, source: &Value, path: &str) -> Wrong {
    let need = |fields: &[&str]| -> Wrong { fields.iter().flat_map(|field| required(source, field, path)).collect() };
    match kind {
        "hostPath" => wrong_host_path(source, path),
        "secret" => [need(&["secretName"]), wrong_items(source, path)].concat(),
        "configMap" => [need(&["name"]), wrong_items(source, path)].concat(),
        "downwardAPI" => [wrong_mode(source, "defaultMode", path), wrong_files(source, path)].concat(),
        "projected" => wrong_projection(source, path),
        "persistentVolumeClaim" => need(&["claimName"]),
        "nfs" => {
            let mut wrong = need(&["server", "path"]);
            if !source.text("path").is_empty() && !source.text("path").starts_with('/') {
                wrong.push(FieldError::invalid(
                    format!("{path}.path"),
                    source.text("path"),
                    "must be an absolute path",
                ));
            }
            wrong
        }
        "gcePersistentDisk" => need(&["pdName"]),
        "awsElasticBlockStore" | "cinder" => need(&["volumeID"]),
        "csi" => need(&["driver"]),
        "ephemeral" if !source.has("volumeClaimTemplate") => {
            vec![FieldError::required(format!("{path}.volumeClaimTemplate"), "")]
        }
        "image" => {
            let mut wrong = need(&["reference"]);
            wrong.extend(one_of(source, "pullPolicy", path, &["Always", "IfNotPresent", "Never"]));
            wrong
        }
        "flexVolume" => need(&["driver"]),
        "azureFile" => need(&["secretName", "shareName"]),
        "azureDisk" => need(&["diskName", "diskURI"]),
        "gitRepo" => need(&["repository"]),
        "glusterfs" => need(&["endpoints", "path"]),
        "portworxVolume" => need(&["volumeID"]),
        "vsphereVolume" => need(&["volumePath"]),
        "photonPersistentDisk" => need(&["pdID"]),
        _ => Wrong::new(),
    }
}

fn wrong_host_path(source: &Value, path: &str) -> Wrong {
    const TYPES: [&str; 8] =
        ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
    let mut wrong = required(source, "path", path);
    if !wrong.is_empty() {
        return wrong;
    }
    wrong.extend(no_backsteps(source.text("path"), &format!("{path}.path")));
    if source.has("type") {
        wrong.extend(one_of(source, "type", path, &TYPES));
    }
    wrong
}

fn wrong_mode(holder: &Value, field: &str, path: &str) -> Wrong {
    match holder.int_if_set(field) {
        Some(mode) if !(0..=0o777).contains(&mode) => {
            vec![FieldError::invalid(format!("{path}.{field}"), mode, MODE)]
        }
        _ => Wrong::new(),
    }
}

fn wrong_items(source: &Value, path: &str) -> Wrong {
    let mut wrong = wrong_mode(source, "defaultMode", path);
    for (at, item) in source.list("items").iter().enumerate() {
        let path = format!("{path}.items[{at}]");
        wrong.extend(required(item, "key", &path));
        wrong.extend(required(item, "path", &path));
        wrong.extend(local_path(item.text("path"), &format!("{path}.path")));
        wrong.extend(wrong_mode(item, "mode", &path));
    }
    wrong
}

fn wrong_files(source: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    // Errors name the volume, and not which of its files.
    for file in source.list("items") {
        wrong.extend(required(file, "path", path));
        wrong.extend(local_path(file.text("path"), &format!("{path}.path")));
        match (file.has("fieldRef"), file.has("resourceFieldRef")) {
            (true, true) => {
                wrong.push(FieldError::invalid(
                    path,
                    "resource",
                    "fieldRef and resourceFieldRef can not be specified simultaneously",
                ));
            }
            (true, false) => wrong.extend(wrong_field(file.at("fieldRef"), &FILE_FIELDS, &format!("{path}.fieldRef"))),
            (false, true) => {
                let reference = file.at("resourceFieldRef");
                let path = format!("{path}.resourceFieldRef");
                let missing = required(reference, "containerName", &path);
                wrong.extend(if missing.is_empty() { wrong_resource_field(reference, &path) } else { missing });
            }
            (false, false) => {
                wrong.push(FieldError::required(path, "one of fieldRef and resourceFieldRef is required"));
            }
        }
        wrong.extend(wrong_mode(file, "mode", path));
    }
    wrong
}

fn wrong_projection(source: &Value, path: &str) -> Wrong {
    let mut wrong = wrong_mode(source, "defaultMode", path);
    for (at, projection) in source.list("sources").iter().enumerate() {
        let path = format!("{path}.sources[{at}]");
        let mut count = 0;
        for kind in
            ["secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"]
        {
            let part = projection.at(kind);
            if part.is_null() {
                continue;
            }
            count += 1;
            let path = format!("{path}.{kind}");
            wrong.extend(match kind {
                "secret" | "configMap" => [required(part, "name", &path), wrong_items(part, &path)].concat(),
                "downwardAPI" => wrong_files(part, &path),
                "serviceAccountToken" => wrong_token(part, &path),
                _ => Wrong::new(),
            });
        }
        if count > 1 {
            wrong.push(FieldError::forbidden(&path, "may not specify more than 1 volume type per source"));
        } else if count == 0 {
            wrong.push(FieldError::required(&path, "must specify a volume type per source"));
        }
    }
    wrong
}

fn wrong_token(token: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let seconds = token.int("expirationSeconds");
    if seconds < 600 {
        let what = "may not specify a duration less than 10 minutes";
        wrong.push(FieldError::invalid(format!("{path}.expirationSeconds"), seconds, what));
    }
    if seconds > 1 << 32 {
        let what = "may not specify a duration larger than 2^32 seconds";
        wrong.push(FieldError::invalid(format!("{path}.expirationSeconds"), seconds, what));
    }
    wrong.extend(required(token, "path", path));
    wrong.extend(local_path(token.text("path"), &format!("{path}.path")));
    wrong
}

/// A path below a volume.
fn local_path(value: &str, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    if value.starts_with('/') {
        wrong.push(FieldError::invalid(path, value, "must be a relative path"));
    }
    wrong.extend(no_backsteps(value, path));
    if value.starts_with("..") && !value.starts_with("../") && value != ".." {
        wrong.push(FieldError::invalid(path, value, "must not start with '..'"));
    }
    wrong
}

fn no_backsteps(value: &str, path: &str) -> Wrong {
    if value.split('/').any(|step| step == "..") {
        return vec![FieldError::invalid(path, value, "must not contain '..'")];
    }
    Wrong::new()
}

/// What is wrong with the mounts and the devices of a container.
pub(super) fn wrong_mounts(container: &Value, volumes: &Volumes<'_>, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let mut paths = BTreeSet::new();
    let devices = container.list("volumeDevices");
    let all = format!("{path}.volumeMounts");
    for (at, mount) in container.list("volumeMounts").iter().enumerate() {
        let path = format!("{all}[{at}]");
        let (name, mount_path) = (mount.text("name"), mount.text("mountPath"));
        wrong.extend(required(mount, "name", &path));
        if !volumes.contains_key(name) {
            wrong.push(FieldError::not_found(format!("{path}.name"), name));
        }
        wrong.extend(required(mount, "mountPath", &path));
        let mut refuse = |field: &str, value: &str, what: &str| {
            wrong.push(FieldError::invalid(format!("{path}.{field}"), value, what));
        };
        if !paths.insert(mount_path) {
            refuse("mountPath", mount_path, "must be unique");
        }
        if devices.iter().any(|device| device.text("name") == name) {
            refuse("name", name, "must not already exist in volumeDevices");
        }
        if devices.iter().any(|device| device.text("devicePath") == mount_path) {
            refuse("mountPath", mount_path, "must not already exist as a path in volumeDevices");
        }
        let (sub_path, expression) = (mount.text("subPath"), mount.text("subPathExpr"));
        if !sub_path.is_empty() && !expression.is_empty() {
            refuse("subPathExpr", expression, "subPathExpr and subPath are mutually exclusive");
        }
        for (field, value) in [("subPath", sub_path), ("subPathExpr", expression)] {
            let field = format!("{all}.{field}");
            if value.starts_with('/') {
                wrong.push(FieldError::invalid(&field, value, "must be a relative path"));
            }
            wrong.extend(no_backsteps(value, &field));
        }
    }
    wrong.extend(wrong_devices(container, volumes, path));
    wrong
}

fn wrong_devices(container: &Value, volumes: &Volumes<'_>, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let (mut names, mut paths) = (BTreeSet::new(), BTreeSet::new());
    for (at, device) in container.list("volumeDevices").iter().enumerate() {
        let path = format!("{path}.volumeDevices[{at}]");
        let (name, device_path) = (device.text("name"), device.text("devicePath"));
        wrong.extend(required(device, "name", &path));
        if !names.insert(name) {
            wrong.push(FieldError::invalid(format!("{path}.name"), name, "must be unique"));
        }
        match volumes.get(name) {
            None => wrong.push(FieldError::not_found(format!("{path}.name"), name)),
            Some(volume) if !volume.has("persistentVolumeClaim") && !volume.has("ephemeral") => {
                let what = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                wrong.push(FieldError::invalid(format!("{path}.name"), name, what));
            }
            Some(_) => {}
        }
        wrong.extend(required(device, "devicePath", &path));
        if !paths.insert(device_path) {
            wrong.push(FieldError::invalid(format!("{path}.devicePath"), device_path, "must be unique"));
        }
    }
    wrong
}
