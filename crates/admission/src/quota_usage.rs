//! What an object uses of a quota. In Kubernetes: `pkg/quota/v1/evaluator/core`.

use std::collections::{BTreeMap, BTreeSet};

use coracle_api::pod_resources::{Amounts, add, amounts, of_pod, quality_of_service};
use coracle_meta::fields::Fields;
use coracle_meta::{GroupResource, Object, Quantity};
use serde_json::Value;

/// What counts against quotas: `count/<resource>` for every kind, older names for some, and amounts of pods and claims.
pub(crate) fn usage(resource: &GroupResource, object: &Object) -> Amounts {
    let one = Quantity::of(1);
    let mut usage = Amounts::from([(format!("count/{resource}"), one)]);
    if !resource.group.is_empty() {
        return usage;
    }
    match resource.resource.as_str() {
        "pods" if !has_ended(object) => {
            usage.insert("pods".to_owned(), one);
            add(&mut usage, &pod_usage(object));
        }
        "services" => {
            usage.insert("services".to_owned(), one);
            usage.extend(service_usage(object));
        }
        "persistentvolumeclaims" => {
            usage.insert("persistentvolumeclaims".to_owned(), one);
            usage.extend(claim_usage(object));
        }
        "configmaps" | "secrets" | "replicationcontrollers" | "resourcequotas" => {
            usage.insert(resource.resource.clone(), one);
        }
        _ => {}
    }
    usage
}

/// Whether a quota of this name is about objects of this resource.
pub(crate) fn concerns(resource: &GroupResource, name: &str, usage: &Amounts) -> bool {
    let amounts_of_pods = ["cpu", "memory", "ephemeral-storage", "hugepages-", "requests.", "limits."];
    let is_pod = resource.group.is_empty() && resource.resource == "pods";
    usage.contains_key(name)
        || (is_pod && amounts_of_pods.iter().any(|prefix| name.starts_with(prefix)) && name != "requests.storage")
}

/// Pods that have run to their end hold nothing any more.
fn has_ended(pod: &Object) -> bool {
    matches!(pod.text("status.phase"), "Succeeded" | "Failed")
}

fn pod_usage(pod: &Object) -> Amounts {
    let spec = pod.at("spec");
    usage_of_amounts(&of_pod(spec, "requests"), &of_pod(spec, "limits"))
}

/// Amounts under the names that quotas use.
fn usage_of_amounts(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut usage = Amounts::new();
    for (resource, amount) in requests {
        let is_basic = matches!(resource.as_str(), "cpu" | "memory" | "ephemeral-storage");
        if is_basic || resource.starts_with("hugepages-") {
            usage.insert(resource.clone(), *amount);
        }
        let is_extended = resource.contains('/') && !resource.starts_with("kubernetes.io/");
        if is_basic || resource.starts_with("hugepages-") || is_extended {
            usage.insert(format!("requests.{resource}"), *amount);
        }
    }
    for resource in ["cpu", "memory", "ephemeral-storage"] {
        if let Some(amount) = limits.get(resource) {
            usage.insert(format!("limits.{resource}"), *amount);
        }
    }
    usage
}

fn service_usage(service: &Object) -> Amounts {
    let ports = service.list("spec.ports");
    let all = i64::try_from(ports.len()).unwrap_or(i64::MAX);
    let own = ports.iter().filter(|port| port.int("nodePort") != 0).count();
    let (balancers, node_ports) = match service.text("spec.type") {
        "NodePort" => (0, all),
        "LoadBalancer" if service.at("spec.allocateLoadBalancerNodePorts").as_bool() == Some(false) => {
            (1, i64::try_from(own).unwrap_or(i64::MAX))
        }
        "LoadBalancer" => (1, all),
        _ => (0, 0),
    };
    Amounts::from([
        ("services.loadbalancers".to_owned(), Quantity::of(balancers)),
        ("services.nodeports".to_owned(), Quantity::of(node_ports)),
    ])
}

fn claim_usage(claim: &Object) -> Amounts {
    let annotation = claim.annotation("volume.beta.kubernetes.io/storage-class");
    let class = annotation.unwrap_or_else(|| claim.text("spec.storageClassName"));
    let storage = amounts(claim.at("spec.resources.requests")).get("storage").copied();
    let mut usage = Amounts::new();
    let prefix = format!("{class}.storageclass.storage.k8s.io/");
    if !class.is_empty() {
        usage.insert(format!("{prefix}persistentvolumeclaims"), Quantity::of(1));
    }
    if let Some(storage) = storage {
        usage.insert("requests.storage".to_owned(), storage);
        if !class.is_empty() {
            usage.insert(format!("{prefix}requests.storage"), storage);
        }
    }
    usage
}

/// What a pod does not say though a quota limits it: the resources, with the containers that do not say them.
pub(crate) fn unsaid(pod: &Object, limited: &BTreeSet<String>) -> BTreeMap<String, BTreeSet<String>> {
    let basic = ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];
    let mut unsaid: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let whole = pod.at("spec.resources");
    let says_whole = ["requests", "limits"].iter().any(|list| !amounts(whole.at(list)).is_empty());
    if says_whole {
        return unsaid;
    }
    for container in pod.list("spec.containers").iter().chain(pod.list("spec.initContainers")) {
        let own = |list: &str| amounts(container.at("resources").at(list));
        let said = usage_of_amounts(&own("requests"), &own("limits"));
        for name in basic.iter().filter(|name| limited.contains(**name) && !said.contains_key(**name)) {
            unsaid.entry((*name).to_owned()).or_default().insert(container.text("name").to_owned());
        }
    }
    unsaid
}

/// Whether an object is in the scopes of a quota. Only pods, and claims by their attributes class, have scopes.
pub(crate) fn is_in_scope(resource: &GroupResource, object: &Object, quota: &Object) -> bool {
    let is_pod = resource.group.is_empty() && resource.resource == "pods";
    let plain = quota.list("spec.scopes").iter().filter_map(Value::as_str).map(|scope| (scope, "Exists", &[][..]));
    let selected = quota
        .list("spec.scopeSelector.matchExpressions")
        .iter()
        .map(|expression| (expression.text("scopeName"), expression.text("operator"), expression.list("values")));
    plain.chain(selected).all(|(scope, operator, values)| is_pod && pod_is_in(object, scope, operator, values))
}

fn pod_is_in(pod: &Object, scope: &str, operator: &str, values: &[Value]) -> bool {
    let has_deadline = pod.int_if_set("spec.activeDeadlineSeconds").is_some_and(|seconds| seconds >= 0);
    let is_best_effort = quality_of_service(pod) == "BestEffort";
    let class = pod.text("spec.priorityClassName");
    match scope {
        "Terminating" => has_deadline,
        "NotTerminating" => !has_deadline,
        "BestEffort" => is_best_effort,
        "NotBestEffort" => !is_best_effort,
        "PriorityClass" => match operator {
            "Exists" => !class.is_empty(),
            "DoesNotExist" => class.is_empty(),
            "In" => values.iter().any(|value| value == class),
            "NotIn" => !values.iter().any(|value| value == class),
            _ => false,
        },
        "CrossNamespacePodAffinity" => reaches_other_namespaces(pod),
        _ => false,
    }
}

fn reaches_other_namespaces(pod: &Object) -> bool {
    let reaches = |term: &Value| !term.list("namespaces").is_empty() || term.has("namespaceSelector");
    ["podAffinity", "podAntiAffinity"].iter().any(|kind| {
        let terms = pod.at("spec.affinity").at(kind);
        let required = terms.list("requiredDuringSchedulingIgnoredDuringExecution").iter();
        let preferred = terms.list("preferredDuringSchedulingIgnoredDuringExecution").iter();
        required.chain(preferred.map(|weighted| weighted.at("podAffinityTerm"))).any(reaches)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_counts_itself_and_its_amounts() {
        let pod = Object::from_value(json!({"spec": {"containers": [
            {"name": "c", "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}}},
        ]}}))
        .unwrap();
        let usage = usage(&GroupResource::new("", "pods"), &pod);
        let names: Vec<&str> = usage.keys().map(String::as_str).collect();
        assert_eq!(names, ["count/pods", "cpu", "limits.cpu", "pods", "requests.cpu"]);
    }

    #[test]
    fn a_scope_that_does_not_fit_leaves_a_quota_out() {
        let pods = GroupResource::new("", "pods");
        let pod = Object::from_value(json!({"spec": {"containers": [{}]}})).unwrap();
        let quota = |scope: &str| Object::from_value(json!({"spec": {"scopes": [scope]}})).unwrap();
        assert!(is_in_scope(&pods, &pod, &quota("BestEffort")));
        assert!(!is_in_scope(&pods, &pod, &quota("NotBestEffort")));
        assert!(!is_in_scope(&GroupResource::new("", "secrets"), &pod, &quota("BestEffort")));
    }
}
