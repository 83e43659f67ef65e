//! Pod-level resources. In Kubernetes: `defaultPodRequests` and `defaultHugePagePodLimits`.

use std::collections::BTreeSet;

use coracle_api::pod_resources::{Amounts, is_pod_level, of_containers};
use coracle_meta::Quantity;
use coracle_meta::fields::{Fields, FieldsMut, Tree};
use serde_json::Value;

/// The gate that sets defaults when a pod is stored, after admission plug-ins changed it.
pub(super) const FILLED_WHEN_STORED: &str = "PodLevelResourcesFixDefaulting";

/// Sets defaults of pod-level resources when a pod with some is stored: huge pages, requests, and last limits for which
/// all containers have one. In Kubernetes: `DefaultPodLevelResources`.
pub(super) fn fill_stored_pod_level(spec: &mut Tree) {
    let given = spec.at("resources");
    if ["limits", "requests"].iter().all(|list| given.entries(list).next().is_none()) {
        return;
    }
    let (limits, requests) = (of_containers(spec, "limits"), of_containers(spec, "requests"));
    let all_limit = |spec: &Tree, resource: &str| {
        let mut containers = ["initContainers", "containers", "ephemeralContainers"].into_iter();
        containers.all(|list| {
            spec.list(list)
                .iter()
                .all(|container| container.at("resources.limits").field_named(resource) != &Value::Null)
        })
    };
    let limited: BTreeSet<String> =
        limits.keys().filter(|resource| is_pod_level(resource) && all_limit(spec, resource)).cloned().collect();
    let Some(own) = spec.object_in("resources") else { return };
    let requested: BTreeSet<String> = own.entries("requests").map(|(resource, _)| resource.clone()).collect();
    for (resource, amount) in limits.iter().filter(|(resource, _)| resource.starts_with("hugepages-")) {
        if !requested.contains(resource) {
            fill_amount(own, "limits", resource, amount.to_string().into());
        }
    }
    for (resource, amount) in requests.iter().filter(|(resource, _)| matches!(resource.as_str(), "cpu" | "memory")) {
        fill_amount(own, "requests", resource, amount.to_string().into());
    }
    fill_requests_from_limits(own);
    fill_limits(own, &limits, &limited);
}

/// A limit of the pod is at least its request.
fn fill_limits(own: &mut Tree, limits: &Amounts, limited: &BTreeSet<String>) {
    let requested: Vec<_> =
        own.entries("requests").map(|(resource, amount)| (resource.clone(), amount.clone())).collect();
    for (resource, request) in requested {
        let Some(limit) = limits.get(&resource).filter(|_| limited.contains(&resource)) else { continue };
        let asked = request.as_str().and_then(|text| Quantity::parse(text).ok());
        let is_more = asked.is_some_and(|asked| asked > *limit);
        fill_amount(own, "limits", &resource, if is_more { request } else { limit.to_string().into() });
    }
}

fn fill_requests_from_limits(own: &mut Tree) {
    let limits: Vec<_> = own.entries("limits").map(|(resource, amount)| (resource.clone(), amount.clone())).collect();
    for (resource, amount) in limits {
        if is_pod_level(&resource) {
            fill_amount(own, "requests", &resource, amount);
        }
    }
}

/// Sets defaults of pod-level resources if the pod has any.
pub(super) fn fill_pod_level(spec: &mut Tree) {
    let given = spec.at("resources");
    let has = |list: &str| given.at(list).as_object().is_some_and(|amounts| !amounts.is_empty());
    let (has_limits, has_requests) = (has("limits"), has("requests"));
    if !has_limits && !has_requests {
        return;
    }
    let huge: Amounts =
        of_containers(spec, "limits").into_iter().filter(|(resource, _)| resource.starts_with("hugepages-")).collect();
    let needed = of_containers(spec, "requests");
    let Some(own) = spec.object_in("resources") else { return };
    let requested: BTreeSet<String> = own.entries("requests").map(|(resource, _)| resource.clone()).collect();
    for (resource, amount) in huge {
        if !requested.contains(&resource) {
            fill_amount(own, "limits", &resource, amount.to_string().into());
        }
    }
    if !has_limits {
        return;
    }
    for (resource, amount) in needed {
        if matches!(resource.as_str(), "cpu" | "memory") {
            fill_amount(own, "requests", &resource, amount.to_string().into());
        }
    }
    fill_requests_from_limits(own);
}

fn fill_amount(resources: &mut Tree, list: &str, resource: &str, amount: Value) {
    if let Some(list) = resources.object_made(list) {
        list.fill(resource, amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn requests_of_the_whole_pod_come_from_its_containers_and_then_from_its_limits() {
        let spec = json!({
            "containers": [{"resources": {"requests": {"cpu": "1"}}}],
            "resources": {"limits": {"cpu": "2", "memory": "1Gi"}},
        });
        let mut spec = spec.as_object().unwrap().clone();
        fill_pod_level(&mut spec);
        assert_eq!(spec["resources"]["requests"], json!({"cpu": "1", "memory": "1Gi"}));
    }
}
