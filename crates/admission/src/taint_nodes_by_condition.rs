use async_trait::async_trait;
use coracle_meta::Status;
use coracle_meta::fields::{Fields, FieldsMut, edit_spec};
use coracle_registry::{Admission, Operation, Review};
use serde_json::{Value, json};

/// `TaintNodesByCondition`: a new node gets the taint `not-ready`, so that no pods are scheduled before its conditions
/// are known.
pub(crate) struct TaintNodesByCondition;

const NOT_READY: &str = "node.kubernetes.io/not-ready";

#[async_trait]
impl Admission for TaintNodesByCondition {
    fn name(&self) -> &'static str {
        "TaintNodesByCondition"
    }

    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        if !review.is_about("", "nodes") {
            return Ok(());
        }
        if let Some(node) = review.object_mut() {
            let taints = node.list("spec.taints").iter();
            if !taints.clone().any(|taint| taint.text("key") == NOT_READY && taint.text("effect") == "NoSchedule") {
                edit_spec(node, |spec| {
                    spec.fill("taints", json!([]));
                    if let Some(Value::Array(taints)) = spec.get_mut("taints") {
                        taints.push(json!({"key": NOT_READY, "effect": "NoSchedule"}));
                    }
                });
            }
        }
        Ok(())
    }
}
