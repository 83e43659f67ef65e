//! ConfigMaps and Secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::labels::metadata;
use super::{Description, Facts, events};
use crate::values::{map, name, namespace, show, text};

fn begin(object: &Value) -> Description {
    let mut out = Description::default();
    out.field(0, "Name", name(object));
    out.field(0, "Namespace", namespace(object));
    metadata(&mut out, object);
    out
}

fn decoded(value: &Value) -> Vec<u8> {
    STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default()
}

pub(super) fn config_map(object: &Value, facts: &Facts) -> Description {
    let mut out = begin(object);
    out.line(0, "\nData\n====");
    for (key, value) in map(object, "/data").into_iter().flatten() {
        out.line(0, format!("{key}:\n----"));
        out.line(0, show(value));
        out.line(0, "");
    }
    out.line(0, "\nBinaryData\n====");
    for (key, value) in map(object, "/binaryData").into_iter().flatten() {
        out.line(0, format!("{key}: {} bytes", decoded(value).len()));
    }
    out.line(0, "");
    events::describe(&mut out, facts);
    out
}

pub(super) fn secret(object: &Value) -> Description {
    let mut out = begin(object);
    let kind = text(object, "/type");
    out.line(0, format!("\nType:\t{kind}"));
    out.line(0, "\nData\n====");
    for (key, value) in map(object, "/data").into_iter().flatten() {
        let bytes = decoded(value);
        if key == "token" && kind == "kubernetes.io/service-account-token" {
            out.field(0, key, String::from_utf8_lossy(&bytes));
        } else {
            out.field(0, key, format!("{} bytes", bytes.len()));
        }
    }
    out
}
