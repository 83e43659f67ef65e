//! Kinds that need little beyond their row of the table: leases, classes, APIServices.

use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, Object, names};
use coracle_registry::Generation;
use serde_json::Value;

use crate::cells::age;
use crate::checks::{Wrong, each_invalid, immutable, not_negative, one_of, positive};
use crate::columns;
use crate::rules::{Rules, SPEC_AND_METADATA};
use coracle_meta::fields::{Fields, FieldsMut};

/// `leases.coordination.k8s.io`.
pub(crate) const LEASE: Rules = Rules {
    validate: |object| {
        let spec = object.at("spec");
        let mut wrong = Wrong::new();
        if spec.has("leaseDurationSeconds") {
            wrong.extend(positive(spec, "leaseDurationSeconds", "spec"));
        }
        wrong.extend(not_negative(spec, "leaseTransitions", "spec"));
        wrong
    },
    columns: columns::LEASE,
    cells: |object: &Object, now: Timestamp| -> Vec<Value> {
        vec![object.name().into(), object.text(&["spec", "holderIdentity"]).into(), age(object, now)]
    },
    ..Rules::of("coordination.k8s.io", "v1", "leases")
};

/// `runtimeclasses.node.k8s.io`.
pub(crate) const RUNTIME_CLASS: Rules = Rules {
    validate: |object| match object.text(&["handler"]) {
        "" => vec![FieldError::required("handler", "")],
        handler => each_invalid("handler", handler, names::dns1123_label(handler)),
    },
    validate_change: |new, old| immutable(new, old, "handler"),
    columns: columns::RUNTIME_CLASS,
    cells: |object: &Object, now: Timestamp| -> Vec<Value> {
        vec![object.name().into(), object.text(&["handler"]).into(), age(object, now)]
    },
    ..Rules::of("node.k8s.io", "v1", "runtimeclasses")
};

/// `priorityclasses.scheduling.k8s.io`.
pub(crate) const PRIORITY_CLASS: Rules = Rules {
    set_defaults: |object| object.edit(|tree| tree.fill("preemptionPolicy", "PreemptLowerPriority")),
    validate: |object| {
        const USERS_MOST: i64 = 1_000_000_000;
        let name = object.name();
        let mut wrong = Wrong::new();
        let is_known = matches!(name, "system-node-critical" | "system-cluster-critical");
        if name.starts_with("system-") && !is_known {
            let what = "priority class names with 'system-' prefix are reserved for system use only. error:";
            let what = format!("{what} {name} is not a known system priority class");
            wrong.push(FieldError::forbidden("metadata.name", what));
        }
        if !name.starts_with("system-") && object.int("value") > USERS_MOST {
            let what = format!("maximum allowed value of a user defined priority is {USERS_MOST}");
            wrong.push(FieldError::forbidden("value", what));
        }
        wrong.extend(one_of(object, "preemptionPolicy", "", &["Never", "PreemptLowerPriority"]));
        wrong
    },
    validate_change: |new, old| {
        let mut wrong = Wrong::new();
        if new.int("value") != old.int("value") {
            wrong.push(FieldError::forbidden("value", "may not be changed in an update."));
        }
        wrong.extend(immutable(new, old, "preemptionPolicy"));
        wrong
    },
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
    validate: |object| {
        let spec = object.at("spec");
        let wanted = format!("{}.{}", spec.text("version"), spec.text("group"));
        let mut wrong = Wrong::new();
        if object.name() != wanted {
            let what = format!("must be `spec.version+\".\"+spec.group`: {wanted:?}");
            wrong.push(FieldError::invalid("metadata.name", object.name(), what));
        }
        for (priority, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1000)] {
            let value = spec.int(priority);
            if value <= 0 || value > most {
                let what = format!("must be positive and less than {most}");
                wrong.push(FieldError::invalid(format!("spec.{priority}"), value, what));
            }
        }
        wrong
    },
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
