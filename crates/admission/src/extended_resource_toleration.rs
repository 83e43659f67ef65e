use std::collections::BTreeSet;

use async_trait::async_trait;
use coracle_meta::fields::{Fields, FieldsMut, edit_spec};
use coracle_meta::{Object, Status, names};
use coracle_registry::{Admission, Operation, Review};
use serde_json::{Value, json};

/// `ExtendedResourceToleration`: a pod that requests an extended resource tolerates the taint of nodes with it.
pub(crate) struct ExtendedResourceToleration;

#[async_trait]
impl Admission for ExtendedResourceToleration {
    fn name(&self) -> &'static str {
        "ExtendedResourceToleration"
    }

    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        if !review.is_about("", "pods") {
            return Ok(());
        }
        let missing = review.object().map(missing).unwrap_or_default();
        if missing.is_empty() {
            return Ok(());
        }
        let Some(pod) = review.object_mut() else { return Ok(()) };
        edit_spec(pod, |spec| {
            spec.fill("tolerations", json!([]));
            if let Some(Value::Array(tolerations)) = spec.get_mut("tolerations") {
                tolerations.extend(missing);
            }
        });
        Ok(())
    }
}

/// The missing tolerations for the requested resources of a pod.
fn missing(pod: &Object) -> Vec<Value> {
    let spec = pod.at("spec");
    let containers = spec.list("containers").iter().chain(spec.list("initContainers"));
    let asked: BTreeSet<&String> = containers
        .flat_map(|container| container.entries("resources.requests"))
        .map(|(name, _)| name)
        .filter(|name| names::is_extended_resource(name))
        .collect();
    let is_alike = |own: &&Value| {
        own.text("operator") == "Exists" && own.text("effect") == "NoSchedule" && own.text("value").is_empty()
    };
    let known: BTreeSet<&str> = spec.list("tolerations").iter().filter(is_alike).map(|own| own.text("key")).collect();
    let missing = asked.iter().filter(|name| !known.contains(name.as_str()));
    missing.map(|name| json!({"key": name, "operator": "Exists", "effect": "NoSchedule"})).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_tolerated_once() {
        let mut pod = json!({"spec": {"containers": [
            {"resources": {"requests": {"example.com/gpu": "1", "cpu": "1", "kubernetes.io/x": "1"}}},
            {"resources": {"requests": {"example.com/gpu": "2"}}}
        ]}});
        let toleration = json!({"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"});
        let read = |pod: &Value| Object::from_value(pod.clone()).unwrap();
        assert_eq!(missing(&read(&pod)), std::slice::from_ref(&toleration));
        pod["spec"]["tolerations"] = json!([toleration]);
        assert!(missing(&read(&pod)).is_empty());
    }
}
