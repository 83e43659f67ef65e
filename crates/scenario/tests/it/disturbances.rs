//! Disturbances are faults of the list: they strike at their revision, with causes, and last as long as they say.

use std::collections::BTreeMap;
use std::time::Duration;

use coracle_journal::{Entry, Recorder, Stage};
use coracle_scenario::{Disturbance, Options, Report};

use crate::harness;

const SCENARIO: &str = r#"  steps:
  - name: create
    try:
    - create:
        resource:
          apiVersion: apps/v1
          kind: Deployment
          metadata: {name: web}
          spec:
            replicas: 3
            selector: {matchLabels: {app: web}}
            template:
              metadata: {labels: {app: web}}
              spec: {containers: [{name: c, image: i}]}
    - assert: {timeout: 10m, cel: "pods.filter(p, p.status.phase == 'Running').size() == 3"}
    - sleep: {duration: 60s}
"#;

fn run(disturbance: &str) -> Report {
    let disturbance: Disturbance = disturbance.parse().unwrap();
    let options = Options { disturbance: Some(disturbance), ..Options::default() };
    let report = harness::run_on(2, SCENARIO, &options, || Recorder::ring(1_000_000));
    assert!(report.passed(), "{}", report.block());
    report
}

fn of<'r>(report: &'r Report, stage: Stage, word: &'r str) -> impl Iterator<Item = &'r Entry> {
    report.events().entries.iter().filter(move |entry| {
        entry.stage == stage && (entry.actor == word || entry.data.get("fault").is_some_and(|fault| fault == word))
    })
}

/// Whether an entry is the commit of the 20th revision after the cluster was ready.
fn is_the_twentieth(report: &Report, cause: &Entry) -> bool {
    let entries = &report.events().entries;
    let first = entries.iter().find(|entry| entry.stage == Stage::StepStart).unwrap();
    let committed = |entry: &&Entry| entry.stage == Stage::StoreCommit && entry.id < first.id;
    let began = entries.iter().filter(committed).filter_map(|entry| entry.revision).max().unwrap();
    cause.stage == Stage::StoreCommit && cause.revision == Some(began + 20)
}

/// The entries at which a disturbance begins and ends; the cause of the first is the commit of the 20th revision.
fn on_and_off<'r>(report: &'r Report, word: &'r str) -> (&'r Entry, &'r Entry) {
    let on = of(report, Stage::FaultOn, word).next().unwrap();
    let cause = report.events().entries.iter().find(|entry| entry.id == on.causes[0]).unwrap();
    assert!(is_the_twentieth(report, cause), "{word}: {cause:?}");
    (on, of(report, Stage::FaultOff, word).next().unwrap())
}

#[test]
fn kill_ends_the_controllers_at_a_revision_and_starts_them_again_at_once() {
    let report = run("kill@20");
    let (on, off) = on_and_off(&report, "kill@20");
    let is_of = |entry: &&Entry, cause: &Entry| entry.causes == [cause.id];
    let stop = of(&report, Stage::ComponentStop, "controller-manager").find(|stop| is_of(stop, on)).unwrap();
    let start = of(&report, Stage::ComponentStart, "controller-manager").find(|start| is_of(start, off)).unwrap();
    assert_eq!((stop.at, start.at), (on.at, on.at));
}

#[test]
fn pause_stops_the_controllers_at_a_revision_for_three_seconds_and_starts_none() {
    let report = run("pause@20");
    let (on, off) = on_and_off(&report, "pause@20");
    assert_eq!(off.at - on.at, Duration::from_secs(3));
    let ends = |entry: &&Entry| entry.stage == Stage::ComponentStop && entry.data["why"] == "killed";
    assert_eq!(of(&report, Stage::ComponentStop, "controller-manager").filter(ends).count(), 0);
    assert_eq!(of(&report, Stage::ComponentStart, "controller-manager").count(), 1);
    let acts = |entry: &&Entry| entry.actor.starts_with("controller-manager");
    let of_controllers: Vec<_> = report.events().entries.iter().filter(acts).collect();
    let paused = of_controllers.iter().filter(|entry| entry.id > on.id && entry.at < off.at).collect::<Vec<_>>();
    assert!(paused.is_empty(), "{paused:?}");
    assert!(of_controllers.iter().any(|entry| entry.at == off.at), "they continue at once");
}

#[test]
fn double_kills_the_first_of_two_controller_managers_for_good() {
    let report = run("double@20");
    let starts = of(&report, Stage::ComponentStart, "controller-manager").count();
    let stops = of(&report, Stage::ComponentStop, "controller-manager").filter(|stop| stop.data["why"] == "killed");
    assert_eq!((starts, stops.count()), (2, 1));
    assert_eq!(of(&report, Stage::FaultOff, "double@20").count(), 0);
    assert!(report.checks.iter().any(|check| check.name == "fault double@20" && check.held));
}

#[test]
fn late_delivers_each_event_one_second_after_its_commit() {
    const MILLISECOND: Duration = Duration::from_millis(1);
    let report = run("late");
    let entries = &report.events().entries;
    let on = of(&report, Stage::FaultOn, "late").next().unwrap();
    let by_id: BTreeMap<_, _> = entries.iter().map(|entry| (entry.id, entry)).collect();
    let commits = entries.iter().filter(|entry| entry.stage == Stage::StoreCommit);
    let commits: BTreeMap<_, _> = commits.filter_map(|entry| Some((entry.revision?, entry.at))).collect();
    // What a watch replays when it is opened was committed before, and its lag begins when it is sent.
    let sent_at_once = |delivered: &Entry| {
        let sent = by_id.get(delivered.causes.first()?).filter(|sent| sent.stage == Stage::WatchSend)?;
        let committed = *commits.get(&sent.revision?)?;
        (committed >= on.at && sent.at - committed < MILLISECOND).then_some(delivered.at - committed)
    };
    let delivered = entries.iter().filter(|entry| entry.stage == Stage::FifoAdd);
    let lags: Vec<Duration> = delivered.filter_map(sent_at_once).collect();
    // The latency of the scenario is three milliseconds.
    let expected = Duration::from_millis(1003);
    let others: Vec<_> = lags.iter().filter(|lag| lag.abs_diff(expected) > MILLISECOND).collect();
    assert!(lags.len() > 50 && others.is_empty(), "{} events, {others:?}", lags.len());
}
