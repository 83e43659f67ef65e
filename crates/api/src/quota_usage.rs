//! What an object uses of a quota: one rule for admission, which counts what comes, and for the controller, which counts
//! what is there. In Kubernetes: `pkg/quota/v1/evaluator/core`.

use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::fields::Fields;
use coracle_meta::{GroupResource, Quantity, parse_time};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::pod_resources::{Amounts, add, amounts, of_pod, quality_of_service};

/// What ends the names of quotas for claims of one storage class.
const OF_STORAGE_CLASS: &str = ".storageclass.storage.k8s.io/";
/// What ends the names of quotas for devices of one class.
const OF_DEVICE_CLASS: &str = ".deviceclass.resource.k8s.io/devices";
/// How many devices a claim for all of them may get. In Kubernetes: `AllocationResultsMaxSize`.
const MOST_DEVICES: i64 = 32;

/// The usage for quotas: `count/<resource>` for every kind, older names for some, and amounts of pods and claims.
pub fn usage(resource: &GroupResource, object: &(impl Fields + ?Sized), now: Timestamp) -> Amounts {
    let one = Quantity::of(1);
    let mut usage = Amounts::from([(format!("count/{resource}"), one)]);
    match (resource.group.as_str(), resource.resource.as_str()) {
        ("", "pods") if pod_counts(object, now) => {
            usage.insert("pods".to_owned(), one);
            add(&mut usage, &pod_usage(object));
        }
        ("", "services") => {
            usage.insert("services".to_owned(), one);
            usage.extend(service_usage(object));
        }
        ("", "persistentvolumeclaims") => {
            usage.insert("persistentvolumeclaims".to_owned(), one);
            usage.extend(claim_usage(object));
        }
        ("", other) if has_older_name(other) => {
            usage.insert(other.to_owned(), one);
        }
        ("resource.k8s.io", "resourceclaims") => usage.extend(device_usage(object)),
        _ => {}
    }
    usage
}

/// Kinds that could be counted before `count/` was.
fn has_older_name(resource: &str) -> bool {
    matches!(resource, "configmaps" | "secrets" | "replicationcontrollers" | "resourcequotas")
}

/// Whether a quota of this name is about objects of this resource. In Kubernetes: `Evaluator.MatchingResources`.
pub fn tracks(resource: &GroupResource, name: &str) -> bool {
    if name.strip_prefix("count/").is_some_and(|counted| counted == resource.to_string()) {
        return true;
    }
    match (resource.group.as_str(), resource.resource.as_str()) {
        ("", "pods") => is_of_pods(name),
        ("", "services") => matches!(name, "services" | "services.loadbalancers" | "services.nodeports"),
        ("", "persistentvolumeclaims") => {
            let of_class = name.split_once(OF_STORAGE_CLASS).map_or(name, |(_, amount)| amount);
            matches!(of_class, "persistentvolumeclaims" | "requests.storage")
        }
        ("", other) => has_older_name(other) && name == other,
        ("resource.k8s.io", "resourceclaims") => name.ends_with(OF_DEVICE_CLASS),
        _ => false,
    }
}

fn is_of_pods(name: &str) -> bool {
    let request = name.strip_prefix("requests.");
    let basic = request.or_else(|| name.strip_prefix("limits.")).unwrap_or(name);
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    name == "pods"
        || matches!(basic, "cpu" | "memory" | "ephemeral-storage")
        || request.unwrap_or(name).starts_with("hugepages-")
        || request.is_some_and(|extended| !is_native || extended.starts_with("deviceclass.resource.kubernetes.io/"))
}

/// Pods that have run to their end hold nothing any more, nor do those that should be gone by now: a node that is lost
/// shall not keep new pods from being made. In Kubernetes: `QuotaV1Pod`.
pub fn pod_counts(pod: &(impl Fields + ?Sized), now: Timestamp) -> bool {
    if matches!(pod.text("status.phase"), "Succeeded" | "Failed") {
        return false;
    }
    let grace = pod.int_if_set("metadata.deletionGracePeriodSeconds");
    match (parse_time(pod.text("metadata.deletionTimestamp")), grace) {
        (Some(deleted), Some(grace)) => now.duration_since(deleted) <= SignedDuration::from_secs(grace),
        _ => true,
    }
}

fn pod_usage(pod: &(impl Fields + ?Sized)) -> Amounts {
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

fn service_usage(service: &(impl Fields + ?Sized)) -> Amounts {
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

fn claim_usage(claim: &(impl Fields + ?Sized)) -> Amounts {
    let annotation = claim.at("metadata.annotations").get("volume.beta.kubernetes.io/storage-class");
    let class = annotation.and_then(Value::as_str).unwrap_or_else(|| claim.text("spec.storageClassName"));
    let asked = amounts(claim.at("spec.resources.requests")).get("storage").copied();
    // The allocated size of an expansion counts, even if the current request is smaller.
    let given = amounts(claim.at("status.allocatedResources")).get("storage").copied();
    let storage = asked.map(|asked| whole(given.map_or(asked, |given| given.max(asked))));
    let mut usage = Amounts::new();
    if !class.is_empty() {
        usage.insert(format!("{class}{OF_STORAGE_CLASS}persistentvolumeclaims"), Quantity::of(1));
    }
    if let Some(storage) = storage {
        usage.insert("requests.storage".to_owned(), storage);
        if !class.is_empty() {
            usage.insert(format!("{class}{OF_STORAGE_CLASS}requests.storage"), storage);
        }
    }
    usage
}

/// Whole bytes, rounded up.
fn whole(amount: Quantity) -> Quantity {
    let rounded = Quantity::of(amount.value());
    if rounded == amount { amount } else { rounded }
}

/// Devices by class. Where a request names alternatives, each class is charged the most that any of them may take.
fn device_usage(claim: &(impl Fields + ?Sized)) -> Amounts {
    let asked = |request: &Value| {
        let devices = match request.text("allocationMode") {
            "ExactCount" => request.int("count"),
            "All" => MOST_DEVICES,
            _ => 0,
        };
        (format!("{}{OF_DEVICE_CLASS}", request.text("deviceClassName")), Quantity::of(devices))
    };
    let mut usage = Amounts::new();
    for request in claim.list("spec.devices.requests") {
        let mut own = Amounts::new();
        let exactly = Some(request.at("exactly")).filter(|exactly| !exactly.is_null());
        for (class, devices) in request.list("firstAvailable").iter().chain(exactly).map(asked) {
            let most: &mut Quantity = own.entry(class).or_default();
            *most = devices.max(*most);
        }
        add(&mut usage, &own);
    }
    usage
}

/// The resources that a quota limits and a pod does not set, with the containers that lack them.
pub fn unsaid(pod: &(impl Fields + ?Sized), limited: &BTreeSet<String>) -> BTreeMap<String, BTreeSet<String>> {
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
pub fn is_in_scope(resource: &GroupResource, object: &(impl Fields + ?Sized), quota: &(impl Fields + ?Sized)) -> bool {
    let plain = quota.list("spec.scopes").iter().filter_map(Value::as_str).map(|scope| (scope, "Exists", &[][..]));
    let selected = quota
        .list("spec.scopeSelector.matchExpressions")
        .iter()
        .map(|expression| (expression.text("scopeName"), expression.text("operator"), expression.list("values")));
    plain.chain(selected).all(|(scope, operator, values)| match (resource.group.as_str(), resource.resource.as_str()) {
        ("", "pods") => pod_is_in(object, scope, operator, values),
        ("", "persistentvolumeclaims") => scope == "VolumeAttributesClass" && claim_is_in(object, operator, values),
        _ => false,
    })
}

/// A claim is in the scope of every attributes class that it has, had or shall have.
fn claim_is_in(claim: &(impl Fields + ?Sized), operator: &str, values: &[Value]) -> bool {
    let classes = [
        "spec.volumeAttributesClassName",
        "status.currentVolumeAttributesClassName",
        "status.modifyVolumeStatus.targetVolumeAttributesClassName",
    ];
    let mut classes = classes.iter().map(|path| claim.text(path)).filter(|class| !class.is_empty()).peekable();
    match classes.peek() {
        None => chosen("", operator, values),
        Some(_) => classes.any(|class| chosen(class, operator, values)),
    }
}

/// Whether a scope selector matches a name; an empty name counts as missing.
fn chosen(name: &str, operator: &str, values: &[Value]) -> bool {
    let is_named = values.iter().any(|value| value == name);
    match operator {
        "Exists" => !name.is_empty(),
        "DoesNotExist" => name.is_empty(),
        "In" => !name.is_empty() && is_named,
        "NotIn" => name.is_empty() || !is_named,
        _ => false,
    }
}

fn pod_is_in(pod: &(impl Fields + ?Sized), scope: &str, operator: &str, values: &[Value]) -> bool {
    let has_deadline = pod.int_if_set("spec.activeDeadlineSeconds").is_some_and(|seconds| seconds >= 0);
    let is_best_effort = quality_of_service(pod) == "BestEffort";
    match scope {
        "Terminating" => has_deadline,
        "NotTerminating" => !has_deadline,
        "BestEffort" => is_best_effort,
        "NotBestEffort" => !is_best_effort,
        "PriorityClass" => chosen(pod.text("spec.priorityClassName"), operator, values),
        "CrossNamespacePodAffinity" => reaches_other_namespaces(pod),
        _ => false,
    }
}

fn reaches_other_namespaces(pod: &(impl Fields + ?Sized)) -> bool {
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
    use coracle_meta::Object;
    use serde_json::json;

    #[test]
    fn a_pod_counts_itself_and_its_amounts() {
        let pod = Object::from_value(json!({"spec": {"containers": [
            {"name": "c", "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}}},
        ]}}))
        .unwrap();
        let usage = usage(&GroupResource::new("", "pods"), &pod, Timestamp::UNIX_EPOCH);
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

    #[test]
    fn a_pod_that_should_be_gone_counts_only_as_an_object() {
        let pod = json!({
            "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30},
            "spec": {"containers": [{"name": "c"}]},
        });
        let names = |now: &str| {
            let usage = usage(&GroupResource::new("", "pods"), &pod, now.parse().unwrap());
            usage.into_keys().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names("2026-01-01T00:00:30Z"), "count/pods pods");
        assert_eq!(names("2026-01-01T00:00:31Z"), "count/pods");
    }

    #[test]
    fn usage_of_an_object_is_counted_by_resource_name() {
        let pods = json!({"spec": {"containers": [{"resources": {
            "requests": {"cpu": "1", "hugepages-2Mi": "2Mi", "example.com/gpu": "1"},
            "limits": {"ephemeral-storage": "1Gi"},
        }}]}});
        let claim = json!({"spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1.5"}}}});
        let devices = json!({"spec": {"devices": {"requests": [
            {"exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}},
            {"firstAvailable": [
                {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1},
                {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 3},
            ]},
        ]}}});
        let cases =
            [("", "pods", pods), ("", "persistentvolumeclaims", claim), ("resource.k8s.io", "resourceclaims", devices)];
        for (group, resource, object) in cases {
            let resource = GroupResource::new(group, resource);
            let used = usage(&resource, &object, Timestamp::UNIX_EPOCH);
            assert!(used.len() > 1 && used.keys().all(|name| tracks(&resource, name)), "{used:?}");
            let others = GroupResource::new("example.com", "boats");
            assert!(!used.keys().any(|name| tracks(&others, name)));
            if let Some(gpus) = used.get("gpu.deviceclass.resource.k8s.io/devices") {
                assert_eq!(gpus.value(), 5);
            }
            if let Some(storage) = used.get("fast.storageclass.storage.k8s.io/requests.storage") {
                assert_eq!(storage.to_string(), "2");
            }
        }
        assert!(!tracks(&GroupResource::new("", "pods"), "requests.storage"));
    }

    #[test]
    fn a_claim_is_in_the_scope_of_any_of_its_attributes_classes() {
        let claims = GroupResource::new("", "persistentvolumeclaims");
        let quota = |operator: &str, values: &[&str]| {
            json!({"spec": {"scopeSelector": {"matchExpressions": [
                {"scopeName": "VolumeAttributesClass", "operator": operator, "values": values},
            ]}}})
        };
        let claim = json!({
            "spec": {"volumeAttributesClassName": "gold"},
            "status": {"currentVolumeAttributesClassName": "silver"},
        });
        assert!(is_in_scope(&claims, &claim, &quota("In", &["silver"])));
        assert!(is_in_scope(&claims, &claim, &quota("NotIn", &["silver"])));
        assert!(!is_in_scope(&claims, &json!({}), &quota("Exists", &[])));
        assert!(is_in_scope(&claims, &json!({}), &quota("DoesNotExist", &[])));
    }
}
