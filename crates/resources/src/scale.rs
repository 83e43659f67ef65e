use coracle_meta::{FieldError, GroupVersionKind, LabelSelector, Object, Status};
use coracle_registry::Projection;
use serde_json::{Value, json};

use coracle_meta::fields::Fields;

/// The `scale` subresource of the kinds that make pods: how many there are and should be.
/// In Kubernetes: `ScaleREST` of `pkg/registry/apps/*/storage`.
pub(crate) struct Scale {
    selector: SelectorForm,
}

/// How a kind writes its selector.
#[derive(Clone, Copy)]
enum SelectorForm {
    /// A label selector.
    LabelSelector,
    /// A map of labels, as replication controllers do.
    Labels,
}

impl Scale {
    /// Of a kind whose selector is a label selector.
    pub(crate) fn by_label_selector() -> Self {
        Self { selector: SelectorForm::LabelSelector }
    }

    /// Of a kind whose selector is a map of labels.
    pub(crate) fn by_labels() -> Self {
        Self { selector: SelectorForm::Labels }
    }

    fn selector(&self, object: &Object) -> Result<String, Status> {
        let selector = object.at("spec.selector");
        match self.selector {
            SelectorForm::Labels => Ok(LabelSelector::of_labels(&object.text_map(&["spec", "selector"])).to_string()),
            SelectorForm::LabelSelector => {
                let selector = LabelSelector::from_json((!selector.is_null()).then_some(selector));
                Ok(selector.map_err(|error| Status::bad_request(error.to_string()))?.to_string())
            }
        }
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
        let desired = object.int("spec.replicas");
        scale.set(&["spec"], if desired == 0 { json!({}) } else { json!({"replicas": desired}) });
        let mut status = json!({"replicas": object.int("status.replicas")});
        let selector = self.selector(object)?;
        if !selector.is_empty() {
            status["selector"] = selector.into();
        }
        scale.set(&["status"], status);
        Ok(scale)
    }

    fn validate(&self, body: &Object) -> Vec<FieldError> {
        let replicas = body.int("spec.replicas");
        if replicas >= 0 {
            return Vec::new();
        }
        vec![FieldError::invalid("spec.replicas", replicas, "must be greater than or equal to 0")]
    }

    fn write(&self, object: &mut Object, body: &Object) -> Result<(), Status> {
        object.set(&["spec", "replicas"], Value::from(body.int("spec.replicas")));
        Ok(())
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
        let mut scale = Scale::by_label_selector().show(&set).unwrap();
        assert_eq!(scale.at("status"), &json!({"replicas": 2, "selector": "app=web"}));
        assert_eq!(scale.at("metadata"), &json!({"name": "web"}));
        scale.set(&["spec", "replicas"], 5);
        Scale::by_label_selector().write(&mut set, &scale).unwrap();
        assert_eq!(set.int("spec.replicas"), 5);
    }
}
