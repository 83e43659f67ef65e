//! Embedded resources (`x-kubernetes-embedded-resource`): their type and metadata are those of the API, independently
//! of the schema. In Kubernetes: `apiserver/schema/objectmeta`.

use coracle_meta::{FieldError, names};
use serde_json::{Map, Value};

use super::node::Structural;
use super::path::push_below;

impl Structural {
    /// Calls `visit` for every embedded resource in a value, with its path: `spec.template`, `spec.list[0]`.
    pub(crate) fn each_embedded(
        &self,
        value: &mut Value,
        path: &mut String,
        visit: &mut dyn FnMut(&mut Map<String, Value>, &str),
    ) {
        if !self.holds_embedded {
            return;
        }
        match value {
            Value::Object(fields) => {
                if self.embedded_resource {
                    visit(fields, path);
                }
                for (name, value) in fields {
                    let Some(below) = self.field(name) else { continue };
                    let dot = if path.is_empty() { "" } else { "." };
                    within(path, dot, name, "", |path| below.each_embedded(value, path, visit));
                }
            }
            Value::Array(items) => {
                let Some(below) = &self.items else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    within(path, "[", &index.to_string(), "]", |path| below.each_embedded(item, path, visit));
                }
            }
            _ => {}
        }
    }

    /// The errors in the types of embedded resources.
    pub fn embedded_errors(&self, resource: &Map<String, Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if self.holds_embedded {
            self.check_fields(resource, &mut String::new(), &mut errors);
        }
        errors
    }

    fn check_embedded(&self, value: &Value, path: &mut String, errors: &mut Vec<FieldError>) {
        if !self.holds_embedded {
            return;
        }
        match value {
            Value::Object(fields) => {
                if self.embedded_resource {
                    check_type(fields, path, errors);
                }
                self.check_fields(fields, path, errors);
            }
            Value::Array(items) => {
                let Some(below) = &self.items else { return };
                for (index, item) in items.iter().enumerate() {
                    within(path, "[", &index.to_string(), "]", |path| below.check_embedded(item, path, errors));
                }
            }
            _ => {}
        }
    }

    fn check_fields(&self, fields: &Map<String, Value>, path: &mut String, errors: &mut Vec<FieldError>) {
        for (name, value) in fields {
            let Some(below) = self.field(name) else { continue };
            let (before, after) = match (path.is_empty(), self.properties.contains_key(name)) {
                (true, true) => ("", ""),
                (false, true) => (".", ""),
                (_, false) => ("[", "]"),
            };
            within(path, before, name, after, |path| below.check_embedded(value, path, errors));
        }
    }
}

/// Runs `run` with the path extended by one step.
fn within(path: &mut String, before: &str, name: &str, after: &str, run: impl FnOnce(&mut String)) {
    let length = push_below(path, before, name, after);
    run(path);
    path.truncate(length);
}

/// In Kubernetes: `validateEmbeddedResource`.
fn check_type(resource: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) {
    for field in ["apiVersion", "kind"] {
        let at = format!("{path}.{field}");
        match resource.get(field) {
            None => errors.push(FieldError::required(at, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(at, "", "must not be empty"));
            }
            Some(Value::String(text)) if field == "kind" => {
                let wrong = names::dns1035_label(&text.to_lowercase());
                if !wrong.is_empty() {
                    let what = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
                    errors.push(FieldError::invalid(at, text.as_str(), what));
                }
            }
            Some(Value::String(text)) if text.split('/').count() > 2 => {
                errors.push(FieldError::invalid(at, text.as_str(), format!("unexpected GroupVersion string: {text}")));
            }
            Some(Value::String(_)) => {}
            Some(other) => errors.push(FieldError::invalid(at, other.clone(), "must be a string")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Structural {
        Structural::from_json(&json!({"type": "object", "properties": {
            "template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
            "more": {"type": "object", "additionalProperties": {"type": "array", "items":
                {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}}}
        }}))
    }

    #[test]
    fn every_resource_within_has_to_say_what_it_is() {
        let resource =
            json!({"template": {"apiVersion": "a/b/c", "kind": "Not A Kind"}, "more": {"k": [{"kind": ""}]}});
        let errors = schema().embedded_errors(resource.as_object().unwrap());
        let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
        assert_eq!(fields, ["more[k][0].apiVersion", "more[k][0].kind", "template.apiVersion", "template.kind"]);
        let well = json!({"template": {"apiVersion": "v1", "kind": "Pod"}});
        assert!(schema().embedded_errors(well.as_object().unwrap()).is_empty());
    }
}
