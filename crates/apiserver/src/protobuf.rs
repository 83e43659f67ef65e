use coracle_meta::{GroupVersion, Object};
use coracle_registry::Kind;
use coracle_schema::{Table, protobuf};
use serde_json::{Map, Value};

/// A value of a kind that the table knows, in protobuf with its envelope: a list, metadata, a Status.
pub(crate) fn encode(value: &Value) -> Vec<u8> {
    let empty = Map::new();
    let tree = value.as_object().unwrap_or(&empty);
    let text = |name: &str| tree.get(name).and_then(Value::as_str).unwrap_or_default();
    let kind = GroupVersion::parse(text("apiVersion")).unwrap_or_default().kind(text("kind"));
    match Table::v1_35().kind(&kind) {
        Some(schema) => protobuf::encode(tree, &schema),
        None => Vec::new(),
    }
}

/// An object of `kind`, or of what a subresource of it or a client's wish makes of it.
pub(crate) fn object(kind: &Kind, object: &Object) -> Vec<u8> {
    let shown = object.group_version_kind().unwrap_or_default();
    let other = Some(shown).filter(|shown| shown != kind.gvk()).and_then(|shown| Table::v1_35().kind(&shown));
    protobuf::encode(object.tree(), other.as_ref().unwrap_or(kind.schema()))
}
