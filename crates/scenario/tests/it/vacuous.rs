//! A check that would have passed whatever the step did is named in every format, and fails where that is asked for.

use coracle_journal::Recorder;
use coracle_scenario::{Disturbance, Options, Outcome, Report};

use crate::harness;

/// The step creates nothing, so that its check held before it.
const HELD_BEFORE: &str = "
  steps:
  - name: a step that does nothing
    try:
    - error: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}
";

fn run(spec: &str) -> Report {
    harness::run(spec, &Options::default(), &Recorder::ring(100_000))
}

/// Why each check was vacuous.
fn reasons(spec: &str) -> Vec<String> {
    let report = run(spec);
    assert!(report.passed(), "{}", report.block());
    report.checks.into_iter().filter_map(|check| check.vacuous).collect()
}

#[test]
fn each_kind_of_vacuous_check_has_a_reason() {
    let create = "- create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}";
    let step = |check: &str| format!("  steps:\n  - name: a\n    try:\n    {create}\n    - {check}\n");
    let wait =
        |what: &str| step(&format!("wait: {{apiVersion: v1, kind: ConfigMap, name: {what}, for: {{deletion: {{}}}}}}"));
    for (spec, reason) in [
        (HELD_BEFORE.to_owned(), "operation 1, error, would have passed before the step"),
        (step("assert: {cel: 'nodes.size() == 0'}"), "operation 2, assert, would have passed before the step"),
        (wait("other"), "operation 2, wait, did not wait"),
        (
            format!(
                "  requests: [{{name: r, verb: delete, resource: pods, by: scenario, count: 0}}]\n{}",
                step("sleep: {duration: 1ms}")
            ),
            "no request matched",
        ),
    ] {
        assert_eq!(reasons(&spec), [reason], "{spec}");
    }
    for word in ["always: [{name: n, cel: 'pods.all(p, false)'}]", "never: [{name: n, cel: 'pods.exists(p, true)'}]"] {
        let reasons = reasons(&format!("  {word}\n{}", step("sleep: {duration: 1ms}")));
        assert_eq!(reasons, ["there was nothing to look at, at any revision"], "{word}");
    }
    // The same checks, where the step makes them true.
    let claim = "cel: \"configmaps.exists(c, c.metadata.name == 'x')\"";
    let first = format!("  always: [{{name: n, {claim}, since: b}}]\n{}", step(&format!("assert: {{{claim}}}")));
    assert_eq!(reasons(&format!("{first}  - {{name: b, try: [{{sleep: {{duration: 1ms}}}}]}}\n")), [""; 0]);
}

#[test]
fn every_format_names_a_vacuous_check_with_its_reason() {
    let report = run(HELD_BEFORE);
    let why = "operation 1, error, would have passed before the step";
    assert!(report.block().contains(&format!("vacuous: {why}")), "{}", report.block());
    assert!(report.block().lines().next().unwrap().ends_with("1 vacuous check"), "{}", report.block());
    let folder = std::env::temp_dir().join(format!("coracle-vacuous-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let written = |name: &str| {
        report.write(&folder.join(name)).unwrap();
        std::fs::read_to_string(folder.join(name)).unwrap()
    };
    let json: serde_json::Value = serde_json::from_str(&written("a.json")).unwrap();
    assert_eq!(json["summary"]["checks"][0]["vacuous"], why, "{json:#}");
    let junit = written("a.xml");
    assert!(junit.contains(&format!("<system-out>vacuous: {why}</system-out>")), "{junit}");
    let markdown = written("a.md");
    assert!(markdown.contains(&format!("; vacuous: {why}")), "{markdown}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn strict_makes_a_vacuous_check_one_that_failed() {
    let options = Options { strict: true, ..Options::default() };
    let report = harness::run(HELD_BEFORE, &options, &Recorder::ring(100_000));
    let Outcome::Failed(failure) = &report.outcome else { panic!("{}", report.block()) };
    assert_eq!(failure.found, "operation 1, error, would have passed before the step");
    assert!(!report.checks[0].held, "{}", report.block());
}

#[test]
fn a_disturbance_that_never_struck_matched_nothing() {
    for disturbance in ["kill@100000", "pause@100000", "double@100000"] {
        let disturbance: Disturbance = disturbance.parse().unwrap();
        let options = Options { disturbance: Some(disturbance), ..Options::default() };
        let report = harness::run(HELD_BEFORE, &options, &Recorder::ring(100_000));
        let Outcome::NothingMatched(failure) = &report.outcome else { panic!("{}", report.block()) };
        assert!(failure.what.contains(&disturbance.to_string()), "{failure:?}");
    }
}

#[test]
fn requests_that_the_log_does_not_hold_are_not_counted() {
    let spec =
        format!("  requests: [{{name: none, verb: delete, resource: pods, by: scenario, count: 0}}]\n{HELD_BEFORE}");
    for (recorder, found) in [
        (Recorder::ring(10), "requests before are not known"),
        (Recorder::off(), "the run has no event log in which requests could be counted"),
    ] {
        let report = harness::run(&spec, &Options::default(), &recorder);
        let Outcome::Failed(failure) = &report.outcome else { panic!("{}", report.block()) };
        assert!(failure.what == "none" && failure.found.contains(found), "{failure:?}");
    }
}

const LAPSE: &str = "
    - create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}
    - delete: {ref: {apiVersion: v1, kind: ConfigMap, name: x}}
";

#[test]
fn still_wants_what_it_says_at_every_revision_since_the_step_began() {
    let spec = |operations: &str, still: &str| {
        let check = format!("    - error: {{cel: \"configmaps.exists(c, c.metadata.name == 'x')\"{still}}}\n");
        format!("  steps:\n  - name: a step\n    try:\n{operations}{check}")
    };
    let sleep = "    - sleep: {duration: 1ms}\n";
    assert!(run(&spec(LAPSE, "")).passed(), "it does not hold any more");
    let report = run(&spec(LAPSE, ", still: true"));
    let Outcome::Failed(failure) = &report.outcome else { panic!("{}", report.block()) };
    let events = report.events();
    let made = events
        .entries
        .iter()
        .find(|entry| entry.subject == "configmaps/default/x" && entry.stage == coracle_journal::Stage::StoreCommit);
    assert_eq!(Some(failure.revision), made.and_then(|entry| entry.revision), "the revision that made it");
    let report = run(&spec(sleep, ", still: true"));
    assert!(report.passed() && report.checks.iter().all(|check| check.vacuous.is_none()), "{}", report.block());
}

#[test]
fn since_starts_always_and_never_at_a_step() {
    let spec = |since: &str| {
        let never = format!("{{name: no x, cel: \"configmaps.exists(c, c.metadata.name == 'x')\", since: {since}}}");
        let second = "  - {name: second, try: [{sleep: {duration: 1ms}}]}\n";
        format!("  never: [{never}]\n  steps:\n  - name: first\n    try:{LAPSE}{second}")
    };
    assert!(matches!(run(&spec("first")).outcome, Outcome::Failed(failure) if failure.what == "no x"));
    let report = run(&spec("second"));
    assert!(report.passed(), "{}", report.block());
}
