use std::collections::BTreeSet;

use serde_json::Value;

use super::check::{Check, Grade, Violation};
use super::run::Run;
use super::run_log::{LoggedWrite, at, text};

pub(super) const STUCK_FINALIZER: Check = Check {
    word: "stuck-finalizer",
    grade: Grade::Broken,
    title: "does not remove its finalizer",
    about: "The cluster is at rest, and an object terminates that has a finalizer which the component added to an \
            object before, or removed from one in a run without a fault.",
    except: "Finalizers of others, and those that the API server adds to each claim and each volume for their \
             protection.",
    find: |run, faultless| stuck(run, faultless),
};

/// The finalizers that the API server adds to what a component creates. In Kubernetes: the admission plug-in
/// `StorageObjectInUseProtection`.
const OF_THE_API_SERVER: [&str; 2] = ["kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"];

fn stuck(run: &Run, faultless: &[&Run]) -> Vec<Violation> {
    let Some(rest) = run.emptied.or(run.settled) else { return Vec::new() };
    let added = changes(run, |before, after| (after, before));
    let removed = faultless.iter().flat_map(|run| changes(run, |before, after| (before, after)));
    let own: BTreeSet<&str> =
        added.into_iter().chain(removed).filter(|finalizer| !OF_THE_API_SERVER.contains(finalizer)).collect();
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

/// The finalizers that are in one state of an object and not in the other, for the writes of the component.
fn changes<'r>(
    run: &'r Run,
    order: impl Fn(Option<&'r Value>, Option<&'r Value>) -> (Option<&'r Value>, Option<&'r Value>),
) -> BTreeSet<&'r str> {
    let of = |write: &'r LoggedWrite| {
        let (with, without) = order(write.before.as_deref(), write.after.as_deref());
        let without = finalizers(without);
        finalizers(with).into_iter().filter(move |finalizer| !without.contains(finalizer))
    };
    run.log.writes_of(&run.user).flat_map(of).collect()
}

fn finalizers(object: Option<&Value>) -> BTreeSet<&str> {
    let list = object.and_then(|object| at(object, "/metadata/finalizers")).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}
