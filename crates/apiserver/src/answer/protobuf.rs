use std::sync::LazyLock;

use coracle_meta::{GroupVersion, GroupVersionKind, Object};
use coracle_registry::Kind;
use coracle_schema::{KindSchema, Table, protobuf};
use serde_json::{Map, Value};

/// Encodes a value of a kind in the type table in protobuf with its envelope: a list, metadata, a Status.
pub(crate) fn encode(value: &Value) -> Vec<u8> {
    let empty = Map::new();
    let tree = value.as_object().unwrap_or(&empty);
    match schema(tree) {
        Some(schema) => protobuf::encode(tree, &schema),
        None => Vec::new(),
    }
}

/// The schema of the kind of a tree. The discovery documents of the core group have no version; theirs is `v1`.
pub(crate) fn schema(tree: &Map<String, Value>) -> Option<KindSchema> {
    let text = |name: &str| tree.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let mut version = GroupVersion::parse(text("apiVersion").unwrap_or("v1"))?;
    // The metadata of both versions is the same message. The table has the newer version.
    if version.group == "meta.k8s.io" && version.version == "v1beta1" {
        version.version = "v1".into();
    }
    Table::newest().kind(&version.kind(text("kind")?))
}

/// Converts the JSON of `PartialObjectMetadata` to a message without an envelope.
pub(crate) fn metadata(json: &[u8]) -> Vec<u8> {
    static SCHEMA: LazyLock<Option<KindSchema>> = LazyLock::new(|| {
        let kind = GroupVersionKind::new("meta.k8s.io", "v1", "PartialObjectMetadata");
        Table::newest().kind(&kind)
    });
    let schema = SCHEMA.as_ref().expect("the table has the kind");
    protobuf::transcode(json, schema).expect("the server has written the JSON")
}

/// Encodes an object of `kind`, or another representation of it, such as a subresource.
pub(crate) fn object(kind: &Kind, object: &Object) -> Vec<u8> {
    let shown = object.group_version_kind().unwrap_or_default();
    let other = Some(shown).filter(|shown| shown != kind.gvk()).and_then(|shown| kind.schema().beside(&shown));
    protobuf::encode(object.tree(), other.as_ref().unwrap_or(kind.schema()))
}
