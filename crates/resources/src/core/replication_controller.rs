use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, LabelSelector, Object};
use serde_json::Value;

use crate::cells::{age, containers, labels};
use crate::checks::{Wrong, labels as wrong_labels, matches_template, not_negative};
use crate::columns;
use crate::pod_spec::{self, wrong_lasting_template};
use crate::rules::{BY_SPEC, Rules};
use coracle_meta::fields::{Fields, FieldsMut, edit_spec};

/// `replicationcontrollers`. In Kubernetes: `pkg/registry/core/replicationcontroller`.
pub(crate) const REPLICATION_CONTROLLER: Rules = Rules {
    set_defaults,
    generation: BY_SPEC,
    validate: wrong,
    validate_status: |new, _| crate::apps::replica_set::wrong_counts(new.at("status")),
    orphans_by_default: true,
    store_directory: Some("controllers"),
    selectable: &["status.replicas"],
    field: |object, name| (name == "status.replicas").then(|| object.int("status.replicas").to_string()),
    warnings: |new, old| pod_spec::warnings_of_named_kind(new, old, "spec.template"),
    columns: columns::REPLICATION_CONTROLLER,
    cells,
    ..Rules::of("", "v1", "replicationcontrollers")
};

/// Selector and labels come from the labels of the template.
fn set_defaults(object: &mut Object) {
    let labels = object.at("spec.template.metadata.labels").clone();
    let is_empty = |value: &Value| value.as_object().is_none_or(|map| map.is_empty());
    if labels.is_object() {
        if is_empty(object.at("spec.selector")) {
            object.set(&["spec", "selector"], labels.clone());
        }
        if is_empty(object.at("metadata.labels")) {
            object.set(&["metadata", "labels"], labels);
        }
    }
    edit_spec(object, |spec| spec.fill("replicas", 1));
}

fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let [names, images] = containers(object.list("spec.template.spec.containers"));
    vec![
        object.name().into(),
        object.int("spec.replicas").into(),
        object.int("status.replicas").into(),
        object.int("status.readyReplicas").into(),
        age(object, now),
        names,
        images,
        labels(object.at("spec.selector")),
    ]
}

/// In Kubernetes: `ValidateReplicationControllerSpec`.
fn wrong(object: &Object) -> Wrong {
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
    wrong.extend(wrong_lasting_template(spec.at("template"), "spec.template", "ReplicationController"));
    wrong
}
