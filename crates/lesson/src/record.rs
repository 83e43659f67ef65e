//! A run as expressions see it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use coracle_journal::{Entry, EntryId, Events, Stage};
use coracle_sim::patch_map;
use serde_json::{Map, Value, json};

/// A run's entries, and the objects at each revision.
pub(crate) struct Record<'e> {
    pub(crate) entries: &'e [Entry],
    /// The index of the first step.
    begin: usize,
    /// The first entry that differs from the other run, if the two are compared.
    pub(crate) differs: Option<EntryId>,
    /// The change of each object at each revision.
    changes: BTreeMap<(&'e str, i64), Change>,
    /// All entries from the first step on, as expressions see them.
    pub(crate) shown: Value,
}

/// An object before and after a change, and the managers of its fields after it.
struct Change {
    before: Option<Map<String, Value>>,
    after: Option<Map<String, Value>>,
    managers: Map<String, Value>,
}

impl<'e> Record<'e> {
    pub(crate) fn of(events: &'e Events) -> Self {
        let entries = &events.entries[..];
        let begin = entries.iter().position(|entry| entry.stage == Stage::StepStart).unwrap_or(0);
        let mut record = Self { entries, begin, differs: None, changes: changes(entries), shown: Value::Null };
        let shown = entries[begin..].iter().map(|entry| match entry.stage {
            Stage::ObjectChange => record.shown(entry),
            _ => plain(entry),
        });
        record.shown = shown.collect();
        record
    }

    /// The entries from the first step on.
    pub(crate) fn entries_of_steps(&self) -> &'e [Entry] {
        &self.entries[self.begin..]
    }

    /// An entry with the object that it is about.
    pub(crate) fn shown(&self, entry: &'e Entry) -> Value {
        let mut shown = plain(entry);
        let revision = entry.revision.unwrap_or_default();
        if let Some(change) = self.changes.get(&(entry.subject.as_str(), revision)) {
            if let Some(after) = &change.after {
                shown["object"] = json!(after);
            }
            if let Some(before) = &change.before {
                shown["before"] = json!(before);
            }
            shown["managers"] = json!(change.managers);
        }
        shown
    }

    /// All entries that an entry caused directly or indirectly, including itself.
    pub(crate) fn effects(&self, of: EntryId) -> BTreeSet<EntryId> {
        let mut found = BTreeSet::from([of]);
        // Causes are earlier, so one pass over the entries in order finds all.
        for entry in self.entries_of_steps() {
            if entry.causes.iter().any(|cause| found.contains(cause)) {
                found.insert(entry.id);
            }
        }
        found
    }
}

fn plain(entry: &Entry) -> Value {
    json!({
        "id": entry.id,
        "at": duration(entry.at),
        "actor": entry.actor,
        "stage": entry.stage.word(),
        "subject": entry.subject,
        "causes": entry.causes,
        "revision": entry.revision.unwrap_or_default(),
        "data": entry.data,
    })
}

/// A duration in the format of CEL.
fn duration(at: Duration) -> String {
    format!("{}.{:09}s", at.as_secs(), at.subsec_nanos())
}

fn changes(entries: &[Entry]) -> BTreeMap<(&str, i64), Change> {
    type State = (Map<String, Value>, Map<String, Value>);
    let mut now: BTreeMap<&str, State> = BTreeMap::new();
    let mut all = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.stage == Stage::ObjectChange) {
        let map = |name: &str| entry.data.get(name).and_then(Value::as_object);
        let known = now.remove(entry.subject.as_str());
        let before = known.as_ref().map(|(object, _)| object.clone());
        let key = (entry.subject.as_str(), entry.revision.unwrap_or_default());
        if entry.data.contains_key("gone") {
            all.insert(key, Change { before, after: None, managers: Map::new() });
            continue;
        }
        let (mut object, mut managers) = known.unwrap_or_default();
        match (map("whole"), map("patch")) {
            (Some(whole), _) => (object, managers) = (whole.clone(), Map::new()),
            (None, Some(patch)) => patch_map(&mut object, patch),
            (None, None) => {}
        }
        if let Some(changed) = map("managers") {
            patch_map(&mut managers, changed);
        }
        all.insert(key, Change { before, after: Some(object.clone()), managers: managers.clone() });
        now.insert(entry.subject.as_str(), (object, managers));
    }
    all
}
