use coracle_meta::fields::{Fields, FieldsMut, edit_spec};
use coracle_meta::{FieldError, Object, go_quote, names};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use super::GROUP;
use super::bounded::wrong_set;
use super::device::{self, wrong_device};
use super::naming::wrong_pool_name;
use crate::built_in::built_in;
use crate::field_checks::{Wrong, each_invalid, immutable};
use crate::pod_spec::node_selector;
use crate::storage::csi_driver::wrong_driver_name;

const MOST_DEVICES: usize = 128;

/// `resourceslices`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        prepare_create: |object, _, _| drop_disabled(object),
        prepare_update: |new, _, _, _| drop_disabled(new),
        validate: |object, _| wrong(object),
        validate_change: |new, old, _| wrong_change(new, old),
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

/// Drops fields of features that are disabled by default.
fn drop_disabled(slice: &mut Object) {
    edit_spec(slice, |spec| {
        spec.drop_fields(&["sharedCounters", "perDeviceNodeSelection"]);
        spec.each_in("devices", device::drop_disabled);
    });
}

/// In Kubernetes: `validateResourceSliceSpec`.
fn wrong(object: &Object) -> Wrong {
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
    wrong.extend(wrong_nodes(spec));
    let name = |device: &Value| device.text("name").to_owned();
    wrong.extend(wrong_set(spec.list("devices"), MOST_DEVICES, "spec.devices", wrong_device, name));
    wrong
}

/// The nodes of the devices: one, some or all.
fn wrong_nodes(spec: &Value) -> Wrong {
    const ONE: &str = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    let mut wrong = Wrong::new();
    let mut places = Vec::new();
    match spec.at("nodeName").as_str() {
        None => {}
        Some("") => {
            let what = "must be either unset or set to a non-empty string";
            wrong.push(FieldError::invalid("spec.nodeName", "", what));
        }
        Some(name) => {
            places.push("`nodeName`");
            wrong.extend(each_invalid("spec.nodeName", name, names::dns1123_subdomain(name)));
        }
    }
    let selector = spec.at("nodeSelector");
    if !selector.is_null() {
        places.push("`nodeSelector`");
        wrong.extend(node_selector(selector, "spec.nodeSelector"));
        let terms = selector.list("nodeSelectorTerms");
        if terms.len() != 1 {
            let path = "spec.nodeSelector.nodeSelectorTerms";
            wrong.push(
                FieldError::invalid(path, terms, "must have exactly one node selector term").printed_as(printed(terms)),
            );
        }
    }
    match spec.at("allNodes").as_bool() {
        None => {}
        Some(true) => places.push("`allNodes`"),
        Some(false) => {
            wrong.push(FieldError::invalid("spec.allNodes", false, "must be either unset or set to true"));
        }
    }
    match places.len() {
        0 => wrong.push(FieldError::required("spec", ONE)),
        1 => {}
        _ => {
            let printed = format!("{{{}}}", places.join(", "));
            wrong.push(FieldError::invalid("spec", printed, format!("{ONE}, but multiple fields are set")));
        }
    }
    wrong
}

/// Terms as Go prints them.
fn printed(terms: &[Value]) -> String {
    let all = |items: &[Value], one: &dyn Fn(&Value) -> String| match items {
        [] => "null".to_owned(),
        items => format!("[{}]", items.iter().map(one).collect::<Vec<_>>().join(",")),
    };
    let requirement = |requirement: &Value| {
        let values = all(requirement.list("values"), &Value::to_string);
        format!("{{\"Key\":{},\"Operator\":{},\"Values\":{values}}}", requirement.at("key"), requirement.at("operator"))
    };
    all(terms, &|term| {
        let list = |name: &str| all(term.list(name), &requirement);
        format!("{{\"MatchExpressions\":{},\"MatchFields\":{}}}", list("matchExpressions"), list("matchFields"))
    })
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
        wrong(&Object::from_value(object).unwrap()).iter().map(FieldError::message).collect()
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
