//! Who can change which part of the status of a claim: the scheduler its allocation, and each driver its own devices.

use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::fields::Fields;
use coracle_meta::names::dns1123_subdomain;
use coracle_meta::{FieldError, GroupVersionResource, Object, ResourcePath, Status};
use coracle_registry::{Attributes, Decision, Registry, Request, User, forbidden};
use serde_json::Value;

use super::GROUP;
use crate::field_checks::{Wrong, same};

const NODE_NAME: &str = "authentication.kubernetes.io/node-name";

/// The errors of the parts that the user must not change. In Kubernetes: `AuthorizedForBinding`,
/// `AuthorizedForDeviceStatus`.
pub(super) async fn wrong_user(
    registry: &Registry,
    request: &Request,
    new: &Object,
    old: &Object,
) -> Result<Wrong, Status> {
    let mut wrong = Wrong::new();
    let is_kept = |path: &str| same(new.at(path), old.at(path));
    let verb = request.verb.as_str();
    if !is_kept("status.allocation") || !is_kept("status.reservedFor") {
        let at = claims().object("", "").subresource("binding");
        if let Some(why) = refusal(registry, &Attributes::of_resource(&request.user, verb, at)).await? {
            let what = format!(
                "changing status.allocation or status.reservedFor requires resource=\"resourceclaims/binding\", \
                 verb=\"{verb}\" permission: {why}"
            );
            wrong.push(FieldError::forbidden("status.allocation", what));
        }
    }
    if new.has("status.allocation") {
        let verbs = driver_verbs(&request.user, new.at("status.allocation"), verb);
        for driver in changed_drivers(new, old) {
            if let Some(why) = driver_refusal(registry, request, &verbs, &driver).await? {
                let what = format!(
                    "changing status.devices requires resource=\"resourceclaims/driver\", verb=\"[{}]\" permission: {why}",
                    verbs.join(" ")
                );
                wrong.push(FieldError::forbidden("status.devices", what));
            }
        }
    }
    Ok(wrong)
}

fn claims() -> ResourcePath {
    ResourcePath::new(GroupVersionResource::new(GROUP, "v1", "resourceclaims"))
}

/// Why a request is not allowed.
async fn refusal(registry: &Registry, attributes: &Attributes) -> Result<Option<String>, Status> {
    Ok(match registry.authorize(attributes).await? {
        Decision::Allow(_) => None,
        Decision::Deny(why) | Decision::NoOpinion(why) => Some(forbidden(attributes, &why).message),
    })
}

/// Why none of the verbs is allowed for a driver: the reason of the first.
async fn driver_refusal(
    registry: &Registry,
    request: &Request,
    verbs: &[String],
    driver: &str,
) -> Result<Option<String>, Status> {
    let mut first = None;
    for verb in verbs {
        let at = claims().object(&request.at.namespace, driver).subresource("driver");
        match refusal(registry, &Attributes::of_resource(&request.user, verb, at)).await? {
            None => return Ok(None),
            Some(why) => first = first.or(Some(why)),
        }
    }
    Ok(first)
}

/// The verbs of which one is needed: a service account on the node of the claim has one of its own.
fn driver_verbs(user: &User, allocation: &Value, verb: &str) -> Vec<String> {
    let arbitrary = format!("arbitrary-node:{verb}");
    match node_of(allocation) {
        Some(node) if is_on(user, node) => vec![format!("associated-node:{verb}"), arbitrary],
        _ => vec![arbitrary],
    }
}

/// The only node on which the devices can be used.
fn node_of(allocation: &Value) -> Option<&str> {
    let [term] = allocation.list("nodeSelector.nodeSelectorTerms") else { return None };
    let (expressions, [field]) = (term.list("matchExpressions"), term.list("matchFields")) else { return None };
    let is_name = field.text("key") == "metadata.name" && field.text("operator") == "In";
    match field.list("values") {
        [Value::String(node)] if is_name && expressions.is_empty() => Some(node),
        _ => None,
    }
}

/// Whether a user is the service account of a pod on a node.
fn is_on(user: &User, node: &str) -> bool {
    let is_account = user.name.starts_with("system:serviceaccount:");
    let name = user.extra.get(NODE_NAME).map(Vec::as_slice);
    is_account && name.is_some_and(|names| names == [node]) && dns1123_subdomain(node).is_empty()
}

/// The drivers whose devices are added, removed or changed.
fn changed_drivers(new: &Object, old: &Object) -> BTreeSet<String> {
    let mut before: BTreeMap<[&str; 4], &Value> =
        old.list("status.devices").iter().map(|device| (key(device), device)).collect();
    let mut drivers = BTreeSet::new();
    for device in new.list("status.devices") {
        if before.remove(&key(device)).is_none_or(|old| !same(old, device)) {
            drivers.insert(device.text("driver").to_owned());
        }
    }
    drivers.extend(before.values().map(|device| device.text("driver").to_owned()));
    drivers
}

fn key(device: &Value) -> [&str; 4] {
    ["driver", "pool", "device", "shareID"].map(|field| device.text(field))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_service_account_on_the_node_of_the_claim_has_a_verb_of_its_own() {
        let field = json!({"key": "metadata.name", "operator": "In", "values": ["a"]});
        let allocation = json!({"nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]}});
        let mut user = User::new("system:serviceaccount:n:driver", ["system:serviceaccounts"]);
        user.extra.insert(NODE_NAME.to_owned(), vec!["a".to_owned()]);
        let both = ["associated-node:update", "arbitrary-node:update"];
        assert_eq!(driver_verbs(&user, &allocation, "update"), both);
        assert_eq!(driver_verbs(&user, &json!({}), "update"), both[1..]);
        assert_eq!(driver_verbs(&User::new("ann", ["devs"]), &allocation, "update"), both[1..]);
    }

    #[test]
    fn added_changed_and_removed_devices_count() {
        let claim = |devices: Value| Object::from_value(json!({"status": {"devices": devices}})).unwrap();
        let device = |driver: &str, data: i64| json!({"driver": driver, "pool": "p", "device": "d", "data": data});
        let old = claim(json!([device("a", 1), device("b", 1), device("c", 1)]));
        let new = claim(json!([device("a", 1), device("b", 2), device("d", 1)]));
        assert_eq!(changed_drivers(&new, &old).into_iter().collect::<Vec<_>>(), ["b", "c", "d"]);
    }
}
