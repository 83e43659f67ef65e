use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, Quantity};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use super::quota_scopes::{is_counted, scopes_changed, wrong_scopes};
use crate::built_in::built_in;
use crate::field_checks::{Wrong, quantity_not_negative};
use crate::pod_spec::{name_of_resource, whole_if_counted};

/// `resourcequotas`. In Kubernetes: `pkg/registry/core/resourcequota`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        validate: |object, _| {
            let mut wrong = wrong_amounts(object, "spec.hard");
            wrong.extend(wrong_scopes(object.at("spec")));
            wrong
        },
        validate_change: |new, old, _| scopes_changed(new, old),
        validate_status: |new, _, _| {
            let mut wrong = wrong_amounts(new, "status.hard");
            wrong.extend(wrong_amounts(new, "status.used"));
            wrong
        },
        warnings: |new, old, _| if old.is_none() { requests_above_limits(new) } else { Vec::new() },
        columns: columns(),
        ..built_in(release, "", "v1", "resourcequotas")
    }
}

/// The errors of the amounts of a list. In Kubernetes: `ValidateResourceQuotaResourceName` and
/// `ValidateResourceQuantityValue`.
fn wrong_amounts(quota: &Object, list: &str) -> Wrong {
    let mut wrong = Wrong::new();
    for (name, amount) in quota.entries(list) {
        let path = format!("{list}[{name}]");
        wrong.extend(name_of_resource(name, &path));
        if !name.contains('/') && !is_counted(name) {
            wrong.push(FieldError::invalid(&path, name.as_str(), "must be a standard resource for quota"));
        }
        wrong.extend(quantity_not_negative(amount, &path));
        wrong.extend(whole_if_counted(name, amount, &path));
    }
    wrong
}

/// The warnings about requests above the limits of the same resource.
fn requests_above_limits(object: &Object) -> Vec<String> {
    let hard = object.at("spec.hard");
    let mut warnings = Vec::new();
    for resource in ["cpu", "memory", "ephemeral-storage"] {
        let mut request = format!("requests.{resource}");
        if hard.field_named(&request).is_null() && resource != "ephemeral-storage" {
            resource.clone_into(&mut request);
        }
        let limit = format!("limits.{resource}");
        let amounts = (amount(hard.field_named(&request)), amount(hard.field_named(&limit)));
        if let (Some(requested), Some(limited)) = amounts
            && requested > limited
        {
            warnings.push(format!("ResourceQuota {request} ({requested}) should be less than {limit} ({limited})"));
        }
    }
    warnings
}

fn amount(value: &Value) -> Option<Quantity> {
    Quantity::parse(value.as_str()?).ok()
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Request",
            "Request represents a minimum amount of cpu/memory that a container may consume.",
            |object| amounts(object, |resource| !resource.starts_with("limits.")).into(),
        ),
        TableColumn::text(
            "Limit",
            "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.",
            |object| amounts(object, |resource| resource.starts_with("limits.")).into(),
        ),
        TableColumn::age(),
    ]
}

/// The used and the maximum amounts of the resources that are `shown`.
fn amounts(object: &Object, shown: fn(&str) -> bool) -> String {
    let used = object.at("status.used");
    let amount = |(resource, hard): (&String, &Value)| {
        let used = used.field_named(resource).as_str().unwrap_or("0");
        format!("{resource}: {used}/{}", hard.as_str().unwrap_or("0"))
    };
    object.entries("status.hard").filter(|(resource, _)| shown(resource)).map(amount).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_quota_counts_what_can_be_counted() {
        let quota =
            json!({"spec": {"hard": {"pods": "1500m", "storage": "1Gi", "x": "1", "a.io/gpu": "-1", "cpu": "1"}}});
        let quota = Object::from_value(quota).unwrap();
        let said: Vec<String> = wrong_amounts(&quota, "spec.hard").iter().map(FieldError::message).collect();
        assert_eq!(
            said,
            [
                "spec.hard[a.io/gpu]: Invalid value: \"-1\": must be greater than or equal to 0",
                "spec.hard[pods]: Invalid value: \"1500m\": must be an integer",
                "spec.hard[storage]: Invalid value: \"storage\": must be a standard resource for quota",
                "spec.hard[x]: Invalid value: \"x\": must be a standard resource type or fully qualified",
                "spec.hard[x]: Invalid value: \"x\": must be a standard resource for quota",
            ]
        );
    }
}
