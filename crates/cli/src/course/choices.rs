use std::collections::{BTreeMap, BTreeSet};

use coracle_journal::{Entry, EntryId, Events, Stage};
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
    let pods = lives(&events.entries, |plural| plural == "pods");
    let workloads = lives(&events.entries, |plural| SCALABLE.iter().any(|(known, _)| plural == *known));
    let mut parts = of(Stage::SyncStart, &|entry| entry.actor.starts_with("controller-manager/"), |entry| &entry.actor);
    parts.insert("scheduler".to_owned());
    let mut writes = BTreeMap::<&str, usize>::new();
    for entry in events.entries.iter().filter(|entry| entry.stage == Stage::SyncWrite) {
        *writes.entry(&entry.actor).or_default() += 1;
    }
    let wrote = |part: &&String| writes.get(part.as_str()).copied().unwrap_or_default();
    let busiest = parts.iter().max_by_key(wrote).cloned();
    let nodes = of(Stage::StoreCommit, &|entry| entry.subject.starts_with("nodes/"), |entry| &entry.subject);
    let steps = events.entries.iter().filter(|entry| entry.stage == Stage::StepStart);
    let steps = steps.map(|entry| json!({"name": entry.data.get("name"), "at": entry.id}));
    json!({
        "pods": pods,
        "part": busiest,
        "workloads": workloads,
        "parts": parts.into_iter().chain(nodes).collect::<Vec<_>>(),
        "watchers": WATCHERS,
        "kinds": KINDS,
        "steps": steps.collect::<Vec<_>>(),
    })
}

/// From which event to which each object of some resources exists. An object that still exists at the end has no `to`.
fn lives(entries: &[Entry], is_wanted: impl Fn(&str) -> bool) -> Vec<Value> {
    let (mut open, mut ended) = (BTreeMap::<&str, EntryId>::new(), Vec::new());
    for entry in entries.iter().filter(|entry| entry.stage == Stage::StoreCommit) {
        if !entry.subject.split('/').next().is_some_and(&is_wanted) {
            continue;
        }
        if entry.data.get("op") == Some(&json!("delete")) {
            let from = open.remove(&*entry.subject).unwrap_or(EntryId(0));
            ended.push(json!({"name": entry.subject, "from": from, "to": entry.id}));
        } else {
            open.entry(&entry.subject).or_insert(entry.id);
        }
    }
    let living = open.into_iter().map(|(name, from)| json!({"name": name, "from": from}));
    living.chain(ended).collect()
}

#[cfg(test)]
mod tests {
    use coracle_journal::{Detail, Recorder};

    use super::*;

    #[test]
    fn an_object_can_be_chosen_from_its_creation_to_its_removal() {
        let recorder = Recorder::ring(16);
        let write = |subject: &str, op: &str| {
            recorder.record("store", Stage::StoreCommit, || Detail::about(subject).with("op", op)).unwrap()
        };
        let first = write("pods/default/a", "create");
        write("pods/default/a", "put");
        write("configmaps/default/c", "create");
        let removed = write("pods/default/a", "delete");
        let again = write("pods/default/a", "create");
        let expected = [
            json!({"name": "pods/default/a", "from": again}),
            json!({"name": "pods/default/a", "from": first, "to": removed}),
        ];
        assert_eq!(lives(&recorder.entries(EntryId(0)), |plural| plural == "pods"), expected);
    }
}
