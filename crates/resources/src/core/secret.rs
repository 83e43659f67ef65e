use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_meta::fields::{Fields, FieldsMut};
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{KindSpec, TableColumn, restore};
use serde_json::Value;

use crate::built_in::built_in;
use crate::field_checks::{Wrong, each_invalid, immutable};

/// `secrets`. In Kubernetes: `pkg/registry/core/secret`.
pub(crate) fn kind() -> KindSpec {
    KindSpec {
        set_defaults: |object| {
            object.edit(|tree| tree.fill_text("type", "Opaque"));
            merge_string_data(object);
        },
        prepare_update: |new, old, _| {
            if new.text("type").is_empty() {
                restore(new, old, "type");
            }
        },
        validate: wrong,
        validate_change: |new, old| {
            let mut wrong = immutable(new, old, "type");
            wrong.extend(super::config_map::wrong_immutable_data(new, old, &["data"]));
            wrong
        },
        selectable: Some(&["type"]),
        columns: columns(),
        ..built_in("", "v1", "secrets")
    }
}

/// `stringData` is only ever written; its values replace those of `data`.
fn merge_string_data(object: &mut Object) {
    let Some(Value::Object(texts)) = object.remove("stringData") else { return };
    object.edit(|tree| {
        if let Some(data) = tree.object_made("data") {
            for (key, text) in texts {
                let bytes = text.as_str().unwrap_or_default();
                data.insert(key, STANDARD.encode(bytes).into());
            }
        }
    });
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Type",
            "Used to facilitate programmatic handling of secret data. More info: https://kubernetes.io/docs/concepts/configuration/secret/#secret-types",
            |object| object.text("type").into(),
        ),
        TableColumn::text(
            "Data",
            "Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly non-string) data value here. Described in https://tools.ietf.org/html/rfc4648#section-4",
            |object| object.entries("data").count().into(),
        ),
        TableColumn::age(),
    ]
}

fn wrong(object: &Object) -> Wrong {
    let mut wrong = Wrong::new();
    let mut size = 0;
    for (key, value) in object.entries("data") {
        wrong.extend(each_invalid(&format!("data[{key}]"), key, names::config_map_key(key)));
        size += super::config_map::decoded_size(value.as_str().unwrap_or_default());
    }
    if size > 1 << 20 {
        wrong.push(FieldError::too_long("data", 1 << 20));
    }
    let data = object.at("data");
    let mut require = |key: &str| {
        if data.get(key).is_none() {
            wrong.push(FieldError::required(format!("data[{key}]"), ""));
        }
    };
    match object.text("type") {
        "kubernetes.io/service-account-token" => {
            const ACCOUNT: &str = "kubernetes.io/service-account.name";
            if object.annotation(ACCOUNT).is_none_or(str::is_empty) {
                wrong.push(FieldError::required(format!("metadata.annotations[{ACCOUNT}]"), ""));
            }
        }
        "kubernetes.io/dockercfg" => wrong.extend(wrong_document(data, ".dockercfg")),
        "kubernetes.io/dockerconfigjson" => wrong.extend(wrong_document(data, ".dockerconfigjson")),
        // Either alone would do, so both are missed only together.
        "kubernetes.io/basic-auth" if data.get("username").is_none() && data.get("password").is_none() => {
            ["username", "password"].into_iter().for_each(require);
        }
        "kubernetes.io/ssh-auth" => require("ssh-privatekey"),
        "kubernetes.io/tls" => ["tls.crt", "tls.key"].into_iter().for_each(require),
        _ => {}
    }
    wrong
}

/// A value that has to be there and to be JSON.
fn wrong_document(data: &Value, key: &str) -> Wrong {
    let path = format!("data[{key}]");
    let Some(text) = data.get(key).and_then(Value::as_str) else { return vec![FieldError::required(path, "")] };
    let bytes = STANDARD.decode(text).unwrap_or_default();
    match serde_json::from_slice::<Value>(&bytes) {
        Ok(Value::Object(_)) => Wrong::new(),
        Ok(_) => vec![FieldError::invalid(path, "<secret contents redacted>", "must be a JSON object")],
        Err(error) => vec![FieldError::invalid(path, "<secret contents redacted>", error.to_string())],
    }
}
