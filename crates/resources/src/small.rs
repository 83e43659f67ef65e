//! Kinds that need little beyond their row of the table: leases and classes.

use coracle_meta::fields::{Fields, FieldsMut};
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{Generation, KindSpec, TableColumn};

use crate::built_in::{built_in, drop_fields};
use crate::checks::{Wrong, each_invalid, immutable, labels, not_negative, positive, required_one_of};
use crate::pod_spec::{wrong_overhead, wrong_tolerations};

/// `leases.coordination.k8s.io`.
pub(crate) fn lease() -> KindSpec {
    KindSpec {
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
        columns: lease_columns(),
        takes_any_finalizer: true,
        ..built_in("coordination.k8s.io", "v1", "leases")
    }
}

fn lease_columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Holder",
            "holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is used, the holder identity must be equal to the elected LeaseCandidate.metadata.name field.",
            |object| object.text(&["spec", "holderIdentity"]).into(),
        ),
        TableColumn::age(),
    ]
}

/// `runtimeclasses.node.k8s.io`.
pub(crate) fn runtime_class() -> KindSpec {
    KindSpec {
        validate: wrong_runtime_class,
        validate_change: |new, old| immutable(new, old, "handler"),
        columns: runtime_class_columns(),
        takes_any_finalizer: true,
        ..built_in("node.k8s.io", "v1", "runtimeclasses")
    }
}

fn runtime_class_columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text("Handler", "", |object| object.text(&["handler"]).into()),
        TableColumn::age(),
    ]
}

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
pub(crate) fn priority_class() -> KindSpec {
    KindSpec {
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
        columns: priority_class_columns(),
        ..built_in("scheduling.k8s.io", "v1", "priorityclasses")
    }
}

fn priority_class_columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::integer(
            "Value",
            "value represents the integer value of this priority class. This is the actual priority that pods receive when they have the name of this class in their pod spec.",
            |object| object.int("value").into(),
        ),
        TableColumn::boolean(
            "Global-Default",
            "globalDefault specifies whether this PriorityClass should be considered as the default priority for pods that do not have any priority class. Only one PriorityClass can be marked as `globalDefault`. However, if more than one PriorityClasses exists with their `globalDefault` field set to true, the smallest value of such global default PriorityClasses will be used as the default priority.",
            |object| object.flag("globalDefault").into(),
        ),
        TableColumn::age(),
        TableColumn::text(
            "PreemptionPolicy",
            "preemptionPolicy is the Policy for preempting pods with lower priority. One of Never, PreemptLowerPriority. Defaults to PreemptLowerPriority if unset.",
            |object| object.text(&["preemptionPolicy"]).into(),
        ),
    ]
}
