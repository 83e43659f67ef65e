use serde_json::{Value, json};

use super::*;
use crate::node_info::NodeInfo;
use crate::pod_info::PodClaims;

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Arc<T> {
    Arc::new(serde_json::from_value(value).unwrap())
}

fn node(name: &str) -> NodeInfo {
    NodeInfo { name: name.into(), ..NodeInfo::default() }.with_label("zone", "a")
}

fn slice(name: &str, node: Value, pool: Value, devices: Value) -> (String, Arc<ResourceSlice>) {
    let mut spec = json!({"driver": "gpu.example.com", "pool": pool, "devices": devices});
    spec.as_object_mut().unwrap().extend(node.as_object().unwrap().clone());
    (name.to_owned(), read(json!({"metadata": {"name": name}, "spec": spec})))
}

fn device(name: &str, model: &str, numa: i64) -> Value {
    json!({
        "name": name, "attributes": {"model": {"string": model}, "numa": {"int": numa}},
        "capacity": {"memory": {"value": if model == "big" { "80Gi" } else { "40Gi" }}},
    })
}

fn one_pool(name: &str) -> Value {
    json!({"name": name, "generation": 1, "resourceSliceCount": 1})
}

/// Node `n` has three devices, of which two are big.
fn inventory() -> Inventory {
    let mut inventory = Inventory::default();
    let config = json!([{"opaque": {"driver": "gpu.example.com", "parameters": {"a": 1}}}]);
    let selector = json!([{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]);
    let class = json!({"metadata": {"name": "gpu"}, "spec": {"selectors": selector, "config": config}});
    inventory.set_class("gpu", Some(read(class)));
    let devices = json!([device("g0", "small", 0), device("g1", "big", 0), device("g2", "big", 1)]);
    let (name, slice) = slice("s", json!({"nodeName": "n"}), one_pool("n"), devices);
    inventory.set_slice(&name, Some(slice));
    inventory
}

fn claim(name: &str, devices: Value) -> Arc<ResourceClaim> {
    read(json!({"metadata": {"name": name, "namespace": "default", "uid": name}, "spec": {"devices": devices}}))
}

fn exactly(name: &str, more: Value) -> Value {
    let mut exactly = json!({"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1});
    exactly.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"name": name, "exactly": exactly})
}

fn big() -> Value {
    let text = "device.capacity['gpu.example.com'].memory.isGreaterThan(quantity('50Gi'))";
    json!({"selectors": [{"cel": {"expression": text}}]})
}

/// The devices by request.
fn names(found: Result<Option<Vec<AllocationResult>>, String>) -> Result<Vec<String>, String> {
    let results = found?.into_iter().flatten().flat_map(|one| one.devices.results);
    Ok(results.map(|one| format!("{}={}", one.request, one.device)).collect())
}

fn allocated(inventory: &Inventory, devices: Value) -> Result<Vec<String>, String> {
    names(inventory.allocate(&[claim("c", devices)], &node("n")))
}

#[test]
fn selectors_choose_and_what_is_in_use_is_left() {
    let mut inventory = inventory();
    let wants = json!({"requests": [exactly("r", big())]});
    assert_eq!(allocated(&inventory, wants.clone()), Ok(vec!["r=g1".to_owned()]));
    let got = inventory.allocate(&[claim("c", wants.clone())], &node("n")).unwrap().unwrap();
    let shown = serde_json::to_value(&got[0]).unwrap();
    assert_eq!(shown["devices"]["config"][0]["source"], "FromClass");
    assert_eq!(shown["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]["values"], json!(["n"]));
    let pod = ObjectKey::new("default", "p");
    inventory.take(&pod, &ObjectKey::new("default", "c"), got[0].clone());
    assert_eq!(allocated(&inventory, wants.clone()), Ok(vec!["r=g2".to_owned()]));
    inventory.release(&pod);
    assert_eq!(allocated(&inventory, wants.clone()), Ok(vec!["r=g1".to_owned()]));
    assert_eq!(names(inventory.allocate(&[claim("c", wants)], &node("other"))), Ok(vec![]));
}

#[test]
fn a_search_goes_back_until_constraints_hold() {
    let inventory = inventory();
    let constraint = json!([{"matchAttribute": "gpu.example.com/model"}]);
    let two = json!({"requests": [exactly("a", json!({"count": 2}))], "constraints": constraint});
    assert_eq!(allocated(&inventory, two), Ok(vec!["a=g1".to_owned(), "a=g2".to_owned()]));
    let numa = json!([{"matchAttribute": "gpu.example.com/numa", "requests": ["a", "b"]}]);
    let requests = json!([exactly("a", big()), exactly("b", json!({}))]);
    let near = json!({"requests": requests, "constraints": numa});
    assert_eq!(allocated(&inventory, near), Ok(vec!["a=g1".to_owned(), "b=g0".to_owned()]));
    let three = json!({"requests": [exactly("a", json!({"count": 3}))], "constraints": constraint});
    assert_eq!(allocated(&inventory, three), Ok(vec![]));
}

#[test]
fn a_tainted_device_is_for_requests_that_tolerate_it_and_the_allocation_has_their_tolerations() {
    let mut inventory = inventory();
    let mut tainted = device("g0", "big", 0);
    tainted["taints"] = json!([{"key": "broken", "effect": "NoSchedule"}, {"key": "seen", "effect": "None"}]);
    let (name, slice) = slice("s", json!({"nodeName": "n"}), one_pool("n"), json!([tainted, device("g1", "big", 0)]));
    inventory.set_slice(&name, Some(slice));
    let wants = |more: Value| json!({"requests": [exactly("r", more)]});
    assert_eq!(allocated(&inventory, wants(json!({}))), Ok(vec!["r=g1".to_owned()]));
    let tolerations = json!([{"key": "broken", "operator": "Exists"}]);
    let tolerating = wants(json!({"tolerations": tolerations}));
    let found = inventory.allocate(&[claim("c", tolerating.clone())], &node("n")).unwrap().unwrap();
    let result = serde_json::to_value(&found[0].devices.results[0]).unwrap();
    assert_eq!((&result["device"], &result["tolerations"]), (&json!("g0"), &tolerations));
    assert_eq!(allocated(&inventory, wants(json!({"allocationMode": "All"}))), Ok(vec![]));

    let taint = json!({"key": "old", "effect": "NoExecute"});
    let rule = json!({"metadata": {"name": "r"}, "spec": {"deviceSelector": {"device": "g1"}, "taint": taint}});
    inventory.set_taint_rule("r", Some(read(rule)));
    assert_eq!(allocated(&inventory, wants(json!({}))), Ok(vec![]));
    assert_eq!(allocated(&inventory, tolerating), Ok(vec!["r=g0".to_owned()]));
    inventory.set_taint_rule("r", None);
    assert_eq!(allocated(&inventory, wants(json!({}))), Ok(vec!["r=g1".to_owned()]));
}

#[test]
fn the_first_alternative_that_works_is_taken() {
    let inventory = inventory();
    let mut several = json!({"name": "several", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 3});
    several.as_object_mut().unwrap().extend(big().as_object().unwrap().clone());
    let one = json!({"name": "one", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1});
    let wants = json!({"requests": [{"name": "r", "firstAvailable": [several, one]}]});
    assert_eq!(allocated(&inventory, wants), Ok(vec!["r/one=g0".to_owned()]));
}

#[test]
fn all_means_all_that_are_chosen_and_none_may_be_in_use() {
    let mut inventory = inventory();
    let mut all = json!({"allocationMode": "All", "count": 0});
    all.as_object_mut().unwrap().extend(big().as_object().unwrap().clone());
    let wants = json!({"requests": [exactly("r", all)]});
    assert_eq!(allocated(&inventory, wants.clone()), Ok(vec!["r=g1".to_owned(), "r=g2".to_owned()]));
    let got = inventory.allocate(&[claim("x", json!({"requests": [exactly("r", big())]}))], &node("n"));
    inventory.take(&ObjectKey::new("default", "p"), &ObjectKey::new("default", "x"), got.unwrap().unwrap().remove(0));
    assert_eq!(allocated(&inventory, wants), Ok(vec![]));
    let admin = json!({"requests": [exactly("r", json!({"allocationMode": "All", "count": 0, "adminAccess": true}))]});
    assert_eq!(allocated(&inventory, admin).unwrap().len(), 3, "who looks after devices has them beside others");
}

#[test]
fn a_pool_counts_as_of_its_newest_generation_and_only_when_it_is_whole() {
    let mut inventory = inventory();
    let newer = json!({"name": "n", "generation": 2, "resourceSliceCount": 2});
    let (name, first) = slice("t", json!({"nodeName": "n"}), newer.clone(), json!([device("g9", "big", 0)]));
    inventory.set_slice(&name, Some(first));
    let wants = json!({"requests": [exactly("r", json!({}))]});
    assert_eq!(allocated(&inventory, wants.clone()), Ok(vec![]), "a slice is missing");
    let all = json!({"requests": [exactly("r", json!({"allocationMode": "All", "count": 0}))]});
    assert!(
        allocated(&inventory, all).unwrap_err().ends_with("resource pool gpu.example.com/n is currently being updated")
    );
    let (name, second) = slice("u", json!({"nodeName": "other"}), newer, json!([device("g8", "big", 0)]));
    inventory.set_slice(&name, Some(second));
    assert_eq!(allocated(&inventory, wants.clone()), Ok(vec!["r=g9".to_owned()]));
    let zone = json!({"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}});
    let (name, shared) = slice("z", zone, one_pool("a-shared"), json!([device("z0", "big", 0)]));
    inventory.set_slice(&name, Some(shared));
    assert_eq!(allocated(&inventory, wants), Ok(vec!["r=z0".to_owned()]));
}

#[test]
fn unsatisfiable_requests_are_reported_by_name() {
    let mut inventory = inventory();
    let unread = json!({"selectors": [{"cel": {"expression": "device.nothing"}}]});
    let said = allocated(&inventory, json!({"requests": [exactly("r", unread)]})).unwrap_err();
    assert!(said.starts_with("claim default/c: selector #0: CEL compile error"), "{said}");
    let missing = json!({"selectors": [{"cel": {"expression": "device.attributes['gpu.example.com'].nothing"}}]});
    let said = allocated(&inventory, json!({"requests": [exactly("r", missing)]})).unwrap_err();
    assert_eq!(said, "claim default/c: selector #0: CEL runtime error: no such key: nothing");
    let pod = PodInfo {
        key: ObjectKey::new("default", "p"),
        resource_claims: PodClaims { names: vec![("c".to_owned(), false)], unknown: None },
        ..PodInfo::default()
    };
    assert_eq!(inventory.refusal(&pod).unwrap(), "resourceclaim \"c\" not found");
    let key = ObjectKey::new("default", "c");
    for (request, why) in [
        (exactly("r", json!({"deviceClassName": "none"})), "request r: device class none does not exist"),
        (
            exactly("r", json!({"capacity": {"requests": {"memory": "1Gi"}}})),
            "resource claim default/c, request r: asks for a part of a device's capacity, but the DRAConsumableCapacity feature is disabled",
        ),
        (json!({"name": "r"}), "resource claim default/c, request r: unknown request type"),
    ] {
        inventory.set_claim(&key, Some(claim("c", json!({"requests": [request]}))));
        assert_eq!(inventory.refusal(&pod).unwrap(), why);
    }
    inventory.set_claim(&key, Some(claim("c", json!({"requests": [exactly("r", json!({}))]}))));
    assert_eq!(inventory.refusal(&pod), None);
    inventory.take(&ObjectKey::new("default", "other"), &key, AllocationResult::default());
    assert_eq!(inventory.refusal(&pod).unwrap(), "resource claim default/c is in the process of being allocated");
}
