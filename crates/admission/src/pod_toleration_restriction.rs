use async_trait::async_trait;
use coracle_meta::fields::{Fields, edit_spec};
use coracle_meta::{GroupResource, Object, Quantity, Status};
use coracle_registry::{Admission, Operation, Review};
use serde_json::{Value, json};

use crate::lookup::{core, get};
use crate::tolerations::{are_allowed, merged};

/// `PodTolerationRestriction`: the pods of a namespace get the default tolerations of its annotation, and can only have
/// tolerations that its annotation allows. Without annotations, the configuration applies.
#[derive(Default)]
pub(crate) struct PodTolerationRestriction {
    default: Vec<Value>,
    allowed: Vec<Value>,
}

const DEFAULTS: &str = "scheduler.alpha.kubernetes.io/defaultTolerations";
const ALLOWED: &str = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";

impl PodTolerationRestriction {
    /// Reads `podtolerationrestriction.admission.k8s.io/v1alpha1.Configuration`.
    pub(crate) fn new(configuration: &Value) -> Self {
        Self { default: configuration.list("default").to_vec(), allowed: configuration.list("whitelist").to_vec() }
    }
}

#[async_trait]
impl Admission for PodTolerationRestriction {
    fn name(&self) -> &'static str {
        "PodTolerationRestriction"
    }

    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        if !review.is_about("", "pods") {
            return Ok(());
        }
        let mut more = Vec::new();
        if review.operation == Operation::Create {
            more = of_namespace(review, DEFAULTS).await?.unwrap_or_else(|| self.default.clone());
        }
        if review.object().is_some_and(asks_for_something) {
            let pressure = "node.kubernetes.io/memory-pressure";
            more.push(json!({"key": pressure, "operator": "Exists", "effect": "NoSchedule"}));
        }
        let own = review.object().map_or(&[][..], |pod| pod.list("spec.tolerations"));
        let all = merged(own, &more);
        if more.is_empty() || all == own {
            return Ok(());
        }
        if let Some(pod) = review.object_mut() {
            edit_spec(pod, |spec| {
                spec.insert("tolerations".to_owned(), all.into());
            });
        }
        Ok(())
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        let own = review.object().map_or(&[][..], |pod| pod.list("spec.tolerations"));
        if !review.is_about("", "pods") || own.is_empty() {
            return Ok(());
        }
        let (allowed, scope) = match of_namespace(review, ALLOWED).await? {
            Some(allowed) => (allowed, "namespace"),
            None => (self.allowed.clone(), "cluster"),
        };
        if are_allowed(own, &allowed) {
            return Ok(());
        }
        let what = "pod tolerations (possibly merged with namespace default tolerations) conflict with its";
        Err(Status::internal(format!("{what} {scope} whitelist")))
    }
}

/// The tolerations in an annotation of the namespace; `None` if it has none.
async fn of_namespace(review: &Review<'_>, annotation: &str) -> Result<Option<Vec<Value>>, Status> {
    let name = review.request.at.namespace.as_str();
    let Some(namespace) = get(review, core("namespaces"), "", name).await? else {
        return Err(Status::not_found(&GroupResource::new("", "namespaces"), name));
    };
    match namespace.annotation(annotation) {
        None => Ok(None),
        Some("") => Ok(Some(Vec::new())),
        Some(text) => serde_json::from_str(text).map(Some).map_err(|error| Status::internal(error.to_string())),
    }
}

/// Whether a pod is not of the class `BestEffort`.
fn asks_for_something(pod: &Object) -> bool {
    let spec = pod.at("spec");
    let containers = spec.list("containers").iter().chain(spec.list("initContainers")).chain([spec]);
    let mut amounts =
        containers.flat_map(|part| part.entries("resources.requests").chain(part.entries("resources.limits")));
    amounts.any(|(name, amount)| {
        let amount = amount.as_str().and_then(|text| Quantity::parse(text).ok());
        ["cpu", "memory"].contains(&name.as_str()) && amount.is_some_and(|amount| !amount.is_zero())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_that_asks_for_nothing_gets_no_toleration_of_pressure() {
        let pod =
            |resources: Value| Object::from_value(json!({"spec": {"containers": [{"resources": resources}]}})).unwrap();
        assert!(!asks_for_something(&pod(json!({}))));
        assert!(!asks_for_something(&pod(json!({"requests": {"cpu": "0", "example.com/gpu": "1"}}))));
        assert!(asks_for_something(&pod(json!({"limits": {"memory": "1Gi"}}))));
    }
}
