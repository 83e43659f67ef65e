//! Labels and annotations.

use coracle_meta::{FieldError, names};
use serde_json::{Map, Value};

/// The maximum total size of an object's annotations, in bytes.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// The errors of the labels at a path. In Kubernetes: `ValidateLabels`.
pub(crate) fn label_errors(labels: Option<&Map<String, Value>>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in labels.into_iter().flatten() {
        let wrong = names::qualified_name(key).into_iter();
        errors.extend(wrong.map(|what| FieldError::invalid(path, key.as_str(), what)));
        let value = value.as_str().unwrap_or("");
        let wrong = names::label_value(value).into_iter();
        errors.extend(wrong.map(|what| FieldError::invalid(path, value, what)));
    }
    errors
}

/// The errors of the annotations at a path. In Kubernetes: `ValidateAnnotations`.
pub(crate) fn annotation_errors(annotations: Option<&Map<String, Value>>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut bytes = 0;
    for (key, value) in annotations.into_iter().flatten() {
        bytes += key.len() + value.as_str().map_or(0, str::len);
        let wrong = names::qualified_name(&key.to_lowercase()).into_iter();
        errors.extend(wrong.map(|what| FieldError::invalid(path, key.as_str(), what)));
    }
    if bytes > ANNOTATIONS_LIMIT {
        errors.push(FieldError::too_long(path, ANNOTATIONS_LIMIT));
    }
    errors
}
