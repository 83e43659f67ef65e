//! `refuse: 409`: another writer wins, and the API server itself answers.

use coracle_journal::{Entry, Recorder, Stage};
use coracle_scenario::{Options, Outcome, Report};

use crate::harness;

fn run(spec: &str) -> Report {
    harness::run_with(spec, &Options::default(), || Recorder::ring(1_000_000))
}

const MAP: &str = "apiVersion: v1, kind: ConfigMap, metadata: {name: one}";

/// A scenario in which the user `scenario` reads a ConfigMap and writes it, with something between.
fn read_and_write(fault: &str, between: &str, refused: bool) -> String {
    format!(
        "  faults:\n  - {fault}\n  steps:\n  - name: a\n    try:\n    - create: {{resource: {{{MAP}}}}}\n    \
         - get: {{ref: {{apiVersion: v1, kind: ConfigMap, name: one}}, as: it}}\n{between}    \
         - update: {{from: it, resource: {{data: {{a: b}}}}, refused: {refused}}}\n"
    )
}

const UPDATE: &str = "{when: {by: scenario, verb: update, resource: configmaps}, do: {refuse: 409}}";

fn place(entries: &[Entry], is_it: impl Fn(&Entry) -> bool) -> usize {
    entries.iter().position(is_it).expect("the log has the entry")
}

#[test]
fn the_server_answers_409_because_another_writer_was_faster() {
    let report = run(&read_and_write(UPDATE, "", true));
    assert!(report.passed(), "{}", report.block());
    let entries = report.events().entries.clone();
    let on = place(&entries, |entry| entry.stage == Stage::FaultOn);
    let is_other = |entry: &Entry| entry.stage == Stage::ApiRequest && entry.data["user"] == "system:coracle:faults";
    let other = place(&entries, is_other);
    assert_eq!(entries[other].causes, [entries[on].id]);
    assert_eq!(
        (&entries[other].subject, &entries[other].data["verb"]),
        (&"configmaps/default/one".to_owned(), &"patch".into())
    );
    let refused = place(&entries, |entry| entry.stage == Stage::ApiRespond && entry.data["code"] == 409);
    assert!(on < other && other < refused);
    assert_ne!(entries[refused].data["precondition"], entries[refused].data["stored"]);
    // Without the fault, the same write succeeds.
    let other = UPDATE.replace("by: scenario", "by: scheduler");
    let Outcome::Failed(failure) = run(&read_and_write(&other, "", true)).outcome else { panic!("it succeeds") };
    assert!(failure.what.contains("update"), "{failure:?}");
}

#[test]
fn a_request_that_cannot_conflict_is_not_struck() {
    let create = UPDATE.replace("verb: update, ", "");
    let report = run(&format!(
        "  faults:\n  - {create}\n  steps:\n  - name: a\n    try:\n    - create: {{resource: {{{MAP}}}}}\n    \
         - delete: {{ref: {{apiVersion: v1, kind: ConfigMap, name: one}}}}\n"
    ));
    let Outcome::NothingMatched(failure) = &report.outcome else { panic!("{:?}", report.outcome) };
    let found = "no request matched; 2 matched without a resourceVersion, so they cannot conflict, the last of them: \
                 delete configmaps default/one by scenario";
    assert!(failure.found.starts_with(found), "{failure:?}");
    assert!(!report.events().entries.iter().any(|entry| entry.stage == Stage::FaultOn));
}

#[test]
fn an_object_that_is_gone_has_no_other_writer() {
    let delete = "    - delete: {ref: {apiVersion: v1, kind: ConfigMap, name: one}}\n";
    let report = run(&read_and_write(UPDATE, delete, false));
    let is_of_the_fault = |entry: &&Entry| entry.data.get("expected").is_some_and(|expected| expected == "it strikes");
    let failure = report.events().entries.iter().find(is_of_the_fault).expect("the fault did not strike").clone();
    assert_eq!(
        failure.data["found"],
        "a request matched, and had the answer 404 instead of 409: update configmaps default/one by scenario"
    );
}

#[test]
fn a_controller_repeats_what_conflicted() {
    let set = "apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web}, spec: {replicas: 2, \
               selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, \
               spec: {containers: [{name: c, image: i}]}}}";
    let report = run(&format!(
        "  faults:\n  - {{when: {{verb: update, resource: replicasets/status, name: web}}, do: {{refuse: 409}}, for: 3}}\n  \
         steps:\n  - name: a\n    try:\n    - create: {{resource: {{{set}}}}}\n    \
         - assert: {{cel: \"replicasets.exists(r, has(r.status.replicas) && r.status.replicas == 2)\"}}\n"
    ));
    assert!(report.passed(), "{}", report.block());
    let entries = &report.events().entries;
    let conflicts = entries.iter().filter(|entry| entry.stage == Stage::ApiRespond && entry.data["code"] == 409);
    assert!(conflicts.count() >= 3);
    let struck: Vec<_> = entries.iter().filter(|entry| entry.stage == Stage::FaultOn).collect();
    assert_eq!(struck.len(), 3);
    assert!(struck.iter().all(|entry| !entry.causes.is_empty()), "{struck:?}");
}
