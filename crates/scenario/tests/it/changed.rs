//! A step that is put into a run changes nothing before its event, and what it changes afterwards is what such a step changes.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use coracle_journal::{Entry, EntryId, Events, Recorder, Stage};
use coracle_scenario::{
    BuiltIn, Change, ChangeOutcome, Mode, NotChanged, Options, Outcome, Report, Rerun, Scenario, execute, parse,
    parse_change, rerun,
};
use proptest::prelude::*;

/// Another pod is deleted.
const DELETE: &str = "delete: {ref: {apiVersion: v1, kind: Pod, labels: {app: web}}, pick: 1}";
/// Two are enough from there on.
const SCALE: &str = "scale: {ref: {apiVersion: apps/v1, kind: ReplicaSet, name: web}, replicas: 2}";
/// Makes an object, whatever else there is.
const CREATE: &str = "create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: put-in}}}";

struct Demo {
    path: PathBuf,
    scenario: Scenario,
    report: Report,
}

/// The demo as it goes when nobody changes it.
static DEMO: LazyLock<Demo> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/delete-a-pod.yaml");
    let scenario = parse::read(&path, &BuiltIn::default()).unwrap();
    let report = execute(&scenario, &path, &Options::default(), |_| Recorder::ring(1_000_000)).unwrap();
    Demo { path, scenario, report }
});

fn change(at: u64, step: &str) -> Change {
    parse_change(Path::new("step.yaml"), step, EntryId(at), &DEMO.scenario, &BuiltIn::default()).unwrap()
}

/// The demo with a step in it, compared with how it went.
fn put_in(at: u64, step: &str) -> Result<Rerun, NotChanged> {
    let Demo { path, scenario, report } = &*DEMO;
    let against = Some(report.events().clone());
    rerun(scenario, path, &Options::default(), &change(at, step), against, |_| Recorder::ring(1_000_000))
}

/// The first entry of a stage, from the first step on.
fn first(events: &Events, is_it: impl Fn(&Entry) -> bool) -> u64 {
    let begins = events.entries.iter().position(|entry| entry.stage == Stage::StepStart).unwrap();
    events.entries[begins..].iter().find(|entry| is_it(entry)).unwrap().id.0
}

fn lines(entries: &[Entry]) -> String {
    entries.iter().map(|entry| serde_json::to_string(entry).unwrap() + "\n").collect()
}

/// The last event before the verdicts on the whole run.
fn last_step_end() -> u64 {
    let ends = |entry: &&Entry| entry.stage == Stage::StepEnd;
    DEMO.report.events().entries.iter().rfind(ends).unwrap().id.0
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn up_to_its_event_a_changed_run_is_the_same_byte_for_byte(share in 0.0..1.0_f64) {
        let first = first(DEMO.report.events(), |_| true) - 1;
        let at = first + (share * (last_step_end() - first) as f64) as u64;
        let both = put_in(at, CREATE).unwrap();
        prop_assert_eq!(&both.new.fate, &Some(ChangeOutcome::Taken));
        let upto = usize::try_from(at).unwrap();
        prop_assert!(lines(&both.was.entries[..upto]) == lines(&both.new.events().entries[..upto]), "#{at}");
        prop_assert!(both.divergence.same >= upto);
        // The step goes in before the clock moves on.
        let put = both.new.events().entries[upto..].iter().find(|entry| entry.data.get("name").is_some_and(|name| name == &*format!("put in after #{at}")));
        prop_assert_eq!(put.unwrap().at, both.was.entries[upto - 1].at);
        let parted = both.divergence.first.unwrap().other.unwrap();
        prop_assert_eq!(parted, put.unwrap().id, "they part at the step itself");
    }
}

#[test]
fn a_run_that_is_run_again_without_a_change_is_the_same() {
    let Demo { path, scenario, report } = &*DEMO;
    let again = execute(scenario, path, &Options::default(), |_| Recorder::ring(1_000_000)).unwrap();
    assert!(lines(&report.events().entries) == lines(&again.events().entries));
    assert_eq!(report.events().header, again.events().header);
}

#[test]
fn a_scale_in_the_middle_changes_how_the_run_ends_and_a_delete_makes_one_more_replacement() {
    let asked = first(DEMO.report.events(), |entry| {
        entry.stage == Stage::ApiRequest && entry.data.get("verb").is_some_and(|verb| verb == "delete")
    });
    let scaled = put_in(asked, SCALE).unwrap();
    assert!(matches!(scaled.new.outcome, Outcome::NotInTime(_)), "three pods are waited for: {:?}", scaled.new.outcome);
    let deleted = put_in(asked, DELETE).unwrap();
    let Outcome::Failed(failure) = &deleted.new.outcome else { panic!("{:?}", deleted.new.outcome) };
    assert_eq!(failure.found, "2 by it, 0 by others");
    let by = |counts: &[coracle_viewer::Count]| {
        let replicaset = counts.iter().find(|count| count.actor == "controller-manager/replicaset").unwrap();
        (replicaset.one < replicaset.other).then_some(())
    };
    assert_eq!(by(&deleted.divergence.counts), Some(()), "{:?}", deleted.divergence.counts);
    let mark = deleted.new.events().header.change.as_deref().unwrap();
    assert!(mark.starts_with(&format!("#{asked} sha256:")), "{mark}");
}

#[test]
fn a_step_that_the_api_refuses_leaves_the_run_as_it_was() {
    let begins = first(DEMO.report.events(), |entry| entry.stage == Stage::StoreCommit);
    let refused = put_in(begins, "delete: {ref: {apiVersion: v1, kind: Pod, name: nobody}}").unwrap();
    let Some(ChangeOutcome::Refused { why }) = &refused.new.fate else { panic!("{:?}", refused.new.fate) };
    assert!(why.contains("no Pod nobody"), "{why}");
    let taken = "create: {resource: {apiVersion: v1, kind: Namespace, metadata: {name: default}}}";
    let Some(ChangeOutcome::Refused { why }) = put_in(begins, taken).unwrap().new.fate else { panic!("made twice") };
    assert!(why.contains("already exists"), "{why}");
}

#[test]
fn a_failure_of_an_inserted_step_names_no_line_of_the_scenario_and_no_step_as_not_reached() {
    let begins = first(DEMO.report.events(), |entry| entry.stage == Stage::StoreCommit);
    let late = put_in(begins, "assert: {cel: \"pods.size() == 99\", timeout: 1s}").unwrap().new;
    let shown = late.block();
    assert!(!late.passed() && shown.contains("found      pods.size() = "), "{shown}");
    assert!(!shown.contains(".yaml:") && !shown.contains("not reached"), "{shown}");
}

#[test]
fn an_event_that_is_not_there_and_one_outside_the_steps_are_named_with_the_nearest() {
    let Err(NotChanged::TooEarly { first: possible, .. }) = put_in(1, CREATE) else { panic!("nothing is there yet") };
    assert_eq!(possible.0, first(DEMO.report.events(), |_| true) - 1);
    let last = DEMO.report.events().entries.last().unwrap().id;
    let Err(NotChanged::NoSuchEvent { at, nearest }) = put_in(last.0 + 100, CREATE) else { panic!("it is not there") };
    assert_eq!((at.0, nearest.0), (last.0 + 100, last_step_end()));
    for late in [last.0, last_step_end() + 1] {
        let Err(NotChanged::TooLate { last: before, .. }) = put_in(late, CREATE) else { panic!("the run is over") };
        assert_eq!(before, nearest);
    }
    for named in [possible, nearest] {
        assert_eq!(put_in(named.0, CREATE).unwrap().new.fate, Some(ChangeOutcome::Taken), "#{} is named", named.0);
    }
}

#[test]
fn a_log_of_another_run_is_not_compared_and_a_clock_that_runs_is_not_turned_back() {
    let Demo { path, scenario, report } = &*DEMO;
    let options = |mode| Options { seed: Some(8), mode: Some(mode), ..Options::default() };
    let run = |mode| {
        let against = Some(report.events().clone());
        rerun(scenario, path, &options(mode), &change(3400, CREATE), against, |_| Recorder::ring(1_000_000))
    };
    let Err(NotChanged::OtherRun { differences }) = run(Mode::Virtual) else { panic!("another seed") };
    assert_eq!(differences[0].field, "seed");
    assert!(matches!(run(Mode::Real), Err(NotChanged::NoStore)), "a file holds no store");
    let put_in = Options { change: Some(change(3400, CREATE)), ..options(Mode::Real) };
    let refused = execute(scenario, path, &put_in, |_| Recorder::off()).unwrap_err().to_string();
    assert!(refused.contains("in virtual time only"), "{refused}");
}

#[test]
fn with_a_real_clock_a_new_cluster_continues_from_a_fork_of_the_store() {
    let Demo { path, scenario, report } = &*DEMO;
    let asked = first(report.events(), |entry| {
        entry.stage == Stage::ApiRequest && entry.data.get("verb").is_some_and(|verb| verb == "delete")
    });
    let options = Options { mode: Some(Mode::Scaled(20.0)), ..Options::default() };
    let both = rerun(scenario, path, &options, &change(asked, SCALE), None, |_| Recorder::ring(1_000_000)).unwrap();
    let (revision, new) = (both.fork.unwrap(), &both.new);
    assert_eq!((&new.fate, &new.outcome), (&Some(ChangeOutcome::Taken), &Outcome::Passed));
    let place = usize::try_from(asked).unwrap();
    assert_eq!(both.divergence.same, place, "all up to the event is the run as it was");
    let entries = &new.events().entries;
    assert!(entries.windows(2).all(|pair| pair[0].id < pair[1].id && pair[0].at <= pair[1].at));
    assert!(entries.iter().all(|entry| entry.causes.iter().all(|cause| *cause < entry.id)));
    let commits = entries[place..].iter().filter(|entry| entry.stage == Stage::StoreCommit);
    assert!(commits.filter_map(|entry| entry.revision).all(|committed| committed > revision), "it goes on from there");
    let mark = new.events().header.change.as_deref().unwrap();
    assert!(mark.ends_with(&format!(" fork@{revision}")), "{mark}");
    let end = new.end_state.alike();
    let sets: Vec<_> = end.keys().filter(|line| line.starts_with("apps ReplicaSet default web")).collect();
    assert!(sets.len() == 1 && sets[0].contains("readyReplicas=2"), "{sets:?}");
    let uids: Vec<_> = entries[place..].iter().filter_map(|entry| entry.data.get("audit")).collect();
    let before: std::collections::BTreeSet<_> =
        entries[..place].iter().filter_map(|entry| entry.data.get("audit").map(ToString::to_string)).collect();
    assert!(uids.iter().all(|uid| !before.contains(&uid.to_string())), "what was drawn is not drawn again");
}

#[test]
fn a_compacted_revision_cannot_be_restored() {
    let head = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: long}\n";
    let text = format!(
        "{head}spec: {{cluster: {{nodes: 1}}, steps: [{{name: wait, try: [{{sleep: {{duration: 900s}}}}]}}]}}\n"
    );
    let scenario = parse::parse(Path::new("long.yaml"), &text, &BuiltIn::default()).unwrap();
    let options = Options { mode: Some(Mode::Scaled(400.0)), ..Options::default() };
    let put_in = |at: EntryId| {
        let change = parse_change(Path::new("step.yaml"), CREATE, at, &scenario, &BuiltIn::default()).unwrap();
        rerun(&scenario, Path::new("long.yaml"), &options, &change, None, |_| Recorder::ring(1_000_000))
    };
    let Err(NotChanged::TooEarly { first, .. }) = put_in(EntryId(1)) else { panic!("nothing is there yet") };
    let Err(NotChanged::Compacted { at, first }) = put_in(EntryId(first.0 + 100)) else { panic!("it is remembered") };
    assert!(first > at);
}

#[test]
fn a_changed_run_ends_at_its_number_of_events() {
    let Demo { path, scenario, report } = &*DEMO;
    let at = first(report.events(), |entry| entry.stage == Stage::StoreCommit);
    let options = Options { most_events: Some(at + 20), ..Options::default() };
    let against = Some(report.events().clone());
    let both = rerun(scenario, path, &options, &change(at, CREATE), against, |_| Recorder::ring(1_000_000)).unwrap();
    let Outcome::NotInTime(failure) = &both.new.outcome else { panic!("{:?}", both.new.outcome) };
    assert_eq!(failure.expected, format!("to end within {} events", at + 20));
    assert!(both.new.events().entries.len() < report.events().entries.len());
    assert!(both.divergence.same as u64 >= at);
}
