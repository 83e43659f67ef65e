//! Values in the store as kube-apiserver writes them: protobuf messages in their envelope, or JSON.

use coracle_meta::{GroupVersion, GroupVersionKind, Object};
use serde::Deserialize;

use super::foreign;
use super::typed::{DecodedForm, Pass};
use crate::kind_schema::KindSchema;
use crate::protobuf;
use crate::text::json;
use crate::text::raw::Raw;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct TypeMeta {
    api_version: String,
    kind: String,
}

/// The kind of a stored value.
///
/// # Errors
/// The value is neither a message nor JSON, or has no kind.
pub fn kind_of_stored(value: &[u8]) -> Result<GroupVersionKind, String> {
    let TypeMeta { api_version, kind } = match protobuf::stored_type(value) {
        Some(said) => said.map(|(api_version, kind)| TypeMeta { api_version, kind })?,
        None => coracle_meta::json::from_slice(value)
            .map_err(|error| format!("it is neither protobuf nor JSON: {error}"))?,
    };
    match GroupVersion::parse(&api_version) {
        Some(version) if !api_version.is_empty() && !kind.is_empty() => Ok(version.kind(kind)),
        _ => Err("it does not say of which kind it is".to_owned()),
    }
}

/// Decodes a value of the store with the schema of its kind. Its `apiVersion` and `kind` stay.
///
/// # Errors
/// The value is truncated, or does not match its types.
pub fn decode_stored(value: &[u8], schema: &KindSchema) -> Result<Object, String> {
    let raw: Raw = match protobuf::stored_raw(value, schema) {
        Some(raw) => raw?,
        None => json::parse_stored(value)?,
    };
    let text = |name: &str| match raw.get(name) {
        Some(Raw::String(text)) => text.clone(),
        _ => String::new(),
    };
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let mut pass = Pass::new(DecodedForm::Stored);
    let tree = pass.resource(raw, schema);
    if let Some(error) = pass.error {
        return Err(error);
    }
    let mut object = Object::from_value(tree.unwrap_or_default()).map_err(|error| error.to_string())?;
    object.set("apiVersion", api_version);
    object.set("kind", kind);
    Ok(object.with_verbatim(foreign::texts(value, schema)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Table;
    use proptest::prelude::*;
    use serde_json::json;

    fn pod_kind() -> GroupVersionKind {
        GroupVersionKind::new("", "v1", "Pod")
    }

    fn pods() -> KindSchema {
        Table::newest().kind(&pod_kind()).unwrap()
    }

    fn pod() -> Object {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "creationTimestamp": null},
            "spec": {"containers": [{"name": "web", "image": "nginx", "resources": {}}]}, "status": {},
        });
        Object::from_value(pod).unwrap()
    }

    #[test]
    fn a_message_and_its_json_are_the_same_object() {
        let message = protobuf::encode(pod().tree(), &pods());
        let json = pod().as_value().to_string();
        for value in [&message, json.as_bytes()] {
            assert_eq!(kind_of_stored(value).unwrap().to_string(), pod_kind().to_string());
            let read = decode_stored(value, &pods()).unwrap();
            assert_eq!(read.field("spec.containers"), pod().field("spec.containers"));
            assert_eq!((read.kind(), read.api_version(), read.name()), ("Pod", "v1", "web"));
        }
    }

    #[test]
    fn values_that_are_not_objects_are_refused() {
        for wrong in [&b""[..], b"k8s\0", b"[]", b"{}", b"{\"kind\":\"Pod\"}", b"\x80\x02"] {
            assert!(kind_of_stored(wrong).is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn a_message_that_is_cut_or_changed_is_read_or_refused(cut in 0..200_usize, at in 0..200_usize, byte: u8) {
            let mut message = protobuf::encode(pod().tree(), &pods());
            let length = message.len();
            message[at % length] = byte;
            message.truncate(length - cut % length);
            if kind_of_stored(&message).is_ok() {
                let _ = decode_stored(&message, &pods());
            }
        }
    }
}
