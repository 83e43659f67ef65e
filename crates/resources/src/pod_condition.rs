use coracle_meta::Object;
use coracle_meta::fields::{Fields, FieldsMut};
use serde_json::{Value, json};

/// Sets a condition of a pod; the transition time is that of the last change of its status.
/// In Kubernetes: `podutil.UpdatePodCondition`.
pub(crate) fn update_condition(pod: &mut Object, condition: &Value, now: &str) {
    let mut condition = condition.clone();
    if let Some(tree) = condition.as_object_mut() {
        tree.fill("lastProbeTime", Value::Null);
        tree.fill("lastTransitionTime", now);
    }
    let kind = condition.text("type").to_owned();
    pod.edit(|tree| {
        let Some(status) = tree.object_made("status") else { return };
        status.fill("conditions", json!([]));
        let Some(Value::Array(conditions)) = status.get_mut("conditions") else { return };
        match conditions.iter_mut().find(|own| own.text("type") == kind) {
            Some(own) => {
                if own.text("status") == condition.text("status") {
                    condition["lastTransitionTime"] = own.at("lastTransitionTime").clone();
                }
                *own = condition;
            }
            None => conditions.push(condition),
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_keeps_its_time_while_its_status_stays() {
        let mut pod = Object::default();
        update_condition(&mut pod, &json!({"type": "Ready", "status": "True"}), "1");
        update_condition(&mut pod, &json!({"type": "Ready", "status": "True"}), "2");
        assert_eq!(pod.list("status.conditions")[0].text("lastTransitionTime"), "1");
        update_condition(&mut pod, &json!({"type": "Ready", "status": "False"}), "3");
        assert_eq!(pod.list("status.conditions")[0].text("lastTransitionTime"), "3");
    }
}
