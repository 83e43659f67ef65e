use coracle_journal::{Entry, Stage};
use serde_json::{Map, Value};

use crate::find::place;
use crate::sentence::word;

/// How many fields are named at most.
const MOST: usize = 4;
/// A field that every write changes.
const VERSION: &str = "metadata.resourceVersion";

/// The fields that an update changed, to a depth of two, from the next line of the log about the object. `None` if the
/// entry is not an update, or if the log does not show it. The page uses the same rule.
pub(crate) fn changed(entries: &[Entry], commit: &Entry) -> Option<String> {
    if commit.stage != Stage::StoreCommit || word(commit, "op") != "put" {
        return None;
    }
    let after = &entries[place(entries, commit.id).ok()?..];
    let told = after.iter().filter(|entry| entry.stage == Stage::ObjectChange);
    // Changes of objects are recorded in the order of revisions, so the search stops at the first later revision.
    let is_it = |entry: &&Entry| entry.subject == commit.subject && entry.causes.contains(&commit.id);
    let told = told.take_while(|entry| entry.revision <= commit.revision).find(is_it)?;
    fields(told.data.get("patch")?.as_object()?)
}

/// The fields that a merge patch changes.
fn fields(patch: &Map<String, Value>) -> Option<String> {
    let below = |(name, value): (&String, &Value)| match value.as_object().filter(|below| !below.is_empty()) {
        Some(below) => below.keys().map(|field| format!("{name}.{field}")).collect(),
        None => vec![name.clone()],
    };
    let mut fields: Vec<String> = patch.iter().flat_map(below).filter(|field| field != VERSION).collect();
    fields.sort_unstable();
    let more = fields.len().saturating_sub(MOST);
    fields.truncate(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!fields.is_empty()).then(|| fields.join(", ") + &more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_journal::{Detail, EntryId, Recorder};
    use serde_json::json;

    #[test]
    fn an_update_changes_the_fields_of_its_patch_but_for_the_version() {
        let recorder = Recorder::ring(10);
        let say = |stage, detail: Detail| recorder.record("x", stage, || detail).unwrap();
        let update = say(Stage::StoreCommit, Detail::about("pods/a/b").at(2).with("op", "put"));
        let tell = |subject: &str, patch| {
            say(Stage::ObjectChange, Detail::about(subject).at(2).caused_by([update]).with("patch", patch))
        };
        let status =
            json!({"phase": "Running", "podIP": "10.0.0.1", "conditions": [], "startTime": null, "hostIP": "10.0.0.2"});
        tell("pods/a/other", json!({"spec": {"nodeName": "node-1"}}));
        tell("pods/a/b", json!({"metadata": {"resourceVersion": "2"}, "data": {}, "status": status}));
        let nothing = say(Stage::StoreCommit, Detail::about("pods/a/b").at(3).with("op", "put"));
        say(
            Stage::ObjectChange,
            Detail::about("pods/a/b")
                .at(3)
                .caused_by([nothing])
                .with("patch", json!({"metadata": {"resourceVersion": "3"}})),
        );
        let made = say(Stage::StoreCommit, Detail::about("pods/a/c").at(4).with("op", "create"));
        let entries = recorder.entries(EntryId(0));
        let of = |id| changed(&entries, &entries[place(&entries, id).unwrap()]);
        assert_eq!(of(update).unwrap(), "data, status.conditions, status.hostIP, status.phase and 2 more");
        assert_eq!((of(nothing), of(made)), (None, None));
    }
}
