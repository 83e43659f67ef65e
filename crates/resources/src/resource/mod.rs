//! `resource.k8s.io/v1`: devices that are claimed.

use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, Object};
use serde_json::Value;

use crate::cells::age;
use crate::checks::{Wrong, required};
use crate::columns;
use crate::rules::{BY_SPEC, Rules, SPEC_AND_METADATA};
use coracle_meta::fields::Fields;

const GROUP: &str = "resource.k8s.io";

/// `deviceclasses`.
pub(crate) const DEVICE_CLASS: Rules = Rules {
    generation: BY_SPEC,
    columns: columns::DEVICE_CLASS,
    cells: name_and_age,
    ..Rules::of(GROUP, "v1", "deviceclasses")
};

/// `resourceclaims`.
pub(crate) const RESOURCE_CLAIM: Rules = Rules {
    kept_by_status: SPEC_AND_METADATA,
    columns: columns::RESOURCE_CLAIM,
    cells: |object: &Object, now: Timestamp| -> Vec<Value> {
        vec![object.name().into(), state(object).into(), age(object, now)]
    },
    ..Rules::of(GROUP, "v1", "resourceclaims")
};

/// `resourceclaimtemplates`.
pub(crate) const RESOURCE_CLAIM_TEMPLATE: Rules = Rules {
    columns: columns::RESOURCE_CLAIM_TEMPLATE,
    cells: name_and_age,
    ..Rules::of(GROUP, "v1", "resourceclaimtemplates")
};

/// `resourceslices`.
pub(crate) const RESOURCE_SLICE: Rules = Rules {
    generation: BY_SPEC,
    validate: wrong_slice,
    selectable: &["spec.nodeName", "spec.driver"],
    columns: columns::RESOURCE_SLICE,
    cells: |object: &Object, now: Timestamp| -> Vec<Value> {
        let spec = object.at("spec");
        let [node, driver, pool] = [spec.text("nodeName"), spec.text("driver"), spec.text("pool.name")];
        vec![object.name().into(), node.into(), driver.into(), pool.into(), age(object, now)]
    },
    ..Rules::of(GROUP, "v1", "resourceslices")
};

fn name_and_age(object: &Object, now: Timestamp) -> Vec<Value> {
    vec![object.name().into(), age(object, now)]
}

fn state(object: &Object) -> String {
    let mut states = Vec::new();
    if object.is_terminating() {
        states.push("deleted");
    }
    match (object.has("status.allocation"), object.is_terminating()) {
        (false, false) => states.push("pending"),
        (false, true) => {}
        (true, _) => {
            states.push("allocated");
            if !object.list("status.reservedFor").is_empty() {
                states.push("reserved");
            }
        }
    }
    states.join(",")
}

/// In Kubernetes: `validateResourceSliceSpec`, the devices aside.
fn wrong_slice(object: &Object) -> Wrong {
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
