//! What the containers of a pod ask for together, and the amounts of a pod as a whole.
//! In Kubernetes: component-helpers `resource`, and `qos.ComputePodQOS`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Quantity;
use crate::fields::Fields;

/// Amounts by resource.
pub type Amounts = BTreeMap<String, Quantity>;

/// What the containers of a pod need at most at one time: all containers and sidecars together, or one init container
/// beside the sidecars before it, whichever is more. `list` is `requests` or `limits`.
pub fn of_containers(spec: &(impl Fields + ?Sized), list: &str) -> Amounts {
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
pub fn of_pod(spec: &(impl Fields + ?Sized), list: &str) -> Amounts {
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

/// Whether a pod as a whole may ask for a resource.
pub fn is_pod_level(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory") || resource.starts_with("hugepages-")
}

/// The amounts of a list of resources that can be read.
pub fn amounts(list: &Value) -> Amounts {
    let read =
        |(resource, amount): (&String, &Value)| Some((resource.clone(), Quantity::parse(amount.as_str()?).ok()?));
    list.as_object().into_iter().flatten().filter_map(read).collect()
}

/// Adds amounts.
pub fn add(sums: &mut Amounts, amounts: &Amounts) {
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

/// The quality of service of a pod: what its requests and limits of cpu and memory promise.
/// In Kubernetes: `qos.ComputePodQOS`.
pub fn quality_of_service(pod: &(impl Fields + ?Sized)) -> &'static str {
    let pod_level = pod.at("spec.resources");
    if !pod_level.is_null() {
        let (requests, limits) = (cpu_and_memory(pod_level.at("requests")), cpu_and_memory(pod_level.at("limits")));
        return class(&requests, &limits, limits.len() == 2);
    }
    let (mut requests, mut limits) = (Amounts::new(), Amounts::new());
    let mut all_limited = true;
    for container in pod.list("spec.containers").iter().chain(pod.list("spec.initContainers")) {
        let own = cpu_and_memory(container.at("resources.limits"));
        all_limited &= own.len() == 2;
        add(&mut limits, &own);
        add(&mut requests, &cpu_and_memory(container.at("resources.requests")));
    }
    class(&requests, &limits, all_limited)
}

fn class(requests: &Amounts, limits: &Amounts, all_limited: bool) -> &'static str {
    if requests.is_empty() && limits.is_empty() {
        return "BestEffort";
    }
    let equal = requests.iter().all(|(resource, amount)| limits.get(resource) == Some(amount));
    if all_limited && equal && requests.len() == limits.len() { "Guaranteed" } else { "Burstable" }
}

/// The amounts of cpu and memory that are more than nothing.
fn cpu_and_memory(list: &Value) -> Amounts {
    let counts = |resource: &str| matches!(resource, "cpu" | "memory");
    amounts(list).into_iter().filter(|(resource, amount)| counts(resource) && *amount > Quantity::default()).collect()
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

    fn class_with(resources: Value) -> &'static str {
        quality_of_service(&json!({"spec": {"containers": [{"resources": resources}]}}))
    }

    #[test]
    fn limits_equal_to_requests_of_both_resources_are_a_guarantee() {
        let amounts = json!({"cpu": "1", "memory": "1Gi"});
        assert_eq!(class_with(json!({"limits": amounts, "requests": amounts})), "Guaranteed");
        assert_eq!(class_with(json!({"limits": amounts, "requests": {"cpu": "500m", "memory": "1Gi"}})), "Burstable");
        assert_eq!(class_with(json!({"requests": {"cpu": "1"}})), "Burstable");
        assert_eq!(class_with(json!({})), "BestEffort");
    }
}
