//! Reading parts of objects, which may be missing.

use serde_json::{Map, Value};

/// The text at a JSON pointer; empty without one.
pub(crate) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The whole number at a JSON pointer.
pub(crate) fn number(value: &Value, pointer: &str) -> Option<i64> {
    value.pointer(pointer).and_then(Value::as_i64)
}

/// The items of the list at a JSON pointer.
pub(crate) fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The object at a JSON pointer.
pub(crate) fn map<'v>(value: &'v Value, pointer: &str) -> Option<&'v Map<String, Value>> {
    value.pointer(pointer).and_then(Value::as_object).filter(|map| !map.is_empty())
}

/// Whether `true` stands at a JSON pointer.
pub(crate) fn is(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer) == Some(&Value::Bool(true))
}

/// A scalar as Go prints it with `%v`.
pub(crate) fn show(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}

/// The name of an object.
pub(crate) fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

/// The namespace of an object; empty without one.
pub(crate) fn namespace(object: &Value) -> &str {
    text(object, "/metadata/namespace")
}
