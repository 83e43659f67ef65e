use coracle_meta::{FieldError, Object};
use coracle_schema::patch::go_type;
use serde_json::{Map, Value};

use crate::named_texts::{annotation_errors, label_errors};

/// Restores the metadata of a converted object, except the labels and annotations in the response.
/// In Kubernetes: `restoreObjectMeta`.
pub(super) fn restore(original: &Object, converted: &mut Object) -> Result<(), String> {
    let answered = converted.field("metadata").cloned();
    let Some(answered) = answered else { return Err("missing metadata in converted object".to_owned()) };
    let Value::Object(mut answered) = answered else {
        let found = go_type(&answered);
        return Err(format!("invalid metadata of type {found} in converted object"));
    };
    let mut metadata = original.field("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    for field in ["labels", "annotations"] {
        match answered.remove(field) {
            None | Some(Value::Null) => {
                metadata.remove(field);
            }
            Some(Value::Object(told)) => {
                check(field, &told, metadata.get(field))?;
                metadata.insert(field.to_owned(), Value::Object(told));
            }
            Some(other) => {
                let found = go_type(&other);
                return Err(format!("invalid metadata.{field} of type {found} in converted object"));
            }
        }
    }
    converted.set("metadata", metadata);
    Ok(())
}

/// Changed labels or annotations must be valid.
fn check(field: &str, told: &Map<String, Value>, before: Option<&Value>) -> Result<(), String> {
    for (name, value) in told {
        if !value.is_string() {
            let found = go_type(value);
            return Err(format!("metadata.{field}[{name}] must be a string, but is {found} in converted object"));
        }
    }
    let nothing = Map::new();
    if before.and_then(Value::as_object).unwrap_or(&nothing) == told {
        return Ok(());
    }
    let wrong = match field {
        "labels" => label_errors(Some(told), "metadata.labels"),
        // The path is Kubernetes' own.
        _ => annotation_errors(Some(told), "metadata.annotation"),
    };
    let messages: Vec<String> = wrong.iter().map(FieldError::message).collect();
    match &messages[..] {
        [] => Ok(()),
        [single] => Err(single.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn restored(metadata: Value) -> Result<Value, String> {
        let original = json!({"metadata": {"name": "x", "labels": {"a b": "old"}, "annotations": {"c": "d"}}});
        let original = Object::from_value(original).unwrap();
        let mut converted = Object::from_value(json!({"metadata": metadata})).unwrap();
        restore(&original, &mut converted).map(|()| converted.as_value()["metadata"].clone())
    }

    #[test]
    fn labels_and_annotations_that_a_conversion_changed_have_to_be_well_formed() {
        assert_eq!(
            restored(json!({"name": "y", "labels": {"a b": "old"}})),
            Ok(json!({"name": "x", "labels": {"a b": "old"}}))
        );
        let wrong = restored(json!({"labels": {"a b": "new"}})).unwrap_err();
        assert!(wrong.starts_with("metadata.labels: Invalid value: \"a b\": name part must consist of"), "{wrong}");
        let wrong = restored(json!({"annotations": {"a b": "new"}})).unwrap_err();
        assert!(wrong.starts_with("metadata.annotation: Invalid value: \"a b\": name part must consist of"), "{wrong}");
        for (metadata, expected) in [
            (json!({"labels": {"a": 1}}), "metadata.labels[a] must be a string, but is int64 in converted object"),
            (json!({"labels": []}), "invalid metadata.labels of type []interface {} in converted object"),
        ] {
            assert_eq!(restored(metadata), Err(expected.to_owned()));
        }
    }
}
