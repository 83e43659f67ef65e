use std::collections::BTreeSet;

use serde_json::Value;

use super::check::{Check, Grade, Violation};
use super::run::Run;
use super::run_log::text;

pub(super) const STUCK_FINALIZER: Check = Check {
    word: "stuck-finalizer",
    grade: Grade::Broken,
    title: "does not remove its finalizer",
    about: "The cluster is at rest, and an object terminates that has a finalizer which the component added to an \
            object before.",
    except: "Finalizers of others.",
    find: |run, _| stuck(run),
};

fn stuck(run: &Run) -> Vec<Violation> {
    let Some(rest) = run.emptied.or(run.settled) else { return Vec::new() };
    let added = run.log.writes_of(&run.user).flat_map(|write| {
        let before = finalizers(write.before.as_deref());
        finalizers(write.after.as_deref()).difference(&before).copied().collect::<Vec<_>>()
    });
    let own: BTreeSet<&str> = added.collect();
    let mut found = Vec::new();
    for (subject, write) in run.log.objects_at(rest) {
        let Some(object) = write.after.as_deref() else { continue };
        let kept = finalizers(Some(object)).into_iter().find(|finalizer| own.contains(finalizer));
        if let (Some(kept), false) = (kept, text(object, "/metadata/deletionTimestamp").is_empty()) {
            found.push(Violation::at(write.entry, format!("{subject} keeps {kept}")));
        }
    }
    found
}

fn finalizers(object: Option<&Value>) -> BTreeSet<&str> {
    let list = object.and_then(|object| object.pointer("/metadata/finalizers")).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}
