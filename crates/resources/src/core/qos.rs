use std::collections::BTreeMap;

use coracle_meta::{Object, Quantity};
use serde_json::Value;

use crate::fields::Fields;

/// The quality of service of a pod: what its requests and limits of cpu and memory promise.
/// In Kubernetes: `qos.ComputePodQOS`.
pub(crate) fn class_of(pod: &Object) -> &'static str {
    let pod_level = pod.at("spec.resources");
    if !pod_level.is_null() {
        let (requests, limits) = (amounts(pod_level.at("requests")), amounts(pod_level.at("limits")));
        return class(&requests, &limits, limits.len() == 2);
    }
    let (mut requests, mut limits) = (BTreeMap::new(), BTreeMap::new());
    let mut all_limited = true;
    for container in pod.list("spec.containers").iter().chain(pod.list("spec.initContainers")) {
        let own = amounts(container.at("resources.limits"));
        all_limited &= own.len() == 2;
        add(&mut limits, own);
        add(&mut requests, amounts(container.at("resources.requests")));
    }
    class(&requests, &limits, all_limited)
}

type Amounts = BTreeMap<&'static str, Quantity>;

fn class(requests: &Amounts, limits: &Amounts, all_limited: bool) -> &'static str {
    if requests.is_empty() && limits.is_empty() {
        return "BestEffort";
    }
    let equal = requests.iter().all(|(resource, amount)| limits.get(resource) == Some(amount));
    if all_limited && equal && requests.len() == limits.len() { "Guaranteed" } else { "Burstable" }
}

/// The amounts of cpu and memory that are more than nothing.
fn amounts(list: &Value) -> Amounts {
    let amount = |resource| Some((resource, Quantity::parse(list.field_named(resource).as_str()?).ok()?));
    ["cpu", "memory"].into_iter().filter_map(amount).filter(|(_, amount)| *amount > Quantity::default()).collect()
}

fn add(sums: &mut Amounts, amounts: Amounts) {
    for (resource, amount) in amounts {
        *sums.entry(resource).or_default() += amount;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn class_with(resources: Value) -> &'static str {
        class_of(&Object::from_value(json!({"spec": {"containers": [{"resources": resources}]}})).unwrap())
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
