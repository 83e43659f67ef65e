use coracle_meta::{FieldError, GroupVersionKind, Object, Status};
use serde_json::{Value, json};

use super::definition::ScalePaths;
use crate::Projection;

/// `/scale` of a custom kind. In Kubernetes: `ScaleREST` in `registry/customresource`.
#[derive(Debug)]
pub(super) struct Scale {
    paths: ScalePaths,
}

impl Scale {
    pub(super) fn new(paths: ScalePaths) -> Self {
        Self { paths }
    }
}

/// The whole number at a path, 0 if there is none; an error if something else is there.
pub(super) fn number_at(object: &Object, path: &[String]) -> Result<i64, String> {
    let steps: Vec<&str> = path.iter().map(String::as_str).collect();
    match object.field(&steps) {
        None | Some(Value::Null) => Ok(0),
        Some(value) => value.as_i64().ok_or_else(|| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!(".{} accessor error: {text} is of the type {}, expected int64", path.join("."), go_type(value))
        }),
    }
}

/// What Go calls the type of a JSON value.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// What is wrong with the counts that a scale would show.
pub(super) fn count_errors(object: &Object, path: &[String]) -> Vec<FieldError> {
    let field = format!(".{}", path.join("."));
    match number_at(object, path) {
        Err(why) => vec![FieldError::invalid(field, 0, why)],
        Ok(count) if count < 0 => vec![FieldError::invalid(field, count, "should be a non-negative integer")],
        Ok(count) if count > i64::from(i32::MAX) => {
            vec![FieldError::invalid(field, count, format!("should be less than or equal to {}", i32::MAX))]
        }
        Ok(_) => Vec::new(),
    }
}

impl Projection for Scale {
    fn name(&self) -> &str {
        "scale"
    }

    fn kind(&self) -> GroupVersionKind {
        GroupVersionKind::new("autoscaling", "v1", "Scale")
    }

    fn show(&self, object: &Object) -> Result<Object, Status> {
        let mut scale = Object::of_kind(&self.kind());
        for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
            if let Some(value) = object.field(&["metadata", field]) {
                scale.set(&["metadata", field], value.clone());
            }
        }
        let desired = number_at(object, &self.paths.desired).map_err(Status::internal)?;
        let current = number_at(object, &self.paths.current).map_err(Status::internal)?;
        scale.set(&["spec"], if desired == 0 { json!({}) } else { json!({"replicas": desired}) });
        scale.set(&["status"], json!({"replicas": current}));
        if let Some(path) = &self.paths.selector {
            let steps: Vec<&str> = path.iter().map(String::as_str).collect();
            let selector = object.text(&steps);
            if !selector.is_empty() {
                scale.set(&["status", "selector"], selector);
            }
        }
        Ok(scale)
    }

    fn validate(&self, body: &Object) -> Vec<FieldError> {
        let replicas = body.number(&["spec", "replicas"]).unwrap_or(0);
        if replicas >= 0 {
            return Vec::new();
        }
        vec![FieldError::invalid("spec.replicas", replicas, "must be greater than or equal to 0")]
    }

    fn write(&self, object: &mut Object, body: &Object) -> Result<(), Status> {
        let steps: Vec<&str> = self.paths.desired.iter().map(String::as_str).collect();
        object.set(&steps, body.number(&["spec", "replicas"]).unwrap_or(0));
        Ok(())
    }

    fn replicas_path(&self) -> Vec<String> {
        self.paths.desired.clone()
    }
}
