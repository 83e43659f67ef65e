//! Pod-level resources. In Kubernetes: `defaultPodRequests` and `defaultHugePagePodLimits`.

use std::collections::BTreeSet;

use coracle_api::pod_resources::{Amounts, is_pod_level, of_containers};
use coracle_meta::fields::{Fields, FieldsMut, Tree};
use serde_json::Value;

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
    let limits: Vec<_> = own.entries("limits").map(|(resource, amount)| (resource.clone(), amount.clone())).collect();
    for (resource, amount) in limits {
        if is_pod_level(&resource) {
            fill_amount(own, "requests", &resource, amount);
        }
    }
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
