use coracle_ambient::Timestamp;
use coracle_meta::Object;
use serde_json::Value;

use crate::cells::{age, containers, selector};
use crate::columns;
use crate::pod_spec;
use crate::rules::{BY_SPEC, Rules};
use coracle_meta::fields::{Fields, FieldsMut, edit_spec};

/// `replicasets.apps`. In Kubernetes: `pkg/registry/apps/replicaset`.
pub(crate) const REPLICA_SET: Rules = Rules {
    set_defaults: |object| edit_spec(object, |spec| spec.fill("replicas", 1)),
    generation: BY_SPEC,
    selectable: &["status.replicas"],
    field: |object, name| (name == "status.replicas").then(|| object.int("status.replicas").to_string()),
    warnings: |new, old| pod_spec::warnings_of_named_kind(new, old, "spec.template"),
    columns: columns::REPLICA_SET,
    cells,
    ..Rules::of("apps", "v1", "replicasets")
};

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
        selector(object.at("spec.selector")),
    ]
}
