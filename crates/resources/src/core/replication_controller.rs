use coracle_ambient::Timestamp;
use coracle_meta::Object;
use serde_json::Value;

use crate::cells::{age, containers, labels};
use crate::columns;
use crate::pod_spec;
use crate::rules::{BY_SPEC, Rules};
use coracle_meta::fields::{Fields, FieldsMut, edit_spec};

/// `replicationcontrollers`. In Kubernetes: `pkg/registry/core/replicationcontroller`.
pub(crate) const REPLICATION_CONTROLLER: Rules = Rules {
    set_defaults,
    generation: BY_SPEC,
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
