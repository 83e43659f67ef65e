use std::collections::BTreeSet;

use coracle_journal::{Entry, Events, Stage};
use serde_json::{Value, json};

use super::form::SCALABLE;

/// The components that have informers of their own, or share them with others of their program only.
const WATCHERS: [&str; 2] = ["controller-manager", "scheduler"];
/// The kinds whose watches can lag.
const KINDS: [&str; 4] = ["Pod", "ReplicaSet", "Deployment", "Node"];

/// What a form can change in a run: the names that occur in its log.
pub(super) fn choices(events: &Events) -> Value {
    let of = |stage, is_wanted: &dyn Fn(&Entry) -> bool, name: fn(&Entry) -> &str| {
        let found = events.entries.iter().filter(|entry| entry.stage == stage && is_wanted(entry));
        found.map(|entry| name(entry).to_owned()).collect::<BTreeSet<String>>()
    };
    let pods = of(Stage::StoreCommit, &|entry| entry.subject.starts_with("pods/"), |entry| &entry.subject);
    let scalable = |entry: &Entry| {
        let plural = entry.subject.split('/').next();
        SCALABLE.iter().any(|(known, _)| plural == Some(*known))
    };
    let workloads = of(Stage::StoreCommit, &scalable, |entry| &entry.subject);
    let mut parts = of(Stage::SyncStart, &|entry| entry.actor.starts_with("controller-manager/"), |entry| &entry.actor);
    parts.insert("scheduler".to_owned());
    let nodes = of(Stage::StoreCommit, &|entry| entry.subject.starts_with("nodes/"), |entry| &entry.subject);
    let steps = events.entries.iter().filter(|entry| entry.stage == Stage::StepStart);
    let steps = steps.map(|entry| json!({"name": entry.data.get("name"), "at": entry.id}));
    json!({
        "pods": pods,
        "workloads": workloads,
        "parts": parts.into_iter().chain(nodes).collect::<Vec<_>>(),
        "watchers": WATCHERS,
        "kinds": KINDS,
        "steps": steps.collect::<Vec<_>>(),
    })
}
