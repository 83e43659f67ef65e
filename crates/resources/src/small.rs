//! Kinds that need little beyond their row of the table: leases, classes, APIServices.

use coracle_ambient::Timestamp;
use coracle_meta::{Object, names};
use coracle_registry::Generation;
use serde_json::Value;

use crate::cells::age;
use crate::columns;
use crate::rules::{Rules, SPEC_AND_METADATA};
use coracle_meta::fields::{Fields, FieldsMut};

/// `leases.coordination.k8s.io`.
pub(crate) const LEASE: Rules = Rules {
    columns: columns::LEASE,
    cells: |object: &Object, now: Timestamp| -> Vec<Value> {
        vec![object.name().into(), object.text(&["spec", "holderIdentity"]).into(), age(object, now)]
    },
    ..Rules::of("coordination.k8s.io", "v1", "leases")
};

/// `runtimeclasses.node.k8s.io`.
pub(crate) const RUNTIME_CLASS: Rules = Rules {
    columns: columns::RUNTIME_CLASS,
    cells: |object: &Object, now: Timestamp| -> Vec<Value> {
        vec![object.name().into(), object.text(&["handler"]).into(), age(object, now)]
    },
    ..Rules::of("node.k8s.io", "v1", "runtimeclasses")
};

/// `priorityclasses.scheduling.k8s.io`.
pub(crate) const PRIORITY_CLASS: Rules = Rules {
    set_defaults: |object| object.edit(|tree| tree.fill("preemptionPolicy", "PreemptLowerPriority")),
    // Counted at creation and never after, as in Kubernetes.
    generation: Generation::Fields(&[]),
    columns: columns::PRIORITY_CLASS,
    cells: |object: &Object, now: Timestamp| -> Vec<Value> {
        vec![
            object.name().into(),
            object.int("value").into(),
            object.flag("globalDefault").into(),
            age(object, now),
            object.text(&["preemptionPolicy"]).into(),
        ]
    },
    ..Rules::of("scheduling.k8s.io", "v1", "priorityclasses")
};

/// `apiservices.apiregistration.k8s.io`. The objects are kept; requests are not passed on to other servers.
pub(crate) const API_SERVICE: Rules = Rules {
    set_defaults: |object| {
        coracle_meta::fields::edit_at(object, "spec.service", |service| service.fill("port", 443));
    },
    name: names::path_segment,
    kept_by_status: SPEC_AND_METADATA,
    columns: columns::API_SERVICE,
    cells: |object: &Object, now: Timestamp| -> Vec<Value> {
        vec![object.name().into(), service(object).into(), availability(object).into(), age(object, now)]
    },
    ..Rules::of("apiregistration.k8s.io", "v1", "apiservices")
};

fn service(object: &Object) -> String {
    match object.at("spec.service") {
        Value::Null => "Local".to_owned(),
        service => format!("{}/{}", service.text("namespace"), service.text("name")),
    }
}

fn availability(object: &Object) -> String {
    let conditions = object.list("status.conditions");
    match conditions.iter().find(|condition| condition.text("type") == "Available") {
        Some(condition) if condition.text("status") == "True" => "True".to_owned(),
        Some(condition) => format!("{} ({})", condition.text("status"), condition.text("reason")),
        None => "Unknown".to_owned(),
    }
}
