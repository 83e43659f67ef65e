use serde_json::{Map, Value};

use super::Error;

/// Applies a JSON merge patch (RFC 7396): objects merge, null removes, everything else replaces.
///
/// Unlike the RFC, and as in Kubernetes: nulls in lists are kept, and fields that are null in a list's objects are
/// dropped.
///
/// # Errors
/// [`Error::Malformed`] if the patch is not an object.
pub fn merge_patch(document: Value, patch: Value) -> Result<Value, Error> {
    let type_name = match &patch {
        Value::Object(_) => return Ok(merged(document, patch)),
        Value::Null => return Err(Error::Malformed("Invalid JSON Patch".to_owned())),
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
    };
    Err(Error::Malformed(format!(
        "error decoding patch: json: cannot unmarshal {type_name} into Go value of type map[string]interface {{}}"
    )))
}

fn merged(current: Value, patch: Value) -> Value {
    match (current, patch) {
        (Value::Object(current), Value::Object(patch)) => Value::Object(merged_fields(current, patch)),
        (Value::Object(_), patch) => patch,
        (_, patch) => without_nulls(patch),
    }
}

fn merged_fields(mut current: Map<String, Value>, patch: Map<String, Value>) -> Map<String, Value> {
    for (name, value) in patch {
        match (current.remove(&name), value) {
            (_, Value::Null) => {}
            (None | Some(Value::Null), value) => {
                current.insert(name, without_nulls(value));
            }
            (Some(own), value) => {
                current.insert(name, merged(own, value));
            }
        }
    }
    current
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name, without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        scalar => scalar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn patched(document: Value, patch: Value) -> Value {
        merge_patch(document, patch).unwrap()
    }

    #[test]
    fn objects_merge_lists_are_replaced_and_null_removes() {
        let document = json!({"a": {"b": 1, "c": 2}, "l": [1, 2], "gone": 1});
        let patch = json!({"a": {"b": null, "d": 3}, "l": [3], "gone": null, "absent": null});
        assert_eq!(patched(document, patch), json!({"a": {"c": 2, "d": 3}, "l": [3]}));
    }

    #[test]
    fn nulls_in_what_is_new_are_dropped_but_not_as_items_of_lists() {
        let patch = json!({"a": {"b": null, "c": [null, {"d": null}]}});
        assert_eq!(patched(json!({}), patch), json!({"a": {"c": [null, {}]}}));
    }

    #[test]
    fn a_patch_that_is_no_object_is_malformed() {
        let error = merge_patch(json!({}), json!([])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"
        );
        assert!(merge_patch(json!({}), json!(null)).is_err());
    }
}
