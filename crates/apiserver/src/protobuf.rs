use std::sync::Arc;

use coracle_meta::{GroupVersion, GroupVersionKind, Object, Status};
use coracle_registry::Kind;
use coracle_schema::{KindSchema, Table, protobuf};
use serde_json::{Map, Value};

/// A value of a kind that the table knows, in protobuf with its envelope: a Status, DeleteOptions, a discovery document.
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

/// An object, or its metadata, of `kind` or of what a subresource of it shows.
///
/// The message of `PartialObjectMetadata` is that of any kind with all fields but the metadata left out.
pub(crate) fn object(kind: &Kind, object: &Object) -> Result<Vec<u8>, Status> {
    let shown = object.group_version_kind().unwrap_or_default();
    let other = Some(shown).filter(|shown| shown != kind.gvk()).and_then(|shown| Table::v1_35().kind(&shown));
    Ok(protobuf::encode(object.tree(), other.as_ref().unwrap_or(kind.schema())))
}

/// A list of objects, or of their metadata, under its head.
pub(crate) fn list(kind: &Kind, head: Map<String, Value>, items: Vec<Arc<Object>>) -> Result<Vec<u8>, Status> {
    let schema = list_schema(kind)?;
    let mut tree = head;
    tree.insert("items".into(), items.iter().map(|item| item.to_value()).collect());
    Ok(protobuf::encode(&tree, &schema))
}

fn list_schema(kind: &Kind) -> Result<KindSchema, Status> {
    let row = kind.row();
    let list = GroupVersionKind { kind: row.list_kind.clone(), ..row.kind.clone() };
    let missing = || Status::internal(format!("there is no protobuf message of {list}"));
    Table::v1_35().kind(&list).ok_or_else(missing)
}
