//! Over all scenarios: no controller writes what changes nothing, none asks the API server for what informers tell, and each
//! says what it decided and what it looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use coracle_journal::{Entry, EntryId, Recorder, Stage};
use coracle_scenario::{BuiltIn, Options, execute, parse};
use serde_json::Value;

/// Who lists for a reason: a namespace is emptied of whatever kinds there are, round by round; and a claim that was
/// deleted is let go only if no pod uses it now, of which a cache may not know yet. The CSI driver is a program of its own,
/// whose informers list and watch as it. What pods use is told by no watch, so the autoscaler lists it.
const LISTS: [&str; 4] = [
    "system:serviceaccount:kube-system:horizontal-pod-autoscaler",
    "system:serviceaccount:kube-system:namespace-controller",
    "system:serviceaccount:kube-system:pvc-protection-controller",
    "system:serviceaccount:kube-system:csi-sim",
];

fn word<'e>(entry: &'e Entry, name: &str) -> &'e str {
    entry.data.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn code(entry: &Entry) -> i64 {
    entry.data.get("code").and_then(Value::as_i64).unwrap_or_default()
}

/// Updates and patches of the controllers that were taken and made no revision.
fn useless_writes(entries: &[Entry]) -> Vec<String> {
    let by_id: BTreeMap<EntryId, &Entry> = entries.iter().map(|entry| (entry.id, entry)).collect();
    let of = |stage: Stage| entries.iter().filter(move |entry| entry.stage == stage);
    let committed: BTreeSet<EntryId> = of(Stage::StoreCommit).flat_map(|commit| commit.causes.clone()).collect();
    let taken = of(Stage::ApiRespond).filter(|respond| (200..300).contains(&code(respond)));
    let taken: BTreeSet<EntryId> = taken.flat_map(|respond| respond.causes.clone()).collect();
    let by_controller = |request: &&Entry| {
        let causes = request.causes.iter().filter_map(|cause| by_id.get(cause));
        causes.into_iter().any(|cause| {
            cause.stage == Stage::SyncWrite
                && cause.actor.starts_with("controller-manager/")
                && ["update", "patch"].contains(&word(cause, "verb"))
        })
    };
    let useless = of(Stage::ApiRequest)
        .filter(by_controller)
        .filter(|request| taken.contains(&request.id) && !committed.contains(&request.id));
    useless
        .map(|request| format!("{} {} by {}", word(request, "verb"), request.subject, word(request, "user")))
        .collect()
}

/// Lists and watches of controllers that informers would have told.
fn lists(entries: &[Entry]) -> Vec<String> {
    let asked = entries.iter().filter(|entry| entry.stage == Stage::ApiRequest);
    let asked = asked.filter(|request| ["list", "watch"].contains(&word(request, "verb")));
    let own = asked.filter(|request| word(request, "user").starts_with("system:serviceaccount:kube-system:"));
    let told = own.filter(|request| !LISTS.contains(&word(request, "user")));
    told.map(|request| format!("{} {} by {}", word(request, "verb"), request.subject, word(request, "user"))).collect()
}

/// Who may know enough without an object: the garbage collector by its graph of owners, a node by its own files.
const LOOKS_ELSEWHERE: [&str; 2] = ["controller-manager/garbage-collector", "kubelet/pods"];

/// Syncs that do not say what was decided, or that looked at nothing, neither in a cache nor at the API server.
fn silent(entries: &[Entry]) -> Vec<String> {
    let asked: BTreeSet<EntryId> = entries
        .iter()
        .filter(|entry| entry.stage == Stage::ApiRequest)
        .flat_map(|request| request.causes.clone())
        .collect();
    let ended = entries.iter().filter(|entry| entry.stage == Stage::SyncEnd);
    let says = |entry: &Entry| {
        let is_asked = entry.causes.iter().any(|start| asked.contains(start));
        !word(entry, "decided").is_empty()
            && (entry.data.contains_key("looked") || is_asked || LOOKS_ELSEWHERE.contains(&&*entry.actor))
    };
    ended
        .filter(|entry| !says(entry))
        .map(|entry| format!("#{} {} of {}", entry.id.0, entry.actor, entry.subject))
        .collect()
}

#[test]
fn controllers_write_no_unchanged_object_list_no_cached_resource_and_explain_each_sync() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 10);
    let mut found = Vec::new();
    let mut writes = 0;
    for file in files {
        let scenario = parse::read(&file, &BuiltIn::default()).unwrap();
        let report = execute(&scenario, &file, &Options::default(), |_| Recorder::ring(1_000_000)).unwrap();
        let name = &scenario.metadata.name;
        found.extend(useless_writes(&report.events().entries).into_iter().map(|one| format!("{name}: {one}")));
        found.extend(lists(&report.events().entries).into_iter().map(|one| format!("{name}: {one}")));
        found.extend(silent(&report.events().entries).into_iter().map(|one| format!("{name}: silent: {one}")));
        writes += report.events().entries.iter().filter(|entry| entry.stage == Stage::SyncWrite).count();
    }
    assert!(writes > 100, "{writes}");
    assert!(found.is_empty(), "{} of them:\n{}", found.len(), found.join("\n"));
}
