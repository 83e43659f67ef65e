use std::sync::Arc;

use coracle_meta::fields::{Fields, FieldsMut, edit_spec};
use coracle_meta::{FieldError, LabelSelector, Object};
use coracle_registry::{KindSpec, Scale, SelectorForm, Subresource, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use crate::built_in::built_in;
use crate::cells::{containers, images, labels};
use crate::field_checks::{Wrong, labels as wrong_labels, matches_template, not_negative};
use crate::pod_spec::{self, wrong_lasting_template};

/// `replicationcontrollers`. In Kubernetes: `pkg/registry/core/replicationcontroller`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, _| set_defaults(object),
        prepare_create: |object, _, release| pod_spec::drop_disabled(object, None, "spec.template.spec", release),
        prepare_update: |new, old, _, release| pod_spec::drop_disabled(new, Some(old), "spec.template.spec", release),
        validate: wrong,
        validate_status: |new, _, _| crate::apps::replica_set::wrong_counts(new.at("status")),
        orphans_by_default: true,
        store_directory: "controllers".to_owned(),
        selectable: Some(&["status.replicas"]),
        field: |object, name| (name == "status.replicas").then(|| object.int("status.replicas").to_string()),
        warnings: |new, old, release| pod_spec::warnings_of_named_kind(new, old, "spec.template", release),
        columns: columns(),
        subresources: vec![Subresource::Projection(Arc::new(Scale::of_replicas(SelectorForm::Labels)))],
        ..built_in(release, "", "v1", "replicationcontrollers")
    }
}

/// Selector and labels default to the labels of the template.
fn set_defaults(object: &mut Object) {
    let labels = object.at("spec.template.metadata.labels").clone();
    let is_empty = |value: &Value| value.as_object().is_none_or(|map| map.is_empty());
    if labels.is_object() {
        if is_empty(object.at("spec.selector")) {
            object.set("spec.selector", labels.clone());
        }
        if is_empty(object.at("metadata.labels")) {
            object.set("metadata.labels", labels);
        }
    }
    edit_spec(object, |spec| spec.fill("replicas", 1));
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::integer(
            "Desired",
            "Replicas is the number of desired replicas. This is a pointer to distinguish between explicit zero and unspecified. Defaults to 1. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicationcontroller#what-is-a-replicationcontroller",
            |object| object.int("spec.replicas").into(),
        ),
        TableColumn::integer(
            "Current",
            "Replicas is the most recently observed number of replicas. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicationcontroller#what-is-a-replicationcontroller",
            |object| object.int("status.replicas").into(),
        ),
        TableColumn::integer(
            "Ready",
            "The number of ready replicas for this replication controller.",
            |object| object.int("status.readyReplicas").into(),
        ),
        TableColumn::age(),
        containers("spec.template.spec.containers").wide(),
        images("spec.template.spec.containers").wide(),
        TableColumn::text(
            "Selector",
            "Selector is a label query over pods that should match the Replicas count. If Selector is empty, it is defaulted to the labels present on the Pod template. Label keys and values that must match in order to be controlled by this replication controller, if empty defaulted to labels on Pod template. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors",
            |object| labels(object.at("spec.selector")),
        ).wide(),
    ]
}

/// In Kubernetes: `ValidateReplicationControllerSpec`.
fn wrong(object: &Object, release: &Release) -> Wrong {
    let spec = object.at("spec");
    let mut wrong = not_negative(spec, "minReadySeconds", "spec");
    wrong.extend(wrong_labels(spec.at("selector"), "spec.selector"));
    if spec.entries("selector").next().is_none() {
        wrong.push(FieldError::required("spec.selector", ""));
    }
    wrong.extend(not_negative(spec, "replicas", "spec"));
    if !spec.has("template") {
        wrong.push(FieldError::required("spec.template", ""));
        return wrong;
    }
    if let Ok(selector) = LabelSelector::from_json(Some(&serde_json::json!({"matchLabels": spec.at("selector")}))) {
        wrong.extend(matches_template(&selector, spec.at("template"), "spec.template"));
    }
    wrong.extend(wrong_lasting_template(spec.at("template"), "spec.template", "ReplicationController", release));
    wrong
}
