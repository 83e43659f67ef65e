use std::collections::BTreeSet;

use coracle_ambient::Timestamp;
use coracle_meta::Object;
use serde_json::Value;

use crate::cells::{age, text_or};
use crate::columns;
use crate::rules::Rules;
use coracle_meta::fields::Fields;

/// `nodes`. In Kubernetes: `pkg/registry/core/node`.
pub(crate) const NODE: Rules = Rules {
    keeps_new_status: true,
    store_directory: Some("minions"),
    set_defaults,
    selectable: &["spec.unschedulable"],
    field: |object, name| (name == "spec.unschedulable").then(|| object.flag("spec.unschedulable").to_string()),
    columns: columns::NODE,
    cells,
    ..Rules::of("", "v1", "nodes")
};

fn set_defaults(object: &mut Object) {
    let cidr = object.text(&["spec", "podCIDR"]).to_owned();
    if !cidr.is_empty() && object.texts(&["spec", "podCIDRs"]).is_empty() {
        object.set(&["spec", "podCIDRs"], vec![cidr]);
    }
    let capacity = object.field(&["status", "capacity"]).cloned();
    if let Some(capacity) = capacity
        && object.field(&["status", "allocatable"]).is_none_or(Value::is_null)
    {
        object.set(&["status", "allocatable"], capacity);
    }
}

fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let info = object.at("status.nodeInfo");
    vec![
        object.name().into(),
        state(object).into(),
        text_or(&roles(object), "<none>"),
        age(object, now),
        info.text("kubeletVersion").into(),
        address(object, "InternalIP"),
        address(object, "ExternalIP"),
        text_or(info.text("osImage"), "<unknown>"),
        text_or(info.text("kernelVersion"), "<unknown>"),
        text_or(info.text("containerRuntimeVersion"), "<unknown>"),
    ]
}

fn state(object: &Object) -> String {
    let ready = object.list("status.conditions").iter().rfind(|condition| condition.text("type") == "Ready");
    let state = match ready.map(|condition| condition.text("status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    if object.flag("spec.unschedulable") { format!("{state},SchedulingDisabled") } else { state.to_owned() }
}

/// From the labels `node-role.kubernetes.io/<role>` and `kubernetes.io/role`, sorted.
fn roles(object: &Object) -> String {
    let labels = object.labels();
    let roles: BTreeSet<&str> = labels
        .iter()
        .filter_map(|(name, value)| match name.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None if name == "kubernetes.io/role" => Some(value.as_str()),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.into_iter().collect::<Vec<_>>().join(",")
}

fn address(object: &Object, kind: &str) -> Value {
    let address = object.list("status.addresses").iter().find(|address| address.text("type") == kind);
    address.map_or("<none>", |address| address.text("address")).into()
}
