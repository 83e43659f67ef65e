//! The resources of a pod: one rule, for trees (the API server) and for typed pods (the components).
//! In Kubernetes: component-helpers `resource`, and `qos.ComputePodQOS`.

use std::collections::BTreeMap;

use coracle_meta::Quantity;
use coracle_meta::fields::Fields;
use serde_json::Value;

use crate::core_v1::{Container, Pod};

/// Amounts by resource.
pub type Amounts = BTreeMap<String, Quantity>;

/// The role of a container in its pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// As long as the pod.
    Main,
    /// Before the main ones, to its end.
    Init,
    /// From its turn among the init containers on, as long as the pod.
    Sidecar,
}

impl Role {
    /// That of an init container with this restart policy.
    fn of_init(restart_policy: &str) -> Self {
        if restart_policy == "Always" { Self::Sidecar } else { Self::Init }
    }
}

/// The maximum that the containers need at one time: all main containers and sidecars together, or one init container
/// together with the sidecars before it, whichever is more. Init containers and sidecars are in their starting order.
pub fn needed(containers: impl IntoIterator<Item = (Role, Amounts)>) -> Amounts {
    let (mut sum, mut sidecars, mut largest_init) = (Amounts::new(), Amounts::new(), Amounts::new());
    for (role, mut own) in containers {
        match role {
            Role::Main => add(&mut sum, &own),
            Role::Init => {
                add(&mut own, &sidecars);
                raise(&mut largest_init, &own);
            }
            Role::Sidecar => {
                add(&mut sum, &own);
                add(&mut sidecars, &own);
                raise(&mut largest_init, &sidecars);
            }
        }
    }
    raise(&mut sum, &largest_init);
    sum
}

/// Pod-level resources override those of containers.
fn with_pod_level(mut containers: Amounts, pod_level: &Amounts) -> Amounts {
    let own = pod_level.iter().filter(|(resource, _)| is_pod_level(resource));
    containers.extend(own.map(|(resource, amount)| (resource.clone(), *amount)));
    containers
}

/// Whether a resource is supported at pod level. In Kubernetes: `IsSupportedPodLevelResource`.
pub fn is_pod_level(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory") || resource.starts_with("hugepages-")
}

impl Pod {
    /// What the pod needs from its node, if each container asks for what `ask` says: as much as its containers need or
    /// the pod as a whole says, and its overhead. In Kubernetes: `PodRequests`.
    pub fn requests_with(&self, ask: impl Fn(&Container) -> Amounts) -> Amounts {
        let main = self.spec.containers.iter().map(|container| (Role::Main, ask(container)));
        let init =
            self.spec.init_containers.iter().map(|container| {
                (Role::of_init(container.restart_policy.as_deref().unwrap_or_default()), ask(container))
            });
        let mut sum = needed(main.chain(init));
        if let Some(own) = &self.spec.resources {
            sum = with_pod_level(sum, &own.requests);
        }
        add(&mut sum, &self.spec.overhead);
        sum
    }

    /// The same for the requests of the containers.
    pub fn requests(&self) -> Amounts {
        self.requests_with(|container| container.resources.requests.clone())
    }
}

/// The needs of the containers of a pod, from its spec. `list` is `requests` or `limits`.
pub fn of_containers(spec: &(impl Fields + ?Sized), list: &str) -> Amounts {
    let own = |container: &Value| amounts(container.at("resources").at(list));
    let main = spec.list("containers").iter().map(|container| (Role::Main, own(container)));
    let init = spec.list("initContainers").iter();
    needed(main.chain(init.map(|container| (Role::of_init(container.text("restartPolicy")), own(container)))))
}

/// The needs of a pod, from its spec. In Kubernetes: `PodRequests`, `PodLimits`.
pub fn of_pod(spec: &(impl Fields + ?Sized), list: &str) -> Amounts {
    let mut sum = with_pod_level(of_containers(spec, list), &amounts(spec.at("resources").at(list)));
    for (resource, amount) in amounts(spec.at("overhead")) {
        if list == "requests" || sum.contains_key(&resource) {
            *sum.entry(resource).or_default() += amount;
        }
    }
    sum
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
    fn an_init_container_counts_together_with_earlier_sidecars() {
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
