use coracle_meta::FieldError;
use coracle_meta::fields::{Fields, FieldsMut};
use coracle_registry::{Generation, KindSpec, TableColumn};
use coracle_release::Release;

use crate::built_in::built_in;
use crate::field_checks::{Wrong, immutable, required_one_of};

/// `priorityclasses.scheduling.k8s.io`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, _| object.edit(|tree| tree.fill("preemptionPolicy", "PreemptLowerPriority")),
        validate: |object, _| {
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
        validate_change: |new, old, _| {
            let mut wrong = Wrong::new();
            if new.int("value") != old.int("value") {
                wrong.push(FieldError::forbidden("value", "may not be changed in an update."));
            }
            wrong.extend(immutable(new, old, "preemptionPolicy"));
            wrong
        },
        // Set at creation and never incremented, as in Kubernetes.
        generation: Generation::Fields(&[]),
        columns: columns(),
        ..built_in(release, "scheduling.k8s.io", "v1", "priorityclasses")
    }
}

fn columns() -> Vec<TableColumn> {
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
            |object| object.text("preemptionPolicy").into(),
        ),
    ]
}
