//! The sources of volumes. In Kubernetes: `validateVolumeSource` and the functions that it calls.

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Quantity, names};
use serde_json::Value;

use super::files::{wrong_downward_files, wrong_key_files};
use super::iscsi::wrong_iscsi;
use super::paths::{relative_path, without_backsteps};
use super::projected::wrong_projection;
use crate::field_checks::{Wrong, each_invalid, one_of, required, required_one_of};
use crate::volume_claim_spec::wrong_claim_template;

/// The sources of a volume in the order of Kubernetes' checks, with the name in the error about a second source.
const SOURCES: [(&str, &str); 30] = [
    ("emptyDir", ""),
    ("hostPath", "hostPath"),
    ("gitRepo", "gitRepo"),
    ("gcePersistentDisk", "gcePersistentDisk"),
    ("awsElasticBlockStore", "awsElasticBlockStore"),
    ("secret", "secret"),
    ("nfs", "nfs"),
    ("iscsi", "iscsi"),
    ("glusterfs", "glusterfs"),
    ("flocker", "flocker"),
    ("persistentVolumeClaim", "persistentVolumeClaim"),
    ("rbd", "rbd"),
    ("cinder", "cinder"),
    ("cephfs", "cephFS"),
    ("quobyte", "quobyte"),
    ("downwardAPI", "downwarAPI"),
    ("fc", "fc"),
    ("flexVolume", "flexVolume"),
    ("configMap", "configMap"),
    ("azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume"),
    ("photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk"),
    ("storageos", "storageos"),
    ("projected", "projected"),
    ("scaleIO", "scaleIO"),
    ("csi", "csi"),
    ("ephemeral", "ephemeral"),
    ("image", "image"),
];

/// The errors of the source of a volume. `pod` is the name of the pod, empty if it is unknown; `is_pod` is false in a
/// template.
pub(super) fn wrong_sources(volume: &Value, pod: &str, is_pod: bool, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let mut has_one = false;
    let name = volume.text("name");
    for (kind, second) in SOURCES {
        let source = volume.at(kind);
        if source.is_null() {
            continue;
        }
        if has_one {
            wrong.push(FieldError::forbidden(format!("{path}.{second}"), "may not specify more than 1 volume type"));
        } else {
            has_one = true;
            wrong.extend(wrong_source(kind, source, is_pod, &format!("{path}.{kind}")));
            if kind == "ephemeral" && !pod.is_empty() && !name.is_empty() {
                wrong.extend(wrong_claim_name(name, pod, path));
            }
        }
        if kind == "iscsi" && source.has("initiatorName") && name.len() + 1 + source.text("targetPortal").len() > 64 {
            let what = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
            wrong.push(FieldError::invalid(format!("{path}.name"), name, what));
        }
    }
    if !has_one {
        wrong.push(FieldError::required(path, "must specify a volume type"));
    }
    wrong
}

/// The name of the claim of an ephemeral volume consists of the names of pod and volume.
fn wrong_claim_name(volume: &str, pod: &str, path: &str) -> Wrong {
    let claim = format!("{pod}-{volume}");
    let sentences = names::dns1123_subdomain(&claim).into_iter();
    let refuse = |what| FieldError::invalid(format!("{path}.name"), volume, format!("PVC name {claim:?}: {what}"));
    sentences.map(refuse).collect()
}

fn wrong_source(kind: &str, source: &Value, is_pod: bool, path: &str) -> Wrong {
    let need = |fields: &[&str]| -> Wrong { fields.iter().flat_map(|field| required(source, field, path)).collect() };
    let with = |mut wrong: Wrong, more: Wrong| {
        wrong.extend(more);
        wrong
    };
    match kind {
        "emptyDir" => wrong_size_limit(source, path),
        "hostPath" => wrong_host_path(source, path),
        "gitRepo" => with(need(&["repository"]), relative_path(source.text("directory"), &format!("{path}.directory"))),
        "gcePersistentDisk" => {
            // This is the name of the field in Kubernetes' errors.
            let path = path.replace("gcePersistentDisk", "persistentDisk");
            with(required(source, "pdName", &path), wrong_number(source, "partition", 1, &path))
        }
        "awsElasticBlockStore" => with(need(&["volumeID"]), wrong_number(source, "partition", 1, path)),
        "secret" => with(need(&["secretName"]), wrong_key_files(source, path)),
        "nfs" => with(need(&["server", "path"]), wrong_nfs_path(source, path)),
        "iscsi" => wrong_iscsi(source, path),
        "glusterfs" => need(&["endpoints", "path"]),
        "flocker" => wrong_flocker(source, path),
        "persistentVolumeClaim" => need(&["claimName"]),
        "rbd" => with(wrong_monitors(source, path), need(&["image"])),
        "cinder" => with(need(&["volumeID"]), wrong_secret(source, "secretRef", path)),
        "cephfs" => wrong_monitors(source, path),
        "quobyte" => with(wrong_quobyte_registry(source, path), need(&["volume"])),
        "downwardAPI" => wrong_downward_files(source, path),
        "fc" => wrong_fibre_channel(source, path),
        "flexVolume" => with(need(&["driver"]), wrong_flex_options(source, path)),
        "configMap" => with(need(&["name"]), wrong_key_files(source, path)),
        "azureFile" => need(&["secretName", "shareName"]),
        "vsphereVolume" => need(&["volumePath"]),
        "photonPersistentDisk" => need(&["pdID"]),
        "portworxVolume" => need(&["volumeID"]),
        "azureDisk" => with(need(&["diskName", "diskURI"]), wrong_azure_disk(source, path)),
        "storageos" => wrong_storage_os(source, path),
        "projected" => wrong_projection(source, path),
        "scaleIO" => need(&["gateway", "system", "volumeName"]),
        "csi" => wrong_csi(source, path),
        "ephemeral" => match source.at("volumeClaimTemplate") {
            Value::Null => vec![FieldError::required(format!("{path}.volumeClaimTemplate"), "")],
            template => wrong_claim_template(template, &format!("{path}.volumeClaimTemplate")),
        },
        "image" => {
            let mut wrong = if is_pod { need(&["reference"]) } else { Wrong::new() };
            wrong.extend(required_one_of(source, "pullPolicy", path, &["Always", "IfNotPresent", "Never"]));
            wrong
        }
        _ => Wrong::new(),
    }
}

fn wrong_size_limit(source: &Value, path: &str) -> Wrong {
    match Quantity::parse(source.text("sizeLimit")) {
        Ok(limit) if limit.is_negative() => {
            let what = "SizeLimit field must be a valid resource quantity";
            vec![FieldError::forbidden(format!("{path}.sizeLimit"), what)]
        }
        _ => Wrong::new(),
    }
}

fn wrong_nfs_path(source: &Value, path: &str) -> Wrong {
    let own = source.text("path");
    if own.starts_with('/') {
        return Wrong::new();
    }
    vec![FieldError::invalid(format!("{path}.path"), own, "must be an absolute path")]
}

/// A number up to 255, whose error names `low` as the minimum; 0 is valid.
fn wrong_number(source: &Value, field: &str, low: i64, path: &str) -> Wrong {
    let number = source.int(field);
    if (0..=255).contains(&number) {
        return Wrong::new();
    }
    let what = format!("must be between {low} and 255, inclusive");
    vec![FieldError::invalid(format!("{path}.{field}"), number, what)]
}

fn wrong_secret(source: &Value, field: &str, path: &str) -> Wrong {
    if source.has(field) { required(source.at(field), "name", &format!("{path}.{field}")) } else { Wrong::new() }
}

fn wrong_monitors(source: &Value, path: &str) -> Wrong {
    if source.list("monitors").is_empty() {
        return vec![FieldError::required(format!("{path}.monitors"), "")];
    }
    Wrong::new()
}

fn wrong_host_path(source: &Value, path: &str) -> Wrong {
    const TYPES: [&str; 8] =
        ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
    let mut wrong = required(source, "path", path);
    if !wrong.is_empty() {
        return wrong;
    }
    wrong.extend(without_backsteps(source.text("path"), &format!("{path}.path")));
    if source.has("type") {
        wrong.extend(one_of(source, "type", path, &TYPES));
    }
    wrong
}

fn wrong_flocker(source: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let name = source.text("datasetName");
    match (name.is_empty(), source.text("datasetUUID").is_empty()) {
        (true, true) => wrong.push(FieldError::required(path, "one of datasetName and datasetUUID is required")),
        (false, false) => {
            let what = "datasetName and datasetUUID can not be specified simultaneously";
            wrong.push(FieldError::invalid(path, "resource", what));
        }
        _ => {}
    }
    if name.contains('/') {
        wrong.push(FieldError::invalid(format!("{path}.datasetName"), name, "must not contain '/'"));
    }
    wrong
}

fn wrong_quobyte_registry(source: &Value, path: &str) -> Wrong {
    const PAIRS: &str = "must be a host:port pair or multiple pairs separated by commas";
    let registry = source.text("registry");
    let path_of = |field: &str| format!("{path}.{field}");
    if registry.is_empty() {
        return vec![FieldError::required(path_of("registry"), PAIRS)];
    }
    if source.text("tenant").len() >= 65 {
        let what = "must be a UUID and may not exceed a length of 64 characters";
        return vec![FieldError::required(path_of("tenant"), what)];
    }
    let wrong = registry.split(',').filter(|pair| !is_host_and_port(pair));
    wrong.map(|_| FieldError::invalid(path_of("registry"), registry, PAIRS)).collect()
}

/// In Go: `net.SplitHostPort`.
fn is_host_and_port(pair: &str) -> bool {
    let Some((host, port)) = pair.rsplit_once(':') else { return false };
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_plain = |text: &str| !text.contains(['[', ']']);
    is_plain(port)
        && match bracketed {
            Some(host) => is_plain(host),
            None => is_plain(host) && !host.contains(':'),
        }
}

fn wrong_fibre_channel(source: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let names = source.list("targetWWNs");
    let path_of = |field: &str| format!("{path}.{field}");
    match (names.is_empty(), source.list("wwids").is_empty()) {
        (true, true) => {
            let what = "must specify either targetWWNs or wwids, but not both";
            wrong.push(FieldError::required(path_of("targetWWNs"), what));
        }
        (false, false) => {
            let what = "targetWWNs and wwids can not be specified simultaneously";
            wrong.push(FieldError::invalid(path_of("targetWWNs"), names, what));
        }
        _ => {}
    }
    if !names.is_empty() {
        wrong.extend(if source.has("lun") {
            wrong_number(source, "lun", 0, path)
        } else {
            vec![FieldError::required(path_of("lun"), "lun is required if targetWWNs is specified")]
        });
    }
    wrong
}

fn wrong_flex_options(source: &Value, path: &str) -> Wrong {
    let is_reserved = |name: &str| {
        let namespace = name.split_once('/').map_or(name, |(namespace, _)| namespace);
        let dotted = format!(".{}", namespace.to_lowercase());
        dotted.ends_with(".kubernetes.io") || dotted.ends_with(".k8s.io")
    };
    let reserved = source.entries("options").map(|(name, _)| name).filter(|name| is_reserved(name));
    let what = "kubernetes.io and k8s.io namespaces are reserved";
    reserved.map(|name| FieldError::invalid(format!("{path}.options[{name}]"), name.as_str(), what)).collect()
}

fn wrong_azure_disk(source: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    for (field, known) in
        [("cachingMode", ["None", "ReadOnly", "ReadWrite"]), ("kind", ["Dedicated", "Managed", "Shared"])]
    {
        if source.has(field) {
            wrong.extend(one_of(source, field, path, &known));
        }
    }
    let (prefix, form) = match source.at("kind").as_str() {
        None => return wrong,
        Some("Managed") => (
            "/subscriptions/",
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        ),
        Some(_) => ("https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"),
    };
    let address = source.text("diskURI");
    if !address.starts_with(prefix) {
        wrong.push(FieldError::not_supported(format!("{path}.diskURI"), address, &[form]));
    }
    wrong
}

fn wrong_storage_os(source: &Value, path: &str) -> Wrong {
    let mut wrong = required(source, "volumeName", path);
    for field in ["volumeName", "volumeNamespace"] {
        let name = source.text(field);
        if !name.is_empty() {
            wrong.extend(each_invalid(&format!("{path}.{field}"), name, names::dns1123_label(name)));
        }
    }
    wrong.extend(wrong_secret(source, "secretRef", path));
    wrong
}

fn wrong_csi(source: &Value, path: &str) -> Wrong {
    let mut wrong = required(source, "driver", path);
    let driver = source.text("driver");
    if !driver.is_empty() {
        let path = format!("{path}.driver");
        if driver.len() > 63 {
            wrong.push(FieldError::too_long(&path, 63));
        }
        wrong.extend(each_invalid(&path, driver, names::dns1123_subdomain(&driver.to_lowercase())));
    }
    wrong.extend(wrong_secret(source, "nodePublishSecretRef", path));
    let secret = source.text("nodePublishSecretRef.name");
    if !secret.is_empty() {
        wrong.extend(each_invalid(&format!("{path}.name"), secret, names::dns1123_subdomain(secret)));
    }
    wrong
}
