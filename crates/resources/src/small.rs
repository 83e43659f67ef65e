//! Kinds that need little beyond their row of the table: leases and classes.

use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, Object, names};
use coracle_registry::Generation;
use serde_json::Value;

use crate::cells::age;
use crate::checks::{Wrong, each_invalid, immutable, labels, not_negative, positive, required_one_of};
use crate::columns;
use crate::pod_spec::{wrong_overhead, wrong_tolerations};
use crate::rules::{Rules, drop_fields};
use coracle_meta::fields::{Fields, FieldsMut};

/// `leases.coordination.k8s.io`.
pub(crate) const LEASE: Rules = Rules {
    // Coordinated leader election is behind a gate that is closed by default.
    prepare_create: |object, _| drop_fields(object, &["spec.preferredHolder", "spec.strategy"]),
    prepare_update: |object, _, _| drop_fields(object, &["spec.preferredHolder", "spec.strategy"]),
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
    validate: wrong_runtime_class,
    validate_change: |new, old| immutable(new, old, "handler"),
    columns: columns::RUNTIME_CLASS,
    cells: |object: &Object, now: Timestamp| -> Vec<Value> {
        vec![object.name().into(), object.text(&["handler"]).into(), age(object, now)]
    },
    ..Rules::of("node.k8s.io", "v1", "runtimeclasses")
};

/// In Kubernetes: `ValidateRuntimeClass`.
fn wrong_runtime_class(object: &Object) -> Wrong {
    let handler = object.text(&["handler"]);
    let mut wrong = each_invalid("handler", handler, names::dns1123_label(handler));
    wrong.extend(wrong_overhead(object.at("overhead.podFixed"), "overhead"));
    let scheduling = object.at("scheduling");
    wrong.extend(labels(scheduling.at("nodeSelector"), "scheduling.nodeSelector"));
    wrong.extend(wrong_tolerations(scheduling.list("tolerations"), "scheduling.tolerations"));
    wrong
}

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
        let policies = ["PreemptLowerPriority", "Never"];
        wrong.extend(required_one_of(object, "preemptionPolicy", "", &policies));
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
