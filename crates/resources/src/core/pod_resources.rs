//! What the containers of a pod ask for together, and the amounts of a pod as a whole.
//! In Kubernetes: component-helpers `resource`, `defaultPodRequests` and `defaultHugePagePodLimits`.

use std::collections::BTreeMap;

use coracle_meta::Quantity;
use serde_json::Value;

use crate::fields::{Fields, FieldsMut, Tree};

/// Amounts by resource.
pub(crate) type Amounts = BTreeMap<String, Quantity>;

/// What the containers of a pod need at most at one time: all containers and sidecars together, or one init container
/// beside the sidecars before it, whichever is more. `list` is `requests` or `limits`.
pub(crate) fn of_containers(spec: &(impl Fields + ?Sized), list: &str) -> Amounts {
    let own = |container: &Value| amounts(container.at("resources").at(list));
    let mut sum = Amounts::new();
    spec.list("containers").iter().for_each(|container| add(&mut sum, &own(container)));
    let (mut sidecars, mut largest_init) = (Amounts::new(), Amounts::new());
    for container in spec.list("initContainers") {
        let mut needed = own(container);
        if container.text("restartPolicy") == "Always" {
            add(&mut sum, &needed);
            add(&mut sidecars, &needed);
            needed = sidecars.clone();
        } else {
            add(&mut needed, &sidecars);
        }
        raise(&mut largest_init, &needed);
    }
    raise(&mut sum, &largest_init);
    sum
}

/// What a pod needs from its node: its own amounts where it says them, those of its containers where not, and its
/// overhead. In Kubernetes: `PodRequests`, `PodLimits`.
pub(crate) fn of_pod(spec: &(impl Fields + ?Sized), list: &str) -> Amounts {
    let mut sum = of_containers(spec, list);
    for (resource, amount) in amounts(spec.at("resources").at(list)) {
        if is_pod_level(&resource) {
            sum.insert(resource, amount);
        }
    }
    for (resource, amount) in amounts(spec.at("overhead")) {
        if list == "requests" || sum.contains_key(&resource) {
            *sum.entry(resource).or_default() += amount;
        }
    }
    sum
}

/// Fills in the amounts of the pod as a whole where it has some.
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
    let requested: Vec<String> = own.entries("requests").map(|(resource, _)| resource.clone()).collect();
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

fn is_pod_level(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory") || resource.starts_with("hugepages-")
}

/// The amounts of a list of resources that can be read.
pub(crate) fn amounts(list: &Value) -> Amounts {
    let read =
        |(resource, amount): (&String, &Value)| Some((resource.clone(), Quantity::parse(amount.as_str()?).ok()?));
    list.as_object().into_iter().flatten().filter_map(read).collect()
}

/// Adds amounts.
pub(crate) fn add(sums: &mut Amounts, amounts: &Amounts) {
    for (resource, amount) in amounts {
        match sums.get_mut(resource) {
            Some(sum) => *sum += *amount,
            None => drop(sums.insert(resource.clone(), *amount)),
        }
    }
}

fn raise(largest: &mut Amounts, amounts: &Amounts) {
    for (resource, amount) in amounts {
        let own = largest.entry(resource.clone()).or_insert(*amount);
        if *amount > *own {
            *own = *amount;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_init_container_counts_beside_the_sidecars_before_it() {
        let container = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let mut sidecar = container("1");
        sidecar["restartPolicy"] = "Always".into();
        let spec = json!({"containers": [container("1")], "initContainers": [sidecar, container("3")]});
        assert_eq!(of_containers(&spec, "requests")["cpu"], Quantity::of(4));
    }

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
