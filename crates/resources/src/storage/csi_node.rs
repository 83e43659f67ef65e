use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, JsonKey, Object, names};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;

use super::csi_driver::wrong_driver_name;
use crate::built_in::{SPEC_AND_METADATA, built_in, drop_fields};
use crate::field_checks::{Wrong, each_invalid, not_negative};

/// The maximum length of the node ID of a driver.
const LONGEST_NODE_ID: usize = 256;

/// `csinodes`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        validate: |object, _| wrong(object),
        reset_by_status: SPEC_AND_METADATA,
        // In Kubernetes: the feature `CSIVolumeHealth`.
        prepare_status: |new, _, _, _| drop_fields(new, &["status.storageHealth"]),
        columns: columns(),
        ..built_in(release, "storage.k8s.io", "v1", "csinodes")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::integer(
            "Drivers",
            "Drivers indicates the number of CSI drivers registered on the node",
            |object| object.list("spec.drivers").len().into(),
        ),
        TableColumn::age(),
    ]
}

fn wrong(object: &Object) -> Wrong {
    let drivers = object.list("spec.drivers");
    let mut wrong = Wrong::new();
    let mut names_seen = BTreeSet::new();
    for (at, driver) in drivers.iter().enumerate() {
        let path = format!("spec.drivers[{at}]");
        let name = driver.text("name");
        wrong.extend(wrong_driver_name(name, &format!("{path}.name")));
        let id = driver.text("nodeID");
        if id.is_empty() {
            wrong.push(FieldError::required(format!("{path}.nodeID"), ""));
        }
        if id.len() > LONGEST_NODE_ID {
            let what = format!("must be {LONGEST_NODE_ID} characters or less");
            wrong.push(FieldError::invalid(format!("{path}.nodeID"), id, what));
        }
        wrong.extend(not_negative(driver.at("allocatable"), "count", &format!("{path}.allocatable")));
        if !names_seen.insert(name) {
            wrong.push(FieldError::duplicate(format!("{path}.name"), name));
        }
        let keys = driver.list("topologyKeys");
        let mut keys_seen = BTreeSet::new();
        for key in keys {
            let text = key.as_str().unwrap_or_default();
            if text.is_empty() {
                wrong.push(FieldError::required(&path, ""));
            }
            if !keys_seen.insert(JsonKey(key)) {
                wrong.push(FieldError::duplicate(&path, text));
            }
            wrong.extend(each_invalid(&path, text, names::qualified_name(text)));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn messages(object: Value) -> Vec<String> {
        wrong(&Object::from_value(object).unwrap()).iter().map(FieldError::message).collect()
    }

    #[test]
    fn a_driver_is_there_once_on_a_node() {
        let driver = json!({"name": "d.io", "nodeID": "n", "topologyKeys": ["zone", "zone"]});
        let said = messages(json!({"spec": {"drivers": [driver, {"name": "d.io", "nodeID": "n"}]}}));
        let want = ["spec.drivers[0]: Duplicate value: \"zone\"", "spec.drivers[1].name: Duplicate value: \"d.io\""];
        assert_eq!(said, want);
    }
}
