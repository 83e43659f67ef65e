use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, Object};
use serde_json::Value;

use crate::cells::{age, containers, selector};
use crate::checks::{Wrong, immutable, not_negative, selector_and_template};
use crate::columns;
use crate::pod_spec::{self, wrong_lasting_template};
use crate::rules::{BY_SPEC, Rules};
use coracle_meta::fields::{Fields, FieldsMut, edit_spec};

/// `replicasets.apps`. In Kubernetes: `pkg/registry/apps/replicaset`.
pub(crate) const REPLICA_SET: Rules = Rules {
    set_defaults: |object| edit_spec(object, |spec| spec.fill("replicas", 1)),
    generation: BY_SPEC,
    validate: |object| {
        let spec = object.at("spec");
        let mut wrong = not_negative(spec, "replicas", "spec");
        wrong.extend(not_negative(spec, "minReadySeconds", "spec"));
        wrong.extend(selector_and_template(spec, "spec", "deployment"));
        wrong.extend(wrong_lasting_template(spec.at("template"), "spec.template", "ReplicaSet"));
        wrong
    },
    validate_change: |new, old| immutable(new, old, "spec.selector"),
    validate_status: |new, _| wrong_counts(new.at("status")),
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

/// The counts of a status may not contradict each other. In Kubernetes: `ValidateReplicaSetStatus`.
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
