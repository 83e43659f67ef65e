use coracle_meta::Object;
use serde_json::Value;

/// The text of the value at a dotted path: a text itself, numbers and booleans as in JSON, otherwise empty.
pub(crate) fn text_at(object: &Object, path: &str) -> String {
    match object.field(path) {
        Some(Value::String(text)) => text.clone(),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
        _ => String::new(),
    }
}
