//! Volume mounts and devices of containers. In Kubernetes: `ValidateVolumeMounts`, `ValidateVolumeDevices`.

use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::FieldError;
use coracle_meta::fields::Fields;
use serde_json::Value;

use super::paths::{relative_path, without_backsteps};
use crate::field_checks::{Wrong, required};

/// The volumes that containers can mount, by name.
pub(super) type Volumes<'s> = BTreeMap<&'s str, &'s Value>;

/// The errors of the mounts and the devices of a container.
pub(super) fn wrong_mounts(container: &Value, volumes: &Volumes<'_>, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let mut paths = BTreeSet::new();
    let devices = by_name(container.list("volumeDevices"), "devicePath");
    let device_paths: BTreeSet<&str> = devices.values().copied().collect();
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
        if devices.contains_key(name) {
            refuse("name", name, "must not already exist in volumeDevices");
        }
        if device_paths.contains(mount_path) {
            refuse("mountPath", mount_path, "must not already exist as a path in volumeDevices");
        }
        let (sub_path, expression) = (mount.text("subPath"), mount.text("subPathExpr"));
        wrong.extend(relative_path(sub_path, &format!("{all}.subPath")));
        if !expression.is_empty() && !sub_path.is_empty() {
            let what = "subPathExpr and subPath are mutually exclusive";
            wrong.push(FieldError::invalid(format!("{path}.subPathExpr"), expression, what));
        }
        wrong.extend(relative_path(expression, &format!("{all}.subPathExpr")));
        wrong.extend(wrong_propagation(mount, container, &format!("{all}.mountPropagation")));
        wrong.extend(wrong_recursion(mount, &format!("{all}.recursiveReadOnly")));
    }
    wrong.extend(wrong_devices(container, volumes, path));
    wrong
}

/// The paths of mounts or devices by the names of their volumes; the last one with a name counts.
fn by_name<'c>(list: &'c [Value], path: &str) -> BTreeMap<&'c str, &'c str> {
    list.iter().map(|item| (item.text("name"), item.text(path))).collect()
}

fn wrong_propagation(mount: &Value, container: &Value, path: &str) -> Wrong {
    const KNOWN: [&str; 3] = ["Bidirectional", "HostToContainer", "None"];
    match mount.at("mountPropagation").as_str() {
        Some("Bidirectional") if !container.flag("securityContext.privileged") => {
            let what = "Bidirectional mount propagation is available only to privileged containers";
            vec![FieldError::forbidden(path, what)]
        }
        Some(mode) if !KNOWN.contains(&mode) => vec![FieldError::not_supported(path, mode, &KNOWN)],
        _ => Wrong::new(),
    }
}

/// In Kubernetes: `validateMountRecursiveReadOnly`.
fn wrong_recursion(mount: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    match mount.at("recursiveReadOnly").as_str() {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if !mount.flag("readOnly") {
                wrong.push(FieldError::forbidden(path, "may only be specified when readOnly is true"));
            }
            if mount.at("mountPropagation").as_str().is_some_and(|mode| mode != "None") {
                let what = "may only be specified when mountPropagation is None or not specified";
                wrong.push(FieldError::forbidden(path, what));
            }
        }
        Some(other) => {
            wrong.push(FieldError::not_supported(path, other, &["Disabled", "Enabled", "IfPossible"]));
        }
    }
    wrong
}

fn wrong_devices(container: &Value, volumes: &Volumes<'_>, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let (mut names, mut paths) = (BTreeSet::new(), BTreeSet::new());
    let mounts = by_name(container.list("volumeMounts"), "mountPath");
    let mount_paths: BTreeSet<&str> = mounts.values().copied().collect();
    for (at, device) in container.list("volumeDevices").iter().enumerate() {
        let path = format!("{path}.volumeDevices[{at}]");
        let (name, device_path) = (device.text("name"), device.text("devicePath"));
        let (name_path, path_path) = (format!("{path}.name"), format!("{path}.devicePath"));
        wrong.extend(required(device, "name", &path));
        if names.contains(name) {
            wrong.push(FieldError::invalid(&name_path, name, "must be unique"));
        }
        match volumes.get(name) {
            None => wrong.push(FieldError::not_found(&name_path, name)),
            Some(volume) if !volume.has("persistentVolumeClaim") && !volume.has("ephemeral") => {
                let what = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                wrong.push(FieldError::invalid(&name_path, name, what));
            }
            Some(_) => {}
        }
        wrong.extend(required(device, "devicePath", &path));
        if paths.contains(device_path) {
            wrong.push(FieldError::invalid(&path_path, device_path, "must be unique"));
        }
        if without_backsteps(device_path, "").is_empty() {
            paths.insert(device_path);
        } else {
            wrong.push(FieldError::invalid(&path_path, device_path, "can not contain backsteps ('..')"));
        }
        if mounts.contains_key(name) {
            wrong.push(FieldError::invalid(&name_path, name, "must not already exist in volumeMounts"));
        }
        if mount_paths.contains(device_path) {
            let what = "must not already exist as a path in volumeMounts";
            wrong.push(FieldError::invalid(&path_path, device_path, what));
        }
        if !name.is_empty() {
            names.insert(name);
        }
    }
    wrong
}
