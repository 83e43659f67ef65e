//! Requests and limits. In Kubernetes: `validateResourceRequirements`.

use std::collections::BTreeSet;

use coracle_api::pod_resources::amounts;
use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use serde_json::Value;

use crate::field_checks::{Wrong, each_invalid, quantity_not_negative};

/// Whether the name of a resource is one of Kubernetes' own.
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether more may be limited than is requested.
pub(crate) fn may_overcommit(name: &str) -> bool {
    is_native(name) && !name.starts_with("hugepages-")
}

fn is_known(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-")
}

/// The name of a resource that a container asks for.
pub(crate) fn name_of_container(name: &str, path: &str) -> Wrong {
    let mut wrong = each_invalid(path, name, names::qualified_name(name));
    if !wrong.is_empty() {
        return wrong;
    }
    if !name.contains('/') && !is_known(name) {
        wrong.extend(name_of_resource(name, path));
        wrong.push(FieldError::invalid(path, name, "must be a standard resource for containers"));
    } else if name.contains('/') && is_native(name) {
        wrong.push(FieldError::invalid(path, name, "doesn't follow extended resource name standard"));
    }
    wrong
}

/// The name of a resource, wherever it stands. In Kubernetes: `validateResourceName`.
pub(crate) fn name_of_resource(name: &str, path: &str) -> Wrong {
    const COUNTED: [&str; 17] = [
        "requests.cpu",
        "requests.memory",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "storage",
        "requests.storage",
        "services.nodeports",
        "services.loadbalancers",
    ];
    let wrong = each_invalid(path, name, names::qualified_name(name));
    let is_standard =
        is_known(name) || name.starts_with("requests.hugepages-") || COUNTED.contains(&name) || name.contains('/');
    if !wrong.is_empty() || is_standard {
        return wrong;
    }
    vec![FieldError::invalid(path, name, "must be a standard resource type or fully qualified")]
}

/// What is wrong with what a class adds to each pod, which is told of as limits.
pub(crate) fn wrong_overhead(amounts: &Value, path: &str) -> Wrong {
    wrong_resources(&serde_json::json!({"limits": amounts}), &BTreeSet::new(), path)
}

/// What is wrong with the `resources` of a container.
pub(super) fn wrong_resources(resources: &Value, claims: &BTreeSet<&str>, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let (requests, limits) = (amounts(resources.at("requests")), amounts(resources.at("limits")));
    for list in ["limits", "requests"] {
        for (name, amount) in resources.entries(list) {
            let path = format!("{path}.{list}[{name}]");
            wrong.extend(name_of_container(name, &path));
            wrong.extend(quantity_not_negative(amount, &path));
            wrong.extend(whole_if_counted(name, amount, &path));
        }
    }
    for (name, request) in &requests {
        let path = format!("{path}.requests");
        let given = request.to_string();
        match limits.get(name) {
            Some(limit) if request != limit && !may_overcommit(name) => {
                let what = format!("must be equal to {name} limit of {limit}");
                wrong.push(FieldError::invalid(path, given, what));
            }
            Some(limit) if request > limit => {
                let what = format!("must be less than or equal to {name} limit of {limit}");
                wrong.push(FieldError::invalid(path, given, what));
            }
            None if !may_overcommit(name) => {
                let path = path.replace(".requests", ".limits");
                wrong.push(FieldError::required(path, "Limit must be set for non overcommitable resources"));
            }
            _ => {}
        }
    }
    let names: Vec<&String> = requests.keys().chain(limits.keys()).collect();
    let has_huge = names.iter().any(|name| name.starts_with("hugepages-"));
    if has_huge && !names.iter().any(|name| matches!(name.as_str(), "cpu" | "memory")) {
        wrong.push(FieldError::forbidden(path, "HugePages require cpu or memory"));
    }
    wrong.extend(wrong_claims(resources, claims, &format!("{path}.claims")));
    wrong
}

/// Things that are counted cannot be asked for in parts.
pub(crate) fn whole_if_counted(name: &str, amount: &Value, path: &str) -> Wrong {
    let is_counted = names::is_extended_resource(name)
        || matches!(
            name,
            "pods"
                | "services"
                | "replicationcontrollers"
                | "resourcequotas"
                | "secrets"
                | "configmaps"
                | "persistentvolumeclaims"
                | "services.nodeports"
                | "services.loadbalancers"
        );
    match amount.as_str().and_then(|text| coracle_meta::Quantity::parse(text).ok()) {
        Some(quantity) if is_counted && quantity.milli_value() % 1000 != 0 => {
            vec![FieldError::invalid(path, quantity.to_string(), "must be an integer")]
        }
        _ => Wrong::new(),
    }
}

fn wrong_claims(resources: &Value, claims: &BTreeSet<&str>, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let mut seen = BTreeSet::new();
    for (at, claim) in resources.list("claims").iter().enumerate() {
        let name = claim.text("name");
        let path = format!("{path}[{at}]");
        if name.is_empty() {
            wrong.push(FieldError::required(&path, ""));
            continue;
        }
        if !seen.insert((name, claim.text("request"))) {
            wrong.push(FieldError::duplicate(&path, name));
        } else if !claims.contains(name) {
            let what = match claims.is_empty() {
                true => "must be one of the names in pod.spec.resourceClaims which is empty".to_owned(),
                false => {
                    let claims: Vec<&str> = claims.iter().copied().collect();
                    format!("must be one of the names in pod.spec.resourceClaims: {}", claims.join(", "))
                }
            };
            wrong.push(FieldError::not_found(&path, name).saying(what));
        }
    }
    wrong
}
