//! The scopes of a quota. In Kubernetes: `validateResourceQuotaScopes` and `validateScopeSelector`.

use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object};
use serde_json::Value;

use crate::field_checks::{Quoting, Wrong};

const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
];
const PODS: [&str; 7] = ["pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];

/// The errors of the scopes of a quota, listed or selected.
pub(super) fn wrong_scopes(spec: &Value) -> Wrong {
    let mut wrong = wrong_list(spec);
    if spec.has("scopeSelector") {
        wrong.extend(wrong_selector(spec));
    }
    wrong
}

/// Scopes are immutable except for their order.
pub(super) fn scopes_changed(new: &Object, old: &Object) -> Wrong {
    const PATH: &str = "spec.scopes";
    let scopes = |quota: &Object| -> BTreeSet<String> { quota.texts(PATH).into_iter().collect() };
    if scopes(new) == scopes(old) {
        return Wrong::new();
    }
    vec![FieldError::invalid(PATH, new.at(PATH).clone(), "field is immutable")]
}

fn wrong_list(spec: &Value) -> Wrong {
    let scopes = spec.list("scopes");
    let mut quoting = Quoting::new(spec.at("scopes"));
    let mut refused = |what: &str| quoting.invalid("spec.scopes", what);
    let unfit = unfit_resources(spec);
    let mut wrong = Wrong::new();
    for scope in scopes.iter().filter_map(Value::as_str) {
        if !SCOPES.contains(&scope) {
            wrong.extend(refused("unsupported scope"));
        }
        let unfit = unfit.get(scope).copied().unwrap_or_default();
        wrong.extend((0..unfit).map_while(|_| refused("unsupported scope applied to resource")));
    }
    let conflicts = conflicts(scopes.iter().filter_map(Value::as_str));
    wrong.extend((0..conflicts).map_while(|_| refused("conflicting scopes")));
    wrong
}

fn wrong_selector(spec: &Value) -> Wrong {
    const PATH: &str = "spec.scopeSelector.matchExpressions";
    let at = |field: &str| format!("{PATH}.{field}");
    let requirements = spec.list("scopeSelector.matchExpressions");
    let print = || printed(requirements);
    let mut quoting = Quoting::new(spec.at("scopeSelector")).printed_as(&print);
    let unfit = unfit_resources(spec);
    let mut wrong = Wrong::new();
    for requirement in requirements {
        let (scope, operator) = (requirement.text("scopeName"), requirement.text("operator"));
        if !SCOPES.contains(&scope) {
            wrong.push(FieldError::invalid(at("scopeName"), scope, "unsupported scope"));
        }
        let unfit = unfit.get(scope).copied().unwrap_or_default();
        wrong.extend((0..unfit).map_while(|_| quoting.invalid(PATH, "unsupported scope applied to resource")));
        let has_values = !matches!(scope, "PriorityClass" | "VolumeAttributesClass");
        if SCOPES.contains(&scope) && has_values && operator != "Exists" {
            let what = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
            wrong.push(FieldError::invalid(at("operator"), operator, what));
        }
        let values = requirement.list("values");
        match operator {
            "In" | "NotIn" if values.is_empty() => {
                let what = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                wrong.push(FieldError::required(at("values"), what));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let what = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                wrong.push(FieldError::invalid(at("values"), values, what));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => wrong.push(FieldError::invalid(at("operator"), other, "not a valid selector operator")),
        }
    }
    let scopes = requirements.iter().map(|requirement| requirement.text("scopeName"));
    // Kubernetes shows the listed scopes here, too.
    let listed = spec.at("scopes").clone();
    wrong.extend((0..conflicts(scopes)).map(|_| FieldError::invalid(PATH, listed.clone(), "conflicting scopes")));
    wrong
}

/// The number of resources of a quota to which each scope does not apply. In Kubernetes:
/// `IsResourceQuotaScopeValidForResource`.
fn unfit_resources(spec: &Value) -> BTreeMap<&'static str, usize> {
    let fits = |scope: &str, resource: &str| match scope {
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        _ => PODS.contains(&resource),
    };
    let counted: Vec<&str> =
        spec.entries("hard").map(|(resource, _)| resource.as_str()).filter(|resource| is_counted(resource)).collect();
    let unfit = |scope: &str| counted.iter().filter(|resource| !fits(scope, resource)).count();
    SCOPES.iter().map(|scope| (*scope, unfit(scope))).collect()
}

/// Whether quotas count a resource. In Kubernetes: `IsStandardQuotaResourceName`.
pub(super) fn is_counted(name: &str) -> bool {
    const COUNTED: [&str; 19] = [
        "configmaps",
        "cpu",
        "ephemeral-storage",
        "limits.cpu",
        "limits.ephemeral-storage",
        "limits.memory",
        "memory",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "requests.cpu",
        "requests.ephemeral-storage",
        "requests.memory",
        "requests.storage",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    ];
    COUNTED.contains(&name) || name.starts_with("hugepages-") || name.starts_with("requests.hugepages-")
}

/// The number of pairs of scopes that exclude each other.
fn conflicts<'s>(scopes: impl Iterator<Item = &'s str>) -> usize {
    let scopes: BTreeSet<&str> = scopes.collect();
    let pairs = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];
    pairs.iter().filter(|pair| pair.iter().all(|scope| scopes.contains(scope))).count()
}

/// A selector as Go prints it.
fn printed(requirements: &[Value]) -> String {
    let one = |requirement: &Value| {
        let text = |field: &str| Value::from(requirement.text(field));
        let (scope, operator) = (text("scopeName"), text("operator"));
        format!("{{\"ScopeName\":{scope},\"Operator\":{operator},\"Values\":{}}}", requirement.at("values"))
    };
    format!("{{\"MatchExpressions\":[{}]}}", requirements.iter().map(one).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(spec: &Value) -> Vec<String> {
        wrong_scopes(spec).iter().map(FieldError::message).collect()
    }

    #[test]
    fn listed_scopes_are_known_fit_and_do_not_exclude_each_other() {
        assert_eq!(
            said(&json!({"hard": {"pods": "1", "x.io/a": "1"}, "scopes": ["BestEffort", "Terminating"]})),
            [""; 0]
        );
        assert_eq!(
            said(&json!({"hard": {"cpu": "1", "secrets": "1"}, "scopes": ["NotBestEffort", "BestEffort", "Other"]})),
            [
                "unsupported scope applied to resource",
                "unsupported scope applied to resource",
                "unsupported scope applied to resource",
                "unsupported scope",
                "conflicting scopes",
            ]
            .map(|what| format!("spec.scopes: Invalid value: [\"NotBestEffort\",\"BestEffort\",\"Other\"]: {what}"))
        );
    }

    #[test]
    fn selected_scopes_are_asked_for_in_a_way_that_means_something() {
        let spec = |requirement: Value| json!({"hard": {"requests.storage": "1"}, "scopeSelector": {"matchExpressions": [requirement]}});
        let class = json!({"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["a"]});
        assert_eq!(said(&spec(class)), [""; 0]);
        let path = "spec.scopeSelector.matchExpressions";
        let printed = r#"{"MatchExpressions":[{"ScopeName":"Terminating","Operator":"In","Values":null}]}"#;
        let scopes = "ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
        assert_eq!(
            said(&spec(json!({"scopeName": "Terminating", "operator": "In"}))),
            [
                format!("{path}: Invalid value: {printed}: unsupported scope applied to resource"),
                format!("{path}.operator: Invalid value: \"In\": must be 'Exists' when scope is any of {scopes}"),
                format!(
                    "{path}.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                ),
            ]
        );
        assert_eq!(
            said(&spec(json!({"scopeName": "Other", "operator": "Exists", "values": ["a"]}))),
            [
                format!("{path}.scopeName: Invalid value: \"Other\": unsupported scope"),
                format!(
                    "{path}.values: Invalid value: [\"a\"]: must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                ),
            ]
        );
    }

    #[test]
    fn scopes_may_change_places_only() {
        let quota = |scopes: Value| Object::from_value(json!({"spec": {"scopes": scopes}})).unwrap();
        let old = quota(json!(["BestEffort", "Terminating"]));
        assert_eq!(scopes_changed(&quota(json!(["Terminating", "BestEffort"])), &old), []);
        let said = scopes_changed(&quota(json!(["Terminating"])), &old)[0].message();
        assert_eq!(said, "spec.scopes: Invalid value: [\"Terminating\"]: field is immutable");
    }
}
