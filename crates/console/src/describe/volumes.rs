//! The volumes of a pod or of a template.

use coracle_meta::Quantity;
use serde_json::Value;

use super::Description;
use crate::values::{is, list, map, number, show, text};

pub(super) fn volumes(out: &mut Description, volumes: &[Value], space: &str) {
    if volumes.is_empty() {
        out.line(0, format!("{space}Volumes:\t<none>"));
        return;
    }
    out.line(0, format!("{space}Volumes:"));
    let indent = if space.is_empty() { "" } else { " " };
    for volume in volumes {
        out.line(1, format!("{indent}{}:", text(volume, "/name")));
        source(out, volume);
    }
}

/// Titles, and fields; a field with a question mark is a bool.
type Fields = &'static [(&'static str, &'static str)];

/// The types of volumes, what they are, and their fields.
const TYPES: &[(&str, &str, Fields)] = &[
    ("secret", "Secret (a volume populated by a Secret)", &[("SecretName", "secretName"), ("Optional", "optional?")]),
    ("configMap", "ConfigMap (a volume populated by a ConfigMap)", &[("Name", "name"), ("Optional", "optional?")]),
    (
        "persistentVolumeClaim",
        "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
        &[("ClaimName", "claimName"), ("ReadOnly", "readOnly?")],
    ),
    (
        "csi",
        "CSI (a Container Storage Interface (CSI) volume source)",
        &[("Driver", "driver"), ("FSType", "fsType"), ("ReadOnly", "readOnly?")],
    ),
    (
        "nfs",
        "NFS (an NFS mount that lasts the lifetime of a pod)",
        &[("Server", "server"), ("Path", "path"), ("ReadOnly", "readOnly?")],
    ),
    ("image", "Image (a container image or OCI artifact)", &[("Reference", "reference"), ("PullPolicy", "pullPolicy")]),
];

fn source(out: &mut Description, volume: &Value) {
    if let Some((name, about, fields)) = TYPES.iter().find(|(name, ..)| volume[*name].is_object()) {
        let source = &volume[*name];
        out.field(2, "Type", about);
        for (title, field) in *fields {
            match field.strip_suffix('?') {
                Some(field) => out.field(2, title, source[field] == true),
                None => out.field(2, title, text(source, &format!("/{field}"))),
            }
        }
        if *name == "csi" {
            attributes(out, source);
        }
    } else if volume["hostPath"].is_object() {
        let kind = volume["hostPath"]["type"].as_str().unwrap_or("<none>");
        out.field(2, "Type", "HostPath (bare host directory volume)");
        out.field(2, "Path", text(volume, "/hostPath/path"));
        out.field(2, "HostPathType", kind);
    } else if volume["emptyDir"].is_object() {
        let limit = volume["emptyDir"]["sizeLimit"].as_str();
        let limit = limit.filter(|limit| Quantity::parse(limit).is_ok_and(|limit| limit > Quantity::of(0)));
        out.field(2, "Type", "EmptyDir (a temporary directory that shares a pod's lifetime)");
        out.field(2, "Medium", text(volume, "/emptyDir/medium"));
        out.field(2, "SizeLimit", limit.unwrap_or("<unset>"));
    } else if volume["downwardAPI"].is_object() {
        out.field(2, "Type", "DownwardAPI (a volume populated by information about the pod)\n    Items:");
        trim_tab(out);
        for item in list(volume, "/downwardAPI/items") {
            let field = match text(item, "/fieldRef/fieldPath") {
                "" => text(item, "/resourceFieldRef/resource"),
                path => path,
            };
            out.line(3, format!("{field} -> {}", text(item, "/path")));
        }
    } else if volume["projected"].is_object() {
        out.field(2, "Type", "Projected (a volume that contains injected data from multiple sources)");
        list(volume, "/projected/sources").iter().for_each(|source| projected(out, source));
    } else if volume["ephemeral"].is_object() {
        let about = "EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)";
        out.field(2, "Type", about);
        super::storage::claim_fields(out, &volume["ephemeral"]["volumeClaimTemplate"], 2);
    } else {
        out.line(1, "<unknown>");
    }
}

/// The line of items has no value of its own.
fn trim_tab(out: &mut Description) {
    if out.text.ends_with("\t\n") {
        out.text.truncate(out.text.len() - 2);
        out.text.push('\n');
    }
}

fn projected(out: &mut Description, source: &Value) {
    if source["secret"].is_object() {
        out.field(2, "SecretName", text(source, "/secret/name"));
        out.field(2, "Optional", is(source, "/secret/optional"));
    } else if source["downwardAPI"].is_object() {
        out.field(2, "DownwardAPI", true);
    } else if source["configMap"].is_object() {
        out.field(2, "ConfigMapName", text(source, "/configMap/name"));
        out.field(2, "Optional", is(source, "/configMap/optional"));
    } else if source["serviceAccountToken"].is_object() {
        let seconds = number(source, "/serviceAccountToken/expirationSeconds").unwrap_or_default();
        out.field(2, "TokenExpirationSeconds", seconds);
    }
}

fn attributes(out: &mut Description, source: &Value) {
    out.write(2, "VolumeAttributes:\t");
    let Some(attributes) = map(source, "/volumeAttributes") else {
        out.line(0, "<none>");
        return;
    };
    for (index, (name, value)) in attributes.iter().enumerate() {
        if index > 0 {
            out.write(2, "\t");
        }
        out.line(0, format!("{name}={}", show(value)));
    }
}
