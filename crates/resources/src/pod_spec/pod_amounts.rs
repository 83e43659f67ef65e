//! Pod-level requests and limits. In Kubernetes: `validatePodResources`.

use std::collections::BTreeSet;

use coracle_api::pod_resources::{amounts, is_pod_level, of_containers};
use coracle_meta::FieldError;
use coracle_meta::fields::Fields;
use serde_json::Value;

use super::amounts::{name_of_resource, wrong_requirements};
use crate::field_checks::Wrong;

/// The errors of the `resources` of a pod.
pub(super) fn wrong_pod_resources(spec: &Value, claims: &BTreeSet<&str>, path: &str) -> Wrong {
    let resources = spec.at("resources");
    let path = format!("{path}.resources");
    if resources.is_null() {
        return Wrong::new();
    }
    if spec.text("os.name") == "windows" {
        return vec![FieldError::forbidden(path, "may not be set for a windows pod")];
    }
    let mut wrong = Wrong::new();
    if resources.has("claims") {
        let what = "claims may not be set for Resources at pod-level";
        wrong.push(FieldError::forbidden(format!("{path}.claims"), what));
    }
    wrong.extend(wrong_requirements(resources, name_of_pod, claims, &path));
    wrong.extend(less_than_containers(spec, &path));
    wrong
}

/// In Kubernetes: `validatePodResourceName`.
fn name_of_pod(name: &str, path: &str) -> Wrong {
    let wrong = name_of_resource(name, path);
    if !wrong.is_empty() || is_pod_level(name) {
        return wrong;
    }
    vec![FieldError::not_supported(path, name, &["cpu", "hugepages-", "memory"])]
}

/// A pod must have at least the sum of its containers. In Kubernetes: `validatePodResourceConsistency`.
fn less_than_containers(spec: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    for list in ["requests", "limits"] {
        let own = amounts(spec.at("resources").at(list));
        for (name, sum) in of_containers(spec, list) {
            if list == "limits" && !name.starts_with("hugepages-") {
                continue;
            }
            if let Some(own) = own.get(&name).filter(|own| sum > **own) {
                let what = format!("must be greater than or equal to aggregate container {list} of {sum}");
                wrong.push(FieldError::invalid(format!("{path}.{list}[{name}]"), own.to_string(), what));
            }
        }
    }
    let own = amounts(spec.at("resources.limits"));
    for (at, container) in spec.list("containers").iter().enumerate() {
        for (name, limit) in amounts(container.at("resources.limits")) {
            if let Some(own) = own.get(&name).filter(|own| limit > **own) {
                let what = format!("must be less than or equal to pod limits of {own}");
                let path = format!("{path}.containers[{at}][{name}].limits");
                wrong.push(FieldError::invalid(path, limit.to_string(), what));
            }
        }
    }
    wrong
}
