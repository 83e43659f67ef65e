use std::sync::Arc;

use coracle_meta::FieldError;
use coracle_meta::fields::{Fields, FieldsMut, edit_spec};
use coracle_registry::{KindSpec, Scale, SelectorForm, Subresource, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use crate::built_in::built_in;
use crate::cells::{containers, images, selector};
use crate::field_checks::{Wrong, immutable, not_negative, selector_and_template};
use crate::pod_spec::{self, wrong_lasting_template};

/// `replicasets.apps`. In Kubernetes: `pkg/registry/apps/replicaset`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, _| edit_spec(object, |spec| spec.fill("replicas", 1)),
        prepare_create: |object, _, release| pod_spec::drop_disabled(object, None, "spec.template.spec", release),
        prepare_update: |new, old, _, release| pod_spec::drop_disabled(new, Some(old), "spec.template.spec", release),
        validate: |object, release| {
            let spec = object.at("spec");
            let mut wrong = not_negative(spec, "replicas", "spec");
            wrong.extend(not_negative(spec, "minReadySeconds", "spec"));
            wrong.extend(selector_and_template(spec, "spec", "deployment"));
            wrong.extend(wrong_lasting_template(spec.at("template"), "spec.template", "ReplicaSet", release));
            wrong
        },
        validate_change: |new, old, _| immutable(new, old, "spec.selector"),
        validate_status: |new, _, _| wrong_counts(new.at("status")),
        warnings: |new, old, release| pod_spec::warnings_of_named_kind(new, old, "spec.template", release),
        columns: columns(),
        subresources: vec![Subresource::Projection(Arc::new(Scale::of_replicas(SelectorForm::LabelSelector)))],
        ..built_in(release, "apps", "v1", "replicasets")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::integer(
            "Desired",
            "Replicas is the number of desired pods. This is a pointer to distinguish between explicit zero and unspecified. Defaults to 1. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicaset",
            |object| object.int("spec.replicas").into(),
        ),
        TableColumn::integer(
            "Current",
            "Replicas is the most recently observed number of non-terminating pods. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicaset",
            |object| object.int("status.replicas").into(),
        ),
        TableColumn::integer(
            "Ready",
            "The number of non-terminating pods targeted by this ReplicaSet with a Ready Condition.",
            |object| object.int("status.readyReplicas").into(),
        ),
        TableColumn::age(),
        containers("spec.template.spec.containers").wide(),
        images("spec.template.spec.containers").wide(),
        TableColumn::text(
            "Selector",
            "Selector is a label query over pods that should match the replica count. If the selector is empty, it is defaulted to the labels present on the pod template. Label keys and values that must match in order to be controlled by this replica set. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors",
            |object| selector(object.at("spec.selector")),
        ).wide(),
    ]
}

/// The counts of a status must be consistent. In Kubernetes: `ValidateReplicaSetStatus`.
pub(crate) fn wrong_counts(status: &Value) -> Wrong {
    const COUNTS: [&str; 3] = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
    let all = ["replicas", "observedGeneration", "terminatingReplicas"].into_iter().chain(COUNTS);
    let mut wrong: Wrong = all.flat_map(|count| not_negative(status, count, "status")).collect();
    let mut check = |count: &str, limit: &str, what: &str| {
        if status.int(count) > status.int(limit) {
            wrong.push(FieldError::invalid(format!("status.{count}"), status.int(count), what));
        }
    };
    for count in COUNTS {
        check(count, "replicas", "cannot be greater than status.replicas");
    }
    check("availableReplicas", "readyReplicas", "cannot be greater than readyReplicas");
    wrong
}
