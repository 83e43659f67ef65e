//! Requests and limits of containers. In Kubernetes: `validateResourceRequirements`.

use std::collections::BTreeSet;

use coracle_api::pod_resources::amounts;
use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Quantity, names};
use serde_json::Value;

use super::claims::wrong_used_claims;
use crate::field_checks::{Wrong, each_invalid, is_fraction, quantity_not_negative};

const HUGE_PAGES: &str = "hugepages-";

/// Whether the name of a resource is one of Kubernetes' own.
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether the limit may exceed the request.
pub(crate) fn may_overcommit(name: &str) -> bool {
    is_native(name) && !name.starts_with(HUGE_PAGES)
}

fn is_known(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with(HUGE_PAGES)
}

/// The name of a resource of a container. In Kubernetes: `validateContainerResourceName`.
pub(crate) fn name_of_container(name: &str, path: &str) -> Wrong {
    let mut wrong = name_of_resource(name, path);
    if !name.contains('/') {
        if !is_known(name) {
            wrong.push(FieldError::invalid(path, name, "must be a standard resource for containers"));
        }
    } else if !is_native(name) && !names::is_extended_resource(name) {
        wrong.push(FieldError::invalid(path, name, "doesn't follow extended resource name standard"));
    }
    wrong
}

/// The name of a resource in general. In Kubernetes: `validateResourceName`.
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

/// The errors of the overhead of a RuntimeClass, which messages call limits.
pub(crate) fn wrong_overhead(amounts: &Value, path: &str) -> Wrong {
    wrong_resources(&serde_json::json!({"limits": amounts}), &BTreeSet::new(), path)
}

/// The errors of the `resources` of a container.
pub(super) fn wrong_resources(resources: &Value, claims: &BTreeSet<&str>, path: &str) -> Wrong {
    wrong_requirements(resources, name_of_container, claims, path)
}

/// The errors of requests and limits whose names `wrong_name` checks.
pub(super) fn wrong_requirements(
    resources: &Value,
    wrong_name: fn(&str, &str) -> Wrong,
    claims: &BTreeSet<&str>,
    path: &str,
) -> Wrong {
    let mut wrong = Wrong::new();
    let limits = amounts(resources.at("limits"));
    for list in ["limits", "requests"] {
        let list_path = format!("{path}.{list}");
        for (name, amount) in resources.entries(list) {
            let path = format!("{list_path}[{name}]");
            wrong.extend(wrong_name(name, &path));
            wrong.extend(quantity_not_negative(amount, &path));
            wrong.extend(whole_if_counted(name, amount, &path));
            let Some(amount) = quantity(amount) else { continue };
            if list == "requests" {
                wrong.extend(beyond_limit(name, amount, limits.get(name), &list_path));
            }
            wrong.extend(wrong_pages(name, amount, &path));
        }
    }
    let has = |is_meant: fn(&str) -> bool| {
        ["limits", "requests"].iter().any(|list| resources.entries(list).any(|(name, _)| is_meant(name)))
    };
    if has(|name| name.starts_with(HUGE_PAGES)) && !has(|name| matches!(name, "cpu" | "memory")) {
        wrong.push(FieldError::forbidden(path, "HugePages require cpu or memory"));
    }
    wrong.extend(wrong_used_claims(resources, claims, path));
    wrong
}

fn quantity(amount: &Value) -> Option<Quantity> {
    Quantity::parse(amount.as_str()?).ok()
}

/// A request must not exceed its limit, and must equal it if overcommit is not allowed. `path` is that of the requests.
fn beyond_limit(name: &str, request: Quantity, limit: Option<&Quantity>, path: &str) -> Option<FieldError> {
    let refuse = |what: String| Some(FieldError::invalid(path, request.to_string(), what));
    match limit {
        Some(limit) if request != *limit && !may_overcommit(name) => {
            refuse(format!("must be equal to {name} limit of {limit}"))
        }
        Some(limit) if request > *limit => refuse(format!("must be less than or equal to {name} limit of {limit}")),
        None if !may_overcommit(name) => {
            let what = "Limit must be set for non overcommitable resources";
            Some(FieldError::required(path.replace(".requests", ".limits"), what))
        }
        _ => None,
    }
}

/// Huge pages must be a multiple of the page size. In Kubernetes: `IsHugePageResourceValueDivisible`.
fn wrong_pages(name: &str, amount: Quantity, path: &str) -> Option<FieldError> {
    let size = Quantity::parse(name.strip_prefix(HUGE_PAGES)?).ok().filter(|size| !is_fraction(*size));
    let is_whole = size.is_some_and(|size| size.value() > 0 && amount.value() % size.value() == 0);
    let what = format!("{amount} is not positive integer multiple of {name}");
    (!is_whole).then(|| FieldError::invalid(path, amount.to_string(), what))
}

/// Amounts of countable resources must be integers.
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
    match quantity(amount) {
        Some(quantity) if is_counted && is_fraction(quantity) => {
            vec![FieldError::invalid(path, quantity.to_string(), "must be an integer")]
        }
        _ => Wrong::new(),
    }
}
