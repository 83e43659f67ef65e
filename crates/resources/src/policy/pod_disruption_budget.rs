use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use crate::built_in::built_in;
use crate::conditions::wrong_conditions;
use crate::field_checks::{Wrong, count_or_share, label_selector, not_more_than_all, one_of};
use crate::status_counts::wrong_counts;

/// `poddisruptionbudgets.policy`. In Kubernetes: `pkg/registry/policy/poddisruptionbudget`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        // Names are not validated, as in Kubernetes.
        name: |_| Vec::new(),
        validate: |object, _| wrong(object),
        validate_status: |new, _, release| {
            let mut wrong = wrong_conditions(new.list("status.conditions"), "status.conditions", release);
            let counts = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];
            wrong.extend(wrong_counts(new, &counts));
            wrong
        },
        columns: columns(),
        takes_any_finalizer: true,
        ..built_in(release, "policy", "v1", "poddisruptionbudgets")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text("Min Available", "The minimum number of pods that must be available.", |object| {
            amount(object.at("spec.minAvailable"))
        }),
        TableColumn::text("Max Unavailable", "The maximum number of pods that may be unavailable.", |object| {
            amount(object.at("spec.maxUnavailable"))
        }),
        TableColumn::integer(
            "Allowed Disruptions",
            "Calculated number of pods that may be disrupted at this time.",
            |object| object.int("status.disruptionsAllowed").into(),
        ),
        TableColumn::age(),
    ]
}

fn amount(count_or_share: &Value) -> Value {
    match count_or_share {
        Value::Null => "N/A".into(),
        Value::String(text) => text.as_str().into(),
        number => number.to_string().into(),
    }
}

/// In Kubernetes: `ValidatePodDisruptionBudgetSpec`.
fn wrong(object: &Object) -> Wrong {
    let spec = object.at("spec");
    let mut wrong = Wrong::new();
    if spec.has("minAvailable") && spec.has("maxUnavailable") {
        // Go's format of the whole spec.
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
