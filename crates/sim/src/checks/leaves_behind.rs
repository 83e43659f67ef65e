use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::check::{Check, Grade, Violation};
use super::run::Run;
use super::run_log::{LoggedWrite, at, is_record, text};

pub(super) const LEAVES_BEHIND: Check = Check {
    word: "leaves-behind",
    grade: Grade::Broken,
    title: "leaves objects behind",
    about: "Everything that the component was given is deleted, the cluster is at rest, and an object that the component \
            created still exists.",
    except: "Leases and Events, objects that terminate, and objects whose owners are all gone: the garbage collector \
             deletes these.",
    find: |run, _| left(run),
};

fn left(run: &Run) -> Vec<Violation> {
    let Some(emptied) = run.emptied else { return Vec::new() };
    let objects = run.log.objects_at(emptied);
    let uids: BTreeSet<&str> = objects.values().map(|write| write.uid()).collect();
    let creators: BTreeMap<&str, &LoggedWrite> =
        run.log.writes_of(&run.user).filter(|write| write.before.is_none()).map(|write| (write.uid(), write)).collect();
    let is_left = |write: &&&LoggedWrite| {
        let object = write.after.as_deref().unwrap_or(&Value::Null);
        let is_terminating = at(object, "/metadata/deletionTimestamp").is_some();
        !is_record(object) && !is_terminating && !is_garbage(object, &uids)
    };
    let created = |write: &&LoggedWrite| creators.get(write.uid()).copied();
    let left = objects.values().filter(is_left).filter_map(created);
    left.map(|creation| Violation::at(creation.entry, format!("{} still exists", creation.subject))).collect()
}

/// Whether an object has owners, and all of them are gone. In Kubernetes: the garbage collector deletes it.
fn is_garbage(object: &Value, uids: &BTreeSet<&str>) -> bool {
    let owners = at(object, "/metadata/ownerReferences").and_then(Value::as_array);
    owners.is_some_and(|owners| !owners.is_empty() && owners.iter().all(|owner| !uids.contains(text(owner, "/uid"))))
}
