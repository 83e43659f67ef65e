//! When faults begin: with a change of an object, at a revision, and what is said if that does not come.

use coracle_journal::{Entry, Recorder, Stage};
use coracle_scenario::{Options, Outcome, Report};

use crate::harness;

fn run(spec: &str) -> Report {
    harness::run_with(spec, &Options::default(), || Recorder::ring(1_000_000))
}

/// A scenario that writes two ConfigMaps twice each and deletes the first. A second passes after each operation, and
/// `fault` refuses creates from its moment on.
fn writes(fault: &str) -> String {
    let sleep = "    - sleep: {duration: 1s}\n";
    let map = |name: &str| format!("apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}");
    let create = |name: &str| format!("    - create: {{resource: {{{}}}}}\n{sleep}", map(name));
    let patch = |name: &str| format!("    - patch: {{resource: {{{}, data: {{a: b}}}}}}\n{sleep}", map(name));
    let delete = "    - delete: {ref: {apiVersion: v1, kind: ConfigMap, name: one}}\n    - sleep: {duration: 1s}\n";
    let (one, two) = (create("one") + &patch("one"), create("two") + &patch("two"));
    format!(
        "  faults:\n  - {fault}\n  steps:\n  - name: first\n    try:\n{one}{two}  - name: second\n    try:\n{delete}"
    )
}

const HANG: &str = "do: {hang: {}, kind: ConfigMap, to: scenario}";

fn begin(report: &Report) -> Entry {
    let on = report.events().entries.iter().find(|entry| entry.stage == Stage::FaultOn);
    on.unwrap_or_else(|| panic!("it did not begin: {}", report.block())).clone()
}

/// The entry that caused the beginning of a fault.
fn cause(report: &Report) -> Entry {
    let on = begin(report);
    let [cause] = on.causes[..] else { panic!("{on:?}") };
    report.events().entries.iter().find(|entry| entry.id == cause).unwrap().clone()
}

#[test]
fn a_fault_begins_with_a_change_of_an_object() {
    for (event, written) in [
        ("{kind: ConfigMap, type: ADDED, name: t*}", "configmaps/default/two"),
        ("{kind: ConfigMap, type: ADDED, namespace: default, nth: 2}", "configmaps/default/two"),
        ("{kind: ConfigMap, type: DELETED, namespace: default}", "configmaps/default/one"),
        (
            "{kind: ConfigMap, namespace: default, cel: 'oldObject != null && object != null && has(object.data)'}",
            "configmaps/default/one",
        ),
        ("{kind: ConfigMap, namespace: default, cel: 'object == null'}", "configmaps/default/one"),
    ] {
        let report = run(&writes(&format!("{{when: {{event: {event}}}, {HANG}}}")));
        let cause = cause(&report);
        assert_eq!((cause.stage, cause.subject.as_str()), (Stage::StoreCommit, written), "{event}: {cause:?}");
        assert_eq!(begin(&report).at, cause.at, "{event}: it begins with the change");
    }
}

#[test]
fn a_change_before_the_step_does_not_count() {
    let fault = format!("{{when: {{step: second, event: {{kind: ConfigMap, type: ADDED}}}}, {HANG}}}");
    let Outcome::NothingMatched(failure) = run(&writes(&fault)).outcome else { panic!("none was added") };
    assert_eq!(
        failure.found,
        "no change matched; 1 matched in all fields but one, the last of them: DELETED ConfigMap default/one"
    );
}

#[test]
fn a_fault_begins_at_a_revision() {
    let entries = |fault: &str| run(&writes(fault)).events().entries.clone();
    let begun = entries(&format!("{{when: {{event: {{kind: ConfigMap, type: ADDED, name: one}}}}, {HANG}}}"));
    let revision = |entries: &[Entry]| {
        let on = entries.iter().find(|entry| entry.stage == Stage::FaultOn).expect("it begins");
        entries.iter().find(|entry| entry.id == on.causes[0]).unwrap().revision.expect("a commit has a revision")
    };
    let one = revision(&begun);
    let absolute = entries(&format!("{{when: {{revision: {}}}, {HANG}}}", one + 1));
    assert_eq!(revision(&absolute), one + 1);
    let relative = entries(&format!("{{when: {{step: first, revisions: 2}}, {HANG}}}"));
    assert_eq!(revision(&relative), one + 1, "the second write of the step");
    let far = run(&writes(&format!("{{when: {{revision: 1000000}}, {HANG}}}")));
    let Outcome::NothingMatched(failure) = &far.outcome else { panic!("{:?}", far.outcome) };
    assert!(failure.found.starts_with("it waits for revision 1000000, and the last is "), "{failure:?}");
}

#[test]
fn requests_are_counted_from_the_event_on() {
    let fault =
        "{when: {event: {kind: ConfigMap, type: ADDED, name: one}, by: scenario, verb: create}, do: {refuse: 503}}";
    let report = run(&writes(fault));
    let Outcome::Failed(failure) = &report.outcome else { panic!("{:?}", report.outcome) };
    assert!(failure.found.contains("unable to handle the request"), "{failure:?}");
    assert_eq!(begin(&report).subject, "configmaps/default/two");
}
