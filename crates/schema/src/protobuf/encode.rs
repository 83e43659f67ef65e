//! Encodes a JSON tree as a message. Unknown fields and `null` are left out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::wire::{put_bytes, put_double, put_int};
use crate::go_time::{GoTime, Layout};
use crate::table::{Field, Special, TypeNode, TypeRef};

/// Encodes an object as a message of its type. Values of another type are left out.
pub(crate) fn object(tree: &Map<String, Value>, ty: TypeRef<'_>, out: &mut Vec<u8>) {
    let Some(body) = ty.as_struct() else { return };
    let is_present =
        |field: &&Field| !field.tags.is_empty() && tree.get(&field.name).is_some_and(|value| !value.is_null());
    let mut present: Vec<&Field> = body.fields.iter().filter(is_present).collect();
    present.sort_by(|a, b| a.tags.cmp(&b.tags));
    put_struct(&present, 0, tree, ty, out);
}

pub(crate) fn message(value: &Value, ty: TypeRef<'_>, out: &mut Vec<u8>) {
    match (ty.node(), value) {
        (TypeNode::Struct(_), Value::Object(tree)) => object(tree, ty, out),
        (TypeNode::Special(special), value) => put_special(value, special, ty, out),
        (TypeNode::List, Value::Array(elements)) => {
            let Some(element) = ty.element() else { return };
            elements.iter().for_each(|value| put_value(value, 1, element, out));
        }
        _ => {}
    }
}

/// Encodes fields sorted by their tags, of which the first `depth` are already written.
fn put_struct(fields: &[&Field], depth: usize, tree: &Map<String, Value>, ty: TypeRef<'_>, out: &mut Vec<u8>) {
    for together in fields.chunk_by(|a, b| a.tags[depth] == b.tags[depth]) {
        let tag = together[0].tags[depth];
        if together[0].tags.len() > depth + 1 {
            let mut embedded = Vec::new();
            put_struct(together, depth + 1, tree, ty, &mut embedded);
            put_bytes(out, tag, &embedded);
            continue;
        }
        for field in together {
            put_field(&tree[&field.name], tag, TypeRef::new(ty.table(), &field.shape), out);
        }
    }
}

fn put_field(value: &Value, tag: u32, ty: TypeRef<'_>, out: &mut Vec<u8>) {
    match (ty.node(), ty.element(), value) {
        (TypeNode::List, Some(element), Value::Array(elements)) => {
            elements.iter().for_each(|value| put_value(value, tag, element, out));
        }
        (TypeNode::Map, Some(element), Value::Object(entries)) => {
            for (key, value) in entries {
                let mut entry = Vec::new();
                put_bytes(&mut entry, 1, key.as_bytes());
                put_value(value, 2, element, &mut entry);
                put_bytes(out, tag, &entry);
            }
        }
        _ => put_value(value, tag, ty, out),
    }
}

fn put_value(value: &Value, tag: u32, ty: TypeRef<'_>, out: &mut Vec<u8>) {
    match (ty.node(), value) {
        (TypeNode::String, Value::String(text)) => put_bytes(out, tag, text.as_bytes()),
        (TypeNode::Bytes, Value::String(text)) => put_bytes(out, tag, &STANDARD.decode(text).unwrap_or_default()),
        (TypeNode::Bool, Value::Bool(value)) => put_int(out, tag, i64::from(*value)),
        (TypeNode::Int32 | TypeNode::Int64, Value::Number(number)) => {
            put_int(out, tag, number.as_i64().unwrap_or_default())
        }
        (TypeNode::Double, Value::Number(number)) => put_double(out, tag, number.as_f64().unwrap_or_default()),
        (TypeNode::Struct(_) | TypeNode::Special(_) | TypeNode::List, value) => {
            let mut inner = Vec::new();
            message(value, ty, &mut inner);
            put_bytes(out, tag, &inner);
        }
        _ => {}
    }
}

fn put_special(value: &Value, special: Special, ty: TypeRef<'_>, out: &mut Vec<u8>) {
    match (special, value) {
        (_, Value::Null) => {}
        (Special::Quantity, Value::String(text)) => put_bytes(out, 1, text.as_bytes()),
        (Special::Quantity, value) => put_bytes(out, 1, value.to_string().as_bytes()),
        (Special::IntOrString, Value::String(text)) => {
            put_int(out, 1, 1);
            put_int(out, 2, 0);
            put_bytes(out, 3, text.as_bytes());
        }
        (Special::IntOrString, value) => {
            put_int(out, 1, 0);
            put_int(out, 2, value.as_i64().unwrap_or_default());
            put_bytes(out, 3, b"");
        }
        (Special::Time | Special::MicroTime, value) => {
            let layout = if special == Special::MicroTime { Layout::Micros } else { Layout::Seconds };
            let Some(time) = value.as_str().and_then(|text| GoTime::read_printed(text, layout)) else { return };
            put_int(out, 1, time.seconds());
            put_int(out, 2, i64::from(time.nanos()));
        }
        (Special::RawExtension | Special::FieldsV1 | Special::Json, value) => {
            put_bytes(out, 1, value.to_string().as_bytes());
        }
        (Special::SchemaOrBool, Value::Bool(allows)) => put_int(out, 1, i64::from(*allows)),
        (Special::SchemaOrBool, schema) => {
            put_int(out, 1, 1);
            put_schema(schema, 2, ty, out);
        }
        (Special::SchemaOrArray, Value::Array(schemas)) => {
            schemas.iter().for_each(|schema| put_schema(schema, 2, ty, out));
        }
        (Special::SchemaOrStrings, Value::Array(texts)) => {
            texts.iter().filter_map(Value::as_str).for_each(|text| put_bytes(out, 2, text.as_bytes()));
        }
        (Special::SchemaOrArray | Special::SchemaOrStrings, schema) => put_schema(schema, 1, ty, out),
        (Special::Patch, _) => {}
    }
}

fn put_schema(value: &Value, tag: u32, ty: TypeRef<'_>, out: &mut Vec<u8>) {
    let mut inner = Vec::new();
    if let Some(schema) = ty.json_schema() {
        message(value, schema, &mut inner);
    }
    put_bytes(out, tag, &inner);
}
