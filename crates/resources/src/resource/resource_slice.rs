use coracle_meta::fields::{Fields, FieldsMut, edit_spec};
use coracle_meta::{FieldError, Object, go_quote};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use super::GROUP;
use super::bounded::wrong_set;
use super::counters::wrong_shared_counters;
use super::device::{self, wrong_device};
use super::device_taint::set_time;
use super::naming::wrong_pool_name;
use super::places::wrong_slice_places;
use crate::built_in::{self, GatedFields, built_in};
use crate::field_checks::{Wrong, immutable};
use crate::storage::csi_driver::wrong_driver_name;

const MOST_DEVICES: usize = 128;
/// The same where one of them has taints or consumes counters.
const MOST_ADVANCED_DEVICES: usize = 64;

/// `resourceslices`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        prepare_create: |object, _, release| drop_disabled(object, release),
        prepare_update: |new, _, _, release| drop_disabled(new, release),
        set_times: |slice, now| {
            edit_spec(slice, |spec| {
                spec.each_in("devices", |device| device.each_in("taints", |taint| set_time(taint, now)));
            });
        },
        validate_create: |slice, release| wrong(slice, None, release),
        validate_change: |new, old, release| {
            let mut wrong = wrong(new, Some(old), release);
            wrong.extend(wrong_change(new, old));
            wrong
        },
        warnings: |new, old, _| warnings(new, old),
        selectable: Some(&["spec.nodeName", "spec.driver"]),
        columns: columns(),
        ..built_in(release, GROUP, "v1", "resourceslices")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Node",
            "NodeName identifies the node which provides the resources in this pool. A field selector can be used to list only ResourceSlice objects belonging to a certain node.\n\nThis field can be used to limit access from nodes to ResourceSlices with the same node name. It also indicates to autoscalers that adding new nodes of the same type as some old node might also make new resources available.\n\nExactly one of NodeName, NodeSelector, AllNodes, and PerDeviceNodeSelection must be set. This field is immutable.",
            |object| object.text("spec.nodeName").into(),
        ),
        TableColumn::text(
            "Driver",
            "Driver identifies the DRA driver providing the capacity information. A field selector can be used to list only ResourceSlice objects with a certain driver name.\n\nMust be a DNS subdomain and should end with a DNS domain owned by the vendor of the driver. It should use only lower case characters. This field is immutable.",
            |object| object.text("spec.driver").into(),
        ),
        TableColumn::text(
            "Pool",
            "Name is used to identify the pool. For node-local devices, this is often the node name, but this is not required.\n\nIt must not be longer than 253 characters and must consist of one or more DNS sub-domains separated by slashes. This field is immutable.",
            |object| object.text("spec.pool.name").into(),
        ),
        TableColumn::age(),
    ]
}

/// Drops fields of features that the release does not enable.
fn drop_disabled(slice: &mut Object, release: &Release) {
    edit_spec(slice, |spec| {
        built_in::drop_disabled(spec, &FEATURES, release);
        spec.each_in("devices", |device| device::drop_disabled(device, release));
    });
}

/// The fields of a slice that a feature adds.
const FEATURES: [GatedFields<'_>; 3] = [
    ("DRAPartitionableDevices", &["sharedCounters", "perDeviceNodeSelection"]),
    ("DRAPartitionableDevicesType", &["partitionTypeAttribute"]),
    ("DRAOptionalNodeOperations", &["skipNodeOperations"]),
];

/// In Kubernetes: `validateResourceSliceSpec`.
fn wrong(object: &Object, old: Option<&Object>, release: &Release) -> Wrong {
    let spec = object.at("spec");
    let mut wrong = wrong_driver_name(spec.text("driver"), "spec.driver");
    wrong.extend(wrong_pool_name(spec.text("pool.name"), "spec.pool.name"));
    let count = spec.int("pool.resourceSliceCount");
    if count <= 0 {
        wrong.push(FieldError::invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"));
    }
    let generation = spec.int("pool.generation");
    if generation < 0 {
        wrong.push(FieldError::invalid("spec.pool.generation", generation, "must be greater than or equal to zero"));
    }
    wrong.extend(wrong_slice_places(spec));
    if spec.has("sharedCounters") && spec.has("devices") {
        wrong.push(FieldError::invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"));
    }
    wrong.extend(wrong_devices(spec, old, release));
    wrong.extend(wrong_shared_counters(spec.list("sharedCounters"), "spec.sharedCounters"));
    wrong
}

fn wrong_devices(spec: &Value, old: Option<&Object>, release: &Release) -> Wrong {
    let devices = spec.list("devices");
    let is_advanced = |device: &Value| !device.list("taints").is_empty() || !device.list("consumesCounters").is_empty();
    let most = if devices.iter().any(is_advanced) { MOST_ADVANCED_DEVICES } else { MOST_DEVICES };
    let before = old.map_or(&[][..], |old| old.list("spec.devices"));
    let name = |device: &Value| device.text("name").to_owned();
    let check = |device: &Value, path: &str| {
        let old = before.iter().find(|old| old.text("name") == device.text("name"));
        wrong_device(device, old, spec, path, release)
    };
    wrong_set(devices, most, "spec.devices", check, name)
}

fn wrong_change(new: &Object, old: &Object) -> Wrong {
    ["spec.pool.name", "spec.driver", "spec.nodeName"].iter().flat_map(|path| immutable(new, old, path)).collect()
}

/// In Kubernetes: `WarningsOnCreate` of the strategy.
fn warnings(new: &Object, _old: Option<&Object>) -> Vec<String> {
    let driver = new.text("spec.driver");
    if driver == driver.to_lowercase() {
        return Vec::new();
    }
    let named = go_quote(driver);
    vec![format!("spec.driver: driver names should be lowercase; {named} contains uppercase characters")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(change: Value) -> Vec<String> {
        let mut object = json!({"spec": {
            "driver": "d.example.com",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "nodeName": "n",
            "devices": [{"name": "g"}],
        }});
        for (field, value) in change.as_object().unwrap() {
            object["spec"][field] = value.clone();
        }
        wrong(&Object::from_value(object).unwrap(), None, &Release::named("1.35").unwrap())
            .iter()
            .map(FieldError::message)
            .collect()
    }

    #[test]
    fn a_slice_says_where_its_devices_are_in_one_way() {
        let one = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
        assert_eq!(said(json!({})), [""; 0]);
        assert_eq!(said(json!({"nodeName": null})), [format!("spec: Required value: {one}")]);
        assert_eq!(
            said(json!({"allNodes": true})),
            [format!("spec: Invalid value: \"{{`nodeName`, `allNodes`}}\": {one}, but multiple fields are set")]
        );
        assert_eq!(
            said(json!({"nodeName": "", "allNodes": false})),
            [
                "spec.nodeName: Invalid value: \"\": must be either unset or set to a non-empty string".to_owned(),
                "spec.allNodes: Invalid value: false: must be either unset or set to true".to_owned(),
                format!("spec: Required value: {one}"),
            ]
        );
        let term = json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]});
        let printed = r#"{"MatchExpressions":[{"Key":"a","Operator":"In","Values":["b"]}],"MatchFields":null}"#;
        assert_eq!(
            said(json!({"nodeName": null, "nodeSelector": {"nodeSelectorTerms": [term, term]}})),
            [format!(
                "spec.nodeSelector.nodeSelectorTerms: Invalid value: [{printed},{printed}]: must have exactly one node selector term"
            )]
        );
    }

    #[test]
    fn a_slice_names_a_pool_and_a_driver() {
        assert_eq!(
            said(json!({"driver": "", "pool": {"generation": -1}, "devices": [{"name": "g"}, {"name": "g"}]})),
            [
                "spec.driver: Required value",
                "spec.pool.name: Required value",
                "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
                "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero",
                "spec.devices[1]: Duplicate value: \"g\"",
            ]
        );
        let devices: Vec<Value> = (0..129).map(|at| json!({"name": format!("g{at}")})).collect();
        assert_eq!(said(json!({"devices": devices})), ["spec.devices: Too many: 129: must have at most 128 items"]);
    }
}
