use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object};
use coracle_registry::{KindSpec, TableColumn};
use serde_json::Value;

use super::GROUP;
use crate::built_in::built_in;
use crate::field_checks::{Wrong, required};

/// `resourceslices`.
pub(crate) fn kind() -> KindSpec {
    KindSpec {
        validate: wrong,
        selectable: Some(&["spec.nodeName", "spec.driver"]),
        columns: columns(),
        ..built_in(GROUP, "v1", "resourceslices")
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

/// In Kubernetes: `validateResourceSliceSpec`, the devices aside.
fn wrong(object: &Object) -> Wrong {
    const PLACES: [&str; 4] = ["nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"];
    let spec = object.at("spec");
    let mut wrong = required(spec, "driver", "spec");
    wrong.extend(required(spec, "pool.name", "spec"));
    let count = spec.int("pool.resourceSliceCount");
    if count <= 0 {
        wrong.push(FieldError::invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"));
    }
    let is_set = |place: &&&str| match spec.at(place) {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        _ => true,
    };
    let places: Vec<&str> = PLACES.iter().filter(is_set).copied().collect();
    match places[..] {
        [] => {
            let what = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
            wrong.push(FieldError::required("spec", what));
        }
        [_] => {}
        _ => {
            let printed = format!("{{{}}}", places.join(", "));
            let what = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set";
            wrong.push(FieldError::invalid("spec", printed, what));
        }
    }
    wrong
}
