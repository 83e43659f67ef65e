use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;

use crate::built_in::built_in;
use crate::field_checks::{Wrong, each_invalid, same};

/// `configmaps`. In Kubernetes: `pkg/registry/core/configmap`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        validate: |object, _| wrong(object),
        validate_change: |new, old, _| wrong_immutable_data(new, old, &["data", "binaryData"]),
        columns: columns(),
        ..built_in(release, "", "v1", "configmaps")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Data",
            "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap with the keys in the BinaryData field, this is enforced during validation process.",
            |object| (object.entries("data").count() + object.entries("binaryData").count()).into(),
        ),
        TableColumn::age(),
    ]
}

/// The maximum total size of the values of one object. In Kubernetes: `MaxSecretSize`.
const MOST_BYTES: usize = 1 << 20;

fn wrong(object: &Object) -> Wrong {
    let mut wrong = Wrong::new();
    for (key, _) in object.entries("data") {
        let path = format!("data[{key}]");
        wrong.extend(each_invalid(&path, key, names::config_map_key(key)));
        if object.at("binaryData").get(key).is_some() {
            wrong.push(FieldError::invalid(path, key.as_str(), "duplicate of key present in binaryData"));
        }
    }
    for (key, _) in object.entries("binaryData") {
        wrong.extend(each_invalid(&format!("binaryData[{key}]"), key, names::config_map_key(key)));
    }
    let texts = object.entries("data").filter_map(|(_, value)| value.as_str()).map(str::len);
    let bytes = object.entries("binaryData").filter_map(|(_, value)| value.as_str()).map(decoded_size);
    if texts.chain(bytes).sum::<usize>() > MOST_BYTES {
        wrong.push(FieldError::too_long("", MOST_BYTES));
    }
    wrong
}

/// The decoded length of a base64 text, in bytes.
pub(super) fn decoded_size(text: &str) -> usize {
    text.len() / 4 * 3 - text.bytes().rev().take_while(|sign| *sign == b'=').count().min(text.len() / 4)
}

/// The errors of a change of an immutable object, including the marker.
pub(super) fn wrong_immutable_data(new: &Object, old: &Object, fields: &[&str]) -> Wrong {
    if !old.flag("immutable") {
        return Wrong::new();
    }
    let what = "field is immutable when `immutable` is set";
    let mut wrong = Wrong::new();
    if !new.flag("immutable") {
        wrong.push(FieldError::forbidden("immutable", what));
    }
    let changed = fields.iter().filter(|field| !same(new.at(field), old.at(field)));
    wrong.extend(changed.map(|field| FieldError::forbidden(*field, what)));
    wrong
}
