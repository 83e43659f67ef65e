use std::collections::BTreeMap;

use coracle_meta::Object;
use coracle_sim::ClusterState;
use serde_json::Value;

/// Kinds that tell what happened, and not what is.
const TOLD: [&str; 2] = ["Event", "Lease"];
/// What a status says in numbers and words that the way there does not change.
const SAID: [&str; 15] = [
    "phase",
    "replicas",
    "readyReplicas",
    "availableReplicas",
    "updatedReplicas",
    "currentReplicas",
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "numberReady",
    "numberMisscheduled",
    "active",
    "succeeded",
    "failed",
    "completedIndexes",
    "disruptionsAllowed",
];

/// What there is at the end of a run, so that two runs can be compared: each object with what its status says, and how
/// many there are alike. Names that the API server made up count as one.
pub(crate) fn end_state(cluster: &ClusterState) -> BTreeMap<String, usize> {
    let mut state = BTreeMap::new();
    for object in cluster.objects().filter(|object| !TOLD.contains(&object.kind())) {
        *state.entry(line(object)).or_default() += 1;
    }
    state
}

/// The name of an object, or what stands for it where that was made up, or reckoned from what was.
fn name_of(object: &Object) -> &str {
    let generated = object.text("metadata.generateName");
    match object.kind() {
        "Pod" if object.text("spec.hostname") == object.name() => object.name(),
        "PersistentVolume" if object.name().starts_with("pvc-") => object.text("spec.claimRef.name"),
        "VolumeAttachment" => object.text("spec.attacher"),
        _ if generated.is_empty() => object.name(),
        _ => generated,
    }
}

fn line(object: &Object) -> String {
    let mut words = vec![object.kind().to_owned(), object.namespace().to_owned(), name_of(object).to_owned()];
    if object.is_terminating() {
        words.push("terminating".to_owned());
    }
    for said in SAID {
        match object.field(&["status", said]) {
            Some(Value::Array(items)) => words.push(format!("{said}={}", items.len())),
            Some(value) => words.push(format!("{said}={value}")),
            None => {}
        }
    }
    let conditions = object.field("status.conditions").and_then(Value::as_array).into_iter().flatten();
    let mut conditions: Vec<_> =
        conditions.map(|one| format!("{}:{}", text(one, "type"), text(one, "status"))).collect();
    conditions.sort();
    words.extend(conditions);
    words.join(" ")
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
