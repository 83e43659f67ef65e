use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, Object};
use serde_json::Value;

use crate::cells::age;
use crate::checks::{Wrong, count_or_share, label_selector, not_more_than_all, one_of};
use crate::columns;
use crate::rules::{BY_SPEC, Rules};
use coracle_meta::fields::Fields;

/// `poddisruptionbudgets.policy`. In Kubernetes: `pkg/registry/policy/poddisruptionbudget`.
pub(crate) const POD_DISRUPTION_BUDGET: Rules = Rules {
    generation: BY_SPEC,
    // Names are not looked at, as in Kubernetes.
    name: |_| Vec::new(),
    validate: wrong,
    columns: columns::POD_DISRUPTION_BUDGET,
    cells,
    ..Rules::of("policy", "v1", "poddisruptionbudgets")
};

fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let amount = |field: &str| -> Value {
        match object.at("spec").at(field) {
            Value::Null => "N/A".into(),
            Value::String(text) => text.as_str().into(),
            number => number.to_string().into(),
        }
    };
    vec![
        object.name().into(),
        amount("minAvailable"),
        amount("maxUnavailable"),
        object.int("status.disruptionsAllowed").into(),
        age(object, now),
    ]
}

/// In Kubernetes: `ValidatePodDisruptionBudgetSpec`.
fn wrong(object: &Object) -> Wrong {
    let spec = object.at("spec");
    let mut wrong = Wrong::new();
    if spec.has("minAvailable") && spec.has("maxUnavailable") {
        // As Go prints the whole spec.
        let printed = format!(
            r#"{{"MinAvailable":{},"Selector":{},"MaxUnavailable":{},"UnhealthyPodEvictionPolicy":{}}}"#,
            spec.at("minAvailable"),
            spec.at("selector"),
            spec.at("maxUnavailable"),
            spec.at("unhealthyPodEvictionPolicy"),
        );
        let what = "minAvailable and maxUnavailable cannot be both set";
        wrong.push(FieldError::invalid("spec", spec.clone(), what).printed_as(printed));
    }
    for field in ["minAvailable", "maxUnavailable"] {
        let (value, path) = (spec.at(field), format!("spec.{field}"));
        wrong.extend(count_or_share(value, &path));
        wrong.extend(not_more_than_all(value, &path));
    }
    wrong.extend(label_selector(spec.at("selector"), "spec.selector"));
    if spec.has("unhealthyPodEvictionPolicy") {
        wrong.extend(one_of(spec, "unhealthyPodEvictionPolicy", "spec", &["AlwaysAllow", "IfHealthyBudget"]));
    }
    wrong
}
