use async_trait::async_trait;
use coracle_meta::Status;
use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_spec};
use coracle_registry::{Admission, Operation, Review};
use serde_json::{Value, json};

/// `DefaultTolerationSeconds`: pods stay for five minutes on a node that is not ready or cannot be reached.
pub(crate) struct DefaultTolerationSeconds;

const SECONDS: i64 = 300;

#[async_trait]
impl Admission for DefaultTolerationSeconds {
    fn name(&self) -> &'static str {
        "DefaultTolerationSeconds"
    }

    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        if review.is_about("", "pods")
            && let Some(pod) = &mut review.object
        {
            edit_spec(pod, |spec| {
                tolerate(spec, "node.kubernetes.io/not-ready");
                tolerate(spec, "node.kubernetes.io/unreachable");
            });
        }
        Ok(())
    }
}

fn tolerate(spec: &mut Tree, taint: &str) {
    let covers = |toleration: &Value| {
        matches!(toleration.text("effect"), "" | "NoExecute")
            && (toleration.text("key").is_empty() || toleration.text("key") == taint)
    };
    if spec.list("tolerations").iter().any(covers) {
        return;
    }
    spec.fill("tolerations", json!([]));
    if let Some(Value::Array(tolerations)) = spec.get_mut("tolerations") {
        let toleration =
            json!({"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS});
        tolerations.push(toleration);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_that_tolerates_everything_gets_nothing_more() {
        let mut spec = json!({"tolerations": [{"operator": "Exists"}]}).as_object().unwrap().clone();
        tolerate(&mut spec, "a");
        assert_eq!(spec.list("tolerations").len(), 1);
        let mut spec = Tree::new();
        tolerate(&mut spec, "a");
        tolerate(&mut spec, "a");
        assert_eq!(spec.list("tolerations").len(), 1);
    }
}
