use async_trait::async_trait;
use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_spec};
use coracle_meta::{Object, Status};
use coracle_registry::{Admission, Operation, Review};
use serde_json::{Value, json};

/// `DefaultTolerationSeconds`: pods tolerate a node that is not ready or unreachable for some time.
#[derive(Clone, Copy, Debug)]
pub struct DefaultTolerationSeconds {
    /// Seconds on a node that is not ready. In Kubernetes: `--default-not-ready-toleration-seconds`.
    pub not_ready: i64,
    /// Seconds on an unreachable node. In Kubernetes: `--default-unreachable-toleration-seconds`.
    pub unreachable: i64,
}

impl Default for DefaultTolerationSeconds {
    /// Five minutes.
    fn default() -> Self {
        Self { not_ready: 300, unreachable: 300 }
    }
}

#[async_trait]
impl Admission for DefaultTolerationSeconds {
    fn name(&self) -> &'static str {
        "DefaultTolerationSeconds"
    }

    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        if !review.is_about("", "pods") {
            return Ok(());
        }
        for (taint, seconds) in
            [("node.kubernetes.io/not-ready", self.not_ready), ("node.kubernetes.io/unreachable", self.unreachable)]
        {
            if review.object().is_some_and(|pod| !tolerates(pod, taint))
                && let Some(pod) = review.object_mut()
            {
                edit_spec(pod, |spec| tolerate(spec, taint, seconds));
            }
        }
        Ok(())
    }
}

fn tolerates(pod: &Object, taint: &str) -> bool {
    let covers = |toleration: &Value| {
        matches!(toleration.text("effect"), "" | "NoExecute")
            && (toleration.text("key").is_empty() || toleration.text("key") == taint)
    };
    pod.list("spec.tolerations").iter().any(covers)
}

fn tolerate(spec: &mut Tree, taint: &str, seconds: i64) {
    spec.fill("tolerations", json!([]));
    if let Some(Value::Array(tolerations)) = spec.get_mut("tolerations") {
        let toleration =
            json!({"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds});
        tolerations.push(toleration);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_that_tolerates_everything_gets_nothing_more() {
        let pod = |spec: Value| Object::from_value(json!({ "spec": spec })).unwrap();
        assert!(tolerates(&pod(json!({"tolerations": [{"operator": "Exists"}]})), "a"));
        assert!(!tolerates(&pod(json!({"tolerations": [{"key": "b", "operator": "Exists"}]})), "a"));
        let mut spec = Tree::new();
        tolerate(&mut spec, "a", 7);
        assert!(tolerates(&pod(Value::Object(spec)), "a"));
    }
}
