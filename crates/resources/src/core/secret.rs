use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_meta::fields::{Fields, FieldsMut};
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{KindSpec, TableColumn, restore};
use coracle_release::Release;
use coracle_schema::decode::{Format, parse};
use serde_json::Value;

use crate::built_in::built_in;
use crate::field_checks::{Wrong, each_invalid, immutable};
use crate::pem_block::PemBlock;

/// `secrets`. In Kubernetes: `pkg/registry/core/secret`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, _| {
            object.edit(|tree| tree.fill_text("type", "Opaque"));
            merge_string_data(object);
        },
        prepare_update: |new, old, _, _| {
            if new.text("type").is_empty() {
                restore(new, old, "type");
            }
        },
        validate: |object, _| wrong(object),
        warnings: |secret, _, _| key_pair_warnings(secret),
        validate_change: |new, old, _| {
            let mut wrong = immutable(new, old, "type");
            wrong.extend(super::config_map::wrong_immutable_data(new, old, &["data"]));
            wrong
        },
        selectable: Some(&["type"]),
        columns: columns(),
        ..built_in(release, "", "v1", "secrets")
    }
}

/// `stringData` is write-only; its values replace those of `data`.
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
        // One of them suffices, so the errors are reported only if both are missing.
        "kubernetes.io/basic-auth" if data.get("username").is_none() && data.get("password").is_none() => {
            ["username", "password"].into_iter().for_each(require);
        }
        "kubernetes.io/ssh-auth" => require("ssh-privatekey"),
        "kubernetes.io/tls" => ["tls.crt", "tls.key"].into_iter().for_each(require),
        _ => {}
    }
    wrong
}

/// A required value that must be JSON.
fn wrong_document(data: &Value, key: &str) -> Wrong {
    let path = format!("data[{key}]");
    let Some(text) = data.get(key).and_then(Value::as_str) else { return vec![FieldError::required(path, "")] };
    let bytes = STANDARD.decode(text).unwrap_or_default();
    let kind = match parse(&bytes, Format::Json) {
        Ok((Value::Object(_) | Value::Null, _)) => return Wrong::new(),
        Ok((Value::Array(_), _)) => "array",
        Ok((Value::String(_), _)) => "string",
        Ok((Value::Number(_), _)) => "number",
        Ok((Value::Bool(_), _)) => "bool",
        Err(why) => return vec![FieldError::invalid(path, "<secret contents redacted>", why)],
    };
    let why = format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}");
    vec![FieldError::invalid(path, "<secret contents redacted>", why)]
}

/// The warnings about a certificate and a key that are not a pair, as far as their PEM shows it.
/// In Kubernetes: `warningsForSecret`, `tls.X509KeyPair`.
fn key_pair_warnings(secret: &Object) -> Vec<String> {
    if secret.text("type") != "kubernetes.io/tls" {
        return Vec::new();
    }
    let blocks = |key: &str| {
        let text = secret.at("data").get(key).and_then(Value::as_str).unwrap_or_default();
        labels(&STANDARD.decode(text).unwrap_or_default())
    };
    let is_key = |name: &String| name == "PRIVATE KEY" || name.ends_with(" PRIVATE KEY");
    let (certificate, key) = (blocks("tls.crt"), blocks("tls.key"));
    let skipped =
        |blocks: &[String]| format!("after skipping PEM blocks of the following types: [{}]", blocks.join(" "));
    let why = match (certificate.as_slice(), key.as_slice()) {
        ([], _) => "failed to find any PEM data in certificate input".to_owned(),
        ([single], _) if single.ends_with("PRIVATE KEY") => {
            "failed to find certificate PEM data in certificate input, but did find a private key; \
             PEM inputs may have been switched"
                .to_owned()
        }
        (blocks, _) if !blocks.iter().any(|name| name == "CERTIFICATE") => {
            format!("failed to find \"CERTIFICATE\" PEM block in certificate input {}", skipped(blocks))
        }
        (_, []) => "failed to find any PEM data in key input".to_owned(),
        (_, [single]) if single == "CERTIFICATE" => {
            "found a certificate rather than a key in the PEM for the private key".to_owned()
        }
        (_, blocks) if !blocks.iter().any(is_key) => {
            let what = "failed to find PEM block with type ending in \"PRIVATE KEY\" in key input";
            format!("{what} {}", skipped(blocks))
        }
        _ => return Vec::new(),
    };
    vec![format!("tls: {why}")]
}

/// The labels of the PEM blocks in a text.
fn labels(mut text: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    while let Some((block, rest)) = PemBlock::first(text) {
        found.push(block.label);
        text = rest;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn secret(kind: &str, data: &[(&str, &str)]) -> Object {
        let data: serde_json::Map<_, _> =
            data.iter().map(|(key, text)| ((*key).to_owned(), Value::from(STANDARD.encode(text)))).collect();
        Object::from_value(json!({"metadata": {"name": "s"}, "type": kind, "data": data})).unwrap()
    }

    #[test]
    fn a_document_that_is_no_json_is_refused_in_gos_words() {
        for (text, why) in [
            ("x", "invalid character 'x' looking for beginning of value"),
            ("{", "unexpected end of JSON input"),
            ("[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ] {
            let errors = wrong(&secret("kubernetes.io/dockerconfigjson", &[(".dockerconfigjson", text)]));
            assert_eq!(errors.iter().map(|error| error.detail.as_str()).collect::<Vec<_>>(), [why]);
        }
    }

    #[test]
    fn an_invalid_certificate_and_key_return_warnings() {
        let warnings = |certificate: &str, key: &str| {
            key_pair_warnings(&secret("kubernetes.io/tls", &[("tls.crt", certificate), ("tls.key", key)]))
        };
        let block = |name: &str| format!("text\n-----BEGIN {name}-----\nYWJj\n-----END {name}-----\n");
        let (certificate, key) = (block("CERTIFICATE"), block("EC PRIVATE KEY"));
        assert_eq!(warnings("a", ""), ["tls: failed to find any PEM data in certificate input"]);
        assert_eq!(warnings(&certificate, "x"), ["tls: failed to find any PEM data in key input"]);
        let switched = "tls: failed to find certificate PEM data in certificate input, but did find a private key; \
            PEM inputs may have been switched";
        assert_eq!(warnings(&key, &certificate), [switched]);
        let both = "tls: found a certificate rather than a key in the PEM for the private key";
        assert_eq!(warnings(&certificate, &certificate), [both]);
        let other = "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the \
            following types: [A B]";
        assert_eq!(warnings(&(block("A") + &block("B")), &key), [other]);
        assert!(warnings(&certificate, &(block("EC PARAMETERS") + &key)).is_empty());
        assert!(key_pair_warnings(&secret("Opaque", &[("tls.crt", "a")])).is_empty());
    }
}
