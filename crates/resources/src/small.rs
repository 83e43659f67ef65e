//! Kinds that need little beyond their row of the table: leases and classes.

use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, Object, names};
use coracle_registry::Generation;
use serde_json::Value;

use crate::cells::age;
use crate::checks::{Wrong, each_invalid, immutable, labels, not_negative, one_of, positive, quantity_not_negative};
use crate::columns;
use crate::pod_spec::{name_of_container, wrong_tolerations};
use crate::rules::Rules;
use coracle_meta::fields::{Fields, FieldsMut, edit_spec};

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
    // Fields of features that are off.
    prepare_create: |object, _| edit_spec(object, |spec| spec.drop_fields(&["strategy", "preferredHolder"])),
    prepare_update: |new, _, _| edit_spec(new, |spec| spec.drop_fields(&["strategy", "preferredHolder"])),
    columns: columns::LEASE,
    cells: |object: &Object, now: Timestamp| -> Vec<Value> {
        vec![object.name().into(), object.text(&["spec", "holderIdentity"]).into(), age(object, now)]
    },
    ..Rules::of("coordination.k8s.io", "v1", "leases")
};

/// `runtimeclasses.node.k8s.io`.
pub(crate) const RUNTIME_CLASS: Rules = Rules {
    validate: |object| {
        let handler = object.text(&["handler"]);
        let mut wrong = each_invalid("handler", handler, names::dns1123_label(handler));
        for (name, amount) in object.entries("overhead.podFixed") {
            let path = format!("overhead.limits[{name}]");
            wrong.extend(name_of_container(name, &path));
            wrong.extend(quantity_not_negative(amount, &path));
        }
        wrong.extend(labels(object.at("scheduling.nodeSelector"), "scheduling.nodeSelector"));
        wrong.extend(wrong_tolerations(object.list("scheduling.tolerations"), "scheduling.tolerations"));
        wrong
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
        wrong.extend(one_of(object, "preemptionPolicy", "", &["PreemptLowerPriority", "Never"]));
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
