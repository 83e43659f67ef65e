use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use super::csi_driver::wrong_driver_name;
use crate::built_in::{SPEC_AND_METADATA, built_in};
use crate::field_checks::{Wrong, each_invalid, immutable, join};

/// `volumeattachments`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        validate: wrong,
        validate_change: |new, old, _| immutable(new, old, "spec"),
        validate_status: |new, _, release| wrong_status(new.at("status"), release),
        reset_by_status: SPEC_AND_METADATA,
        columns: columns(),
        ..built_in(release, "storage.k8s.io", "v1", "volumeattachments")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Attacher",
            "attacher indicates the name of the volume driver that MUST handle this request. This is the name returned by GetPluginName().",
            |object| object.text("spec.attacher").into(),
        ).of_names(),
        TableColumn::text(
            "PV",
            "persistentVolumeName represents the name of the persistent volume to attach.",
            |object| object.text("spec.source.persistentVolumeName").into(),
        ),
        TableColumn::text(
            "Node",
            "nodeName represents the node that the volume should be attached to.",
            |object| object.text("spec.nodeName").into(),
        ),
        TableColumn::boolean(
            "Attached",
            "attached indicates the volume is successfully attached. This field must only be set by the entity completing the attach operation, i.e. the external-attacher.",
            |object| object.flag("status.attached").into(),
        ),
        TableColumn::age(),
    ]
}

fn wrong(object: &Object, release: &Release) -> Wrong {
    const EXACTLY_ONE: &str = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    let spec = object.at("spec");
    let attacher = spec.text("attacher");
    let mut wrong: Wrong = wrong_driver_name(attacher, "spec.attacher").into_iter().map(FieldError::declared).collect();
    // In older releases, two separate checks report this.
    if attacher.is_empty() && !release.has("OneCauseForAMissingAttacher") {
        wrong.push(FieldError::required("spec.attacher", ""));
    }
    let source = spec.at("source");
    let path = "spec.source";
    match (source.has("inlineVolumeSpec"), source.at("persistentVolumeName").as_str()) {
        (false, None) => wrong.push(FieldError::required(path, EXACTLY_ONE)),
        (true, Some(_)) => wrong.push(FieldError::forbidden(path, EXACTLY_ONE)),
        (false, Some("")) => {
            let what = "must specify non empty persistentVolumeName";
            wrong.push(FieldError::required(join(path, "persistentVolumeName"), what));
        }
        _ => {}
    }
    if let Some(volume) = source.at("persistentVolumeName").as_str() {
        let path = join(path, "persistentVolumeName");
        wrong.extend(each_invalid(&path, volume, names::dns1123_subdomain(volume)));
    }
    let node = spec.text("nodeName");
    wrong.extend(each_invalid("spec.nodeName", node, names::dns1123_subdomain(node)));
    wrong
}

const MOST_METADATA: usize = 256 << 10;
const LONGEST_MESSAGE: usize = 1024;

/// In Kubernetes: `validateVolumeAttachmentStatus`.
fn wrong_status(status: &Value, release: &Release) -> Wrong {
    let mut wrong = Wrong::new();
    let metadata = status.entries("attachmentMetadata");
    let size: usize = metadata.map(|(name, value)| name.len() + value.as_str().map_or(0, str::len)).sum();
    if size > MOST_METADATA {
        wrong.push(FieldError::too_long("status.attachmentMetadata", MOST_METADATA));
    }
    for name in ["attachError", "detachError"] {
        let error = status.at(name);
        if error.text("message").len() > LONGEST_MESSAGE {
            // Older releases report the limit of the metadata here.
            let limit = if release.has("VolumeErrorsNameTheirLimit") { LONGEST_MESSAGE } else { MOST_METADATA };
            wrong.push(FieldError::too_long(format!("status.{name}.message"), limit));
        }
        let code = error.int("errorCode");
        if code < 0 {
            let what = format!("must be between 0 and {}, inclusive", i32::MAX);
            wrong.push(FieldError::invalid(format!("status.{name}.errorCode"), code, what));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(object: Value) -> Vec<String> {
        wrong(&Object::from_value(object).unwrap(), &Release::default()).iter().map(FieldError::message).collect()
    }

    #[test]
    fn an_attachment_has_one_source() {
        let said = messages(json!({"spec": {"attacher": "a.b", "nodeName": "n", "source": {}}}));
        let want = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
        assert_eq!(said, [format!("spec.source: Required value: {want}")]);
    }
}
