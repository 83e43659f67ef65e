use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, LabelSelector, Object, Status};
use coracle_schema::patch::go_type;
use serde_json::{Value, json};

use crate::{BodyKind, Column, Projection, table};

/// `/scale` of a kind: the current and desired replicas, and their selector.
///
/// In Kubernetes: `ScaleREST` of `pkg/registry/apps/*/storage` and of `registry/customresource`.
#[derive(Clone, Debug)]
pub struct Scale {
    desired: Vec<String>,
    current: Vec<String>,
    selector: Option<(SelectorForm, Vec<String>)>,
}

/// The form of a kind's selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectorForm {
    /// `{matchLabels, matchExpressions}`
    LabelSelector,
    /// A map of labels, as in ReplicationControllers.
    Labels,
    /// The selector in text form, as in custom resources.
    Text,
}

impl Scale {
    /// The scale of a built-in kind: `spec.replicas`, `status.replicas` and `spec.selector` in this form.
    pub fn of_replicas(selector: SelectorForm) -> Self {
        let path = |path: [&str; 2]| path.map(str::to_owned).to_vec();
        let selector = Some((selector, path(["spec", "selector"])));
        Self { desired: path(["spec", "replicas"]), current: path(["status", "replicas"]), selector }
    }

    /// The scale of a custom kind, which defines the paths: steps from the root.
    pub fn at(desired: Vec<String>, current: Vec<String>, selector: Option<Vec<String>>) -> Self {
        Self { desired, current, selector: selector.map(|path| (SelectorForm::Text, path)) }
    }

    /// The errors of the counts in the scale of `object`.
    pub fn wrong_counts(&self, object: &Object) -> Vec<FieldError> {
        [&self.desired, &self.current].into_iter().filter_map(|path| wrong_count(object, path)).collect()
    }

    fn selector(&self, object: &Object) -> Result<String, Status> {
        let Some((form, path)) = &self.selector else { return Ok(String::new()) };
        let path = path.as_slice();
        match form {
            SelectorForm::Text => Ok(object.text(path).to_owned()),
            SelectorForm::Labels => Ok(LabelSelector::of_labels(&object.text_map(path)).to_string()),
            SelectorForm::LabelSelector => {
                let selector = LabelSelector::from_json(object.field(path).filter(|selector| !selector.is_null()));
                Ok(selector.map_err(|error| Status::bad_request(error.to_string()))?.to_string())
            }
        }
    }
}

/// The integer at a path, 0 if the field is missing; an error if the value has another type.
fn number_at(object: &Object, path: &[String]) -> Result<i64, String> {
    match object.field(path) {
        None | Some(Value::Null) => Ok(0),
        Some(value) => value.as_i64().ok_or_else(|| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!(".{} accessor error: {text} is of the type {}, expected int64", path.join("."), go_type(value))
        }),
    }
}

fn wrong_count(object: &Object, path: &[String]) -> Option<FieldError> {
    let field = format!(".{}", path.join("."));
    match number_at(object, path) {
        Err(why) => Some(FieldError::invalid(field, 0, why)),
        Ok(count) if count < 0 => Some(FieldError::invalid(field, count, "should be a non-negative integer")),
        Ok(count) if count > i64::from(i32::MAX) => {
            let most = format!("should be less than or equal to {}", i32::MAX);
            Some(FieldError::invalid(field, count, most))
        }
        Ok(_) => None,
    }
}

impl Projection for Scale {
    fn name(&self) -> &str {
        "scale"
    }

    fn body(&self) -> BodyKind {
        BodyKind::built_in("autoscaling", "v1", "Scale")
    }

    fn show(&self, object: &Object) -> Result<Object, Status> {
        let mut scale = Object::of_kind(&self.body().gvk);
        for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
            if let Some(value) = object.field(&["metadata", field]) {
                scale.set(&["metadata", field], value.clone());
            }
        }
        let desired = number_at(object, &self.desired).map_err(Status::internal)?;
        let current = number_at(object, &self.current).map_err(Status::internal)?;
        scale.set("spec", if desired == 0 { json!({}) } else { json!({"replicas": desired}) });
        scale.set("status", json!({"replicas": current}));
        let selector = self.selector(object)?;
        if !selector.is_empty() {
            scale.set("status.selector", selector);
        }
        Ok(scale)
    }

    fn columns(&self) -> Vec<Column> {
        let number = |name, description| Column::new(name, "integer", description);
        vec![
            Column::name(),
            number("Desired", "replicas is the desired number of instances for the scaled object."),
            number("Available", "replicas is the actual number of observed instances of the scaled object."),
            Column::age(),
        ]
    }

    fn cells(&self, shown: &Object, now: Timestamp) -> Vec<Value> {
        let replicas = |part: &str| Value::from(shown.number(&[part, "replicas"]).unwrap_or(0));
        let age = table::age(shown, now);
        vec![shown.name().into(), replicas("spec"), replicas("status"), age.into()]
    }

    fn validate(&self, body: &Object) -> Vec<FieldError> {
        let replicas = body.number("spec.replicas").unwrap_or(0);
        if replicas >= 0 {
            return Vec::new();
        }
        vec![FieldError::invalid("spec.replicas", replicas, "must be greater than or equal to 0")]
    }

    fn write(&self, object: &mut Object, body: &Object) -> Result<(), Status> {
        object.set(self.desired.as_slice(), body.number("spec.replicas").unwrap_or(0));
        Ok(())
    }

    fn replicas_path(&self) -> Vec<String> {
        self.desired.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_shows_and_writes_the_replicas() {
        let set = json!({
            "metadata": {"name": "web", "labels": {"a": "b"}},
            "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}},
            "status": {"replicas": 2},
        });
        let mut set = Object::from_value(set).unwrap();
        let of_sets = Scale::of_replicas(SelectorForm::LabelSelector);
        let mut scale = of_sets.show(&set).unwrap();
        let names: Vec<_> = of_sets.columns().into_iter().map(|column| column.name).collect();
        assert_eq!(names, ["Name", "Desired", "Available", "Age"]);
        let cells = of_sets.cells(&scale, Timestamp::UNIX_EPOCH);
        assert_eq!(cells, [json!("web"), json!(3), json!(2), json!("<unknown>")]);
        assert_eq!(scale.field("status"), Some(&json!({"replicas": 2, "selector": "app=web"})));
        assert_eq!(scale.field("metadata"), Some(&json!({"name": "web"})));
        scale.set("spec.replicas", 5);
        of_sets.write(&mut set, &scale).unwrap();
        assert_eq!(set.number("spec.replicas"), Some(5));
    }

    #[test]
    fn invalid_counts_are_found() {
        let path = |name: &str| vec!["spec".to_owned(), name.to_owned()];
        let scale = Scale::at(path("wanted"), path("there"), None);
        let object = Object::from_value(json!({"spec": {"wanted": "three", "there": -1}})).unwrap();
        let wrong: Vec<String> = scale.wrong_counts(&object).into_iter().map(|error| error.message()).collect();
        assert_eq!(
            wrong,
            [
                ".spec.wanted: Invalid value: 0: .spec.wanted accessor error: three is of the type string, expected int64",
                ".spec.there: Invalid value: -1: should be a non-negative integer",
            ]
        );
    }
}
