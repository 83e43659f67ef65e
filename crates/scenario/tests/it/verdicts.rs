//! A check sees every write before it: what a scenario claims is judged by what the store holds, and not by what was seen of it.

use coracle_journal::Recorder;
use coracle_scenario::{Mode, Options, Outcome, Report};

use crate::harness;

const MODES: [Mode; 2] = [Mode::Virtual, Mode::Real];

fn run(mode: Mode, spec: &str) -> Report {
    harness::run(spec, &Options { mode: Some(mode), ..Options::default() }, &Recorder::ring(100_000))
}

/// A scenario of one step with these operations.
fn step(mode: Mode, operations: &str) -> Report {
    run(mode, &format!("  steps:\n  - name: the step\n    try:\n{operations}"))
}

/// What was found where something else was to come, and did not in time.
fn not_in_time(report: &Report) -> &str {
    match &report.outcome {
        Outcome::NotInTime(failure) => &failure.found,
        other => panic!("{other:?}\n{}", report.block()),
    }
}

const CREATE: &str = "    - create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}\n";
const DELETE: &str = "    - delete: {ref: {apiVersion: v1, kind: ConfigMap, name: x}}\n";

fn there(word: &str) -> String {
    format!("    - {word}: {{cel: \"configmaps.exists(c, c.metadata.name == 'x')\", timeout: 100ms}}\n")
}

/// The names of the ConfigMaps that a failure shows.
fn shown_names(found: &str) -> Vec<&str> {
    let names = found.strip_prefix("configmaps = [").and_then(|rest| rest.strip_suffix(']'));
    names.unwrap_or_else(|| panic!("{found}")).split(", ").collect()
}

fn shows_no_x(found: &str) -> bool {
    !shown_names(found).contains(&"x")
}

#[test]
fn an_assert_sees_the_deletion_before_it() {
    for mode in MODES {
        let operations = format!("{CREATE}{}{DELETE}{}", there("assert"), there("assert"));
        assert!(shows_no_x(not_in_time(&step(mode, &operations))));
        let paused = operations
            .replace(DELETE, &format!("    - sleep: {{duration: 1ms}}\n{DELETE}    - sleep: {{duration: 1ms}}\n"));
        assert!(shows_no_x(not_in_time(&step(mode, &paused))), "a pause makes no difference");
    }
}

#[test]
fn an_error_sees_the_creation_before_it() {
    for mode in MODES {
        assert_eq!(not_in_time(&step(mode, &format!("{CREATE}{}", there("error")))), "it still holds");
        let part = "    - error: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}, timeout: 100ms}\n";
        assert_eq!(not_in_time(&step(mode, &format!("{CREATE}{part}"))), "it still holds");
    }
}

#[test]
fn a_wait_sees_the_write_before_it() {
    let wait = |what: &str| {
        format!("    - wait: {{apiVersion: v1, kind: ConfigMap, name: x, for: {{{what}: {{}}}}, timeout: 100ms}}\n")
    };
    for mode in MODES {
        let operations = format!("{CREATE}{}{DELETE}{}", wait("creation"), wait("creation"));
        assert_eq!(not_in_time(&step(mode, &operations)), "no such object");
        let operations = format!("{CREATE}{}", wait("deletion"));
        assert_eq!(not_in_time(&step(mode, &operations)), "x is there");
    }
}

#[test]
fn selectors_choose_among_all_written_objects() {
    for mode in MODES {
        let patch = "    - patch: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: '1'}}}\n";
        let by_label = "    - create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: labelled, labels: {a: b}}}}\n\
            \x20   - delete: {ref: {apiVersion: v1, kind: ConfigMap, labels: {a: b}}}\n";
        let report = step(mode, &format!("{CREATE}{patch}{DELETE}{by_label}"));
        assert!(report.passed(), "{}", report.block());
        let twice = step(mode, &format!("{CREATE}{DELETE}{DELETE}"));
        assert!(matches!(&twice.outcome, Outcome::Failed(failure) if failure.found == "there is no ConfigMap x"));
    }
}

#[test]
fn never_is_checked_at_every_revision_including_the_last() {
    let never = "  never:\n  - {name: never x, cel: \"configmaps.exists(c, c.metadata.name == 'x')\"}\n";
    for mode in MODES {
        // It is there at the last revision, or at one revision only: `never` speaks of all of them.
        for operations in [CREATE.to_owned(), format!("{CREATE}{DELETE}")] {
            let steps = format!("  steps:\n  - name: the step\n    try:\n{operations}");
            let report = run(mode, &format!("{steps}{never}"));
            let Outcome::Failed(failure) = &report.outcome else { panic!("{}", report.block()) };
            let shows_x = shown_names(&failure.found).contains(&"x");
            assert!(failure.what == "never x" && shows_x, "{failure:?}");
            let made = report.events().entries.iter().find(|entry| {
                entry.subject == "configmaps/default/x" && entry.stage == coracle_journal::Stage::StoreCommit
            });
            assert_eq!(Some(failure.revision), made.and_then(|entry| entry.revision), "the revision that made it");
            assert!(run(mode, &steps).passed());
        }
    }
}

#[test]
fn a_dead_store_is_read_at_its_last_state_and_nothing_hangs() {
    for mode in MODES {
        let stop = "    - stop: {component: store}\n";
        let operations = format!("{CREATE}{DELETE}{stop}{}", there("assert"));
        assert!(shows_no_x(not_in_time(&step(mode, &operations))));
        let operations = format!("{CREATE}{stop}{}", there("error"));
        assert_eq!(not_in_time(&step(mode, &operations)), "it still holds");
        let start = "    - start: {component: store}\n";
        let back = format!("{CREATE}{stop}{}{start}{}{DELETE}{}", there("assert"), there("assert"), there("error"));
        let report = step(mode, &back);
        assert!(report.passed(), "{}", report.block());
    }
}
