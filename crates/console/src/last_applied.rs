//! The annotation in which `apply` keeps the configuration that it applied last.
//!
//! In Kubernetes: `kubectl/pkg/util/apply.go`.

use serde_json::{Map, Value};

use crate::printer::compact;

/// The name of the annotation.
pub(crate) const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The configuration that was applied last; `None` if the object has none.
pub(crate) fn original(object: &Value) -> Option<&str> {
    object["metadata"]["annotations"][ANNOTATION].as_str()
}

/// The object with its own configuration in the annotation.
pub(crate) fn annotated(object: &Value) -> Value {
    let mut object = object.clone();
    let Some(annotations) = annotations(&mut object) else { return object };
    annotations.remove(ANNOTATION);
    let configuration = compact(&object) + "\n";
    if let Some(annotations) = self::annotations(&mut object) {
        annotations.insert(ANNOTATION.to_owned(), configuration.into());
    }
    object
}

/// The annotations of an object, to change; they exist afterwards.
pub(crate) fn annotations(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let metadata = object.as_object_mut()?.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    let annotations = metadata.as_object_mut()?.entry("annotations").or_insert(Value::Null);
    if annotations.is_null() {
        *annotations = Value::Object(Map::new());
    }
    annotations.as_object_mut()
}

/// Removes nulls. In Kubernetes: `apply.pruneNullsFromMap`.
pub(crate) fn prune_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(prune_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(prune_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_annotation_holds_the_object_without_the_annotation() {
        let once = annotated(&json!({"kind": "A", "metadata": {"name": "a"}, "x": "<"}));
        let configuration = "{\"kind\":\"A\",\"metadata\":{\"annotations\":{},\"name\":\"a\"},\"x\":\"\\u003c\"}\n";
        assert_eq!(original(&once), Some(configuration));
        assert_eq!(annotated(&once), once);
    }
}
