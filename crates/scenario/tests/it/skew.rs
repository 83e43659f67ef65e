//! A component whose wall clock is wrong: what it writes, how it decides, and what stays as it is.

use std::time::Duration;

use coracle_ambient::{SignedDuration, Timestamp};
use coracle_journal::{Entry, Recorder, Stage};
use coracle_scenario::{Options, Report};

use crate::harness;

fn run_on(nodes: usize, spec: &str) -> Report {
    let report = harness::run_on(nodes, spec, &Options::default(), || Recorder::ring(1_000_000));
    assert!(report.passed(), "{}", report.block());
    report
}

fn fault(skew: &str) -> String {
    format!("  faults:\n  - {{when: {{step: a}}, do: {{skew: {skew}}}}}\n")
}

/// When a CronJob starts a Job, which it does at each full minute. It is created after fifteen seconds.
fn start_of_a_job(faults: &str) -> u64 {
    let job = "{template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}";
    let spec = format!(
        "{faults}  steps:\n  - name: a\n    try:\n    - sleep: {{duration: 15s}}\n    - create:\n        resource: {{apiVersion: \
         batch/v1, kind: CronJob, metadata: {{name: each}}, spec: {{schedule: '* * * * *', jobTemplate: {{spec: {job}}}}}}}\n    \
         - sleep: {{duration: 100s}}\n"
    );
    let report = run_on(0, &spec);
    let is_job = |entry: &&Entry| entry.stage == Stage::StoreCommit && entry.subject.starts_with("jobs/");
    report.events().entries.iter().find(is_job).unwrap_or_else(|| panic!("no Job: {}", report.block())).at.as_secs()
}

#[test]
fn a_controller_acts_by_the_wrong_clock_of_its_component_until_the_fault_ends() {
    assert_eq!(start_of_a_job(""), 60);
    assert_eq!(start_of_a_job(&fault("{controller-manager: 20s}")), 40);
    assert_eq!(start_of_a_job(&fault("{controller-manager: -20s}")), 80);
    assert_eq!(start_of_a_job(&fault("{scheduler: 20s}")), 60, "another component has another clock");
    let ended = "  faults:\n  - {when: {step: a}, do: {skew: {controller-manager: 20s}}, for: 10s}\n";
    assert_eq!(start_of_a_job(ended), 60, "the clock is right again");
    let both = fault("{controller-manager: 30s}") + "  - {when: {step: a}, do: {skew: {controller-manager: -10s}}}\n";
    assert_eq!(start_of_a_job(&both), 40, "two skews add up");
}

#[test]
fn a_component_that_restarts_has_the_wrong_clock_of_its_machine_and_its_double_has_a_right_one() {
    let killed =
        fault("{controller-manager: 20s}") + "  - {when: {step: a, after: 5s}, do: {kill: controller-manager}}\n";
    assert_eq!(start_of_a_job(&killed), 40);
    let late =
        fault("{controller-manager: -20s}") + "  - {when: {step: a, after: 5s}, do: {double: controller-manager}}\n";
    assert_eq!(start_of_a_job(&late), 60, "the double starts the Job");
}

/// How many seconds the last written time at a path is ahead of the time at which it was written, in objects whose subject
/// begins with `prefix`.
fn ahead(report: &Report, prefix: &str, path: &str) -> i64 {
    let entries = report.events().entries.iter();
    let changes = entries.filter(|entry| entry.stage == Stage::ObjectChange && entry.subject.starts_with(prefix));
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let mut written = changes.filter_map(|entry| {
        let time = ["whole", "patch"].iter().find_map(|part| entry.data.get(*part)?.pointer(path)?.as_str())?;
        let time: Timestamp = time.parse().unwrap();
        Some(time.as_second() - start.as_second() - i64::try_from(entry.at.as_secs()).unwrap())
    });
    written.next_back().unwrap_or_else(|| panic!("no {path} in {prefix}: {}", report.block()))
}

#[test]
fn a_node_writes_the_times_of_its_clock_and_stays_ready() {
    let ready = "nodes.all(n, n.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True'))";
    let steps = format!(
        "  steps:\n  - name: a\n    try:\n    - sleep: {{duration: 15m}}\n  - name: b\n    try:\n    - assert: {{cel: \"{ready}\"}}\n"
    );
    for (skew, one, other) in [
        ("{kubelet: -1h}", -3600, -3600),
        ("{kubelet: 90s}", 90, 90),
        ("{kubelet/node-1: -1h}", -3600, 0),
        ("{scheduler: -1h}", 0, 0),
    ] {
        let report = run_on(2, &(fault(skew) + &steps));
        let lease = |node: u8| ahead(&report, &format!("leases/kube-node-lease/node-{node}"), "/spec/renewTime");
        assert_eq!((lease(1), lease(2)), (one, other), "{skew}");
    }
}

/// A pod that the scheduler places.
const POD: &str = "  steps:\n  - name: a\n    try:\n    - sleep: {duration: 5s}\n    - create: {resource: {apiVersion: v1, \
                   kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: i}]}}}\n    - assert: {cel: \
                   \"pods.exists(p, p.status.phase == 'Running')\"}\n    - sleep: {duration: 5s}\n";

#[test]
fn a_wrong_clock_of_the_scheduler_is_in_its_events_and_changes_nothing_else() {
    let (right, wrong) = (run_on(1, POD), run_on(1, &(fault("{scheduler: 1h}") + POD)));
    let of_scheduler = |report: &Report| ahead(report, "events", "/eventTime");
    assert_eq!((of_scheduler(&right), of_scheduler(&wrong)), (0, 3600));
    // The name of an Event contains its time, and a fault is a check that passes.
    let steps = |report: &Report| {
        let entries = &report.events().entries;
        let others = entries.iter().filter(|entry| {
            let is_of_the_fault = matches!(entry.stage, Stage::FaultOn | Stage::FaultOff | Stage::CheckPass);
            !is_of_the_fault && !entry.subject.starts_with("events")
        });
        others.map(|entry| (entry.at, entry.actor.clone(), entry.stage, entry.subject.clone())).collect::<Vec<_>>()
    };
    let (right, wrong) = (steps(&right), steps(&wrong));
    let difference = right.iter().zip(&wrong).find(|(one, other)| one != other);
    assert!(difference.is_none() && right.len() == wrong.len(), "{difference:?}, {} {}", right.len(), wrong.len());
    assert!(right.last().unwrap().0 >= Duration::from_secs(10));
}

#[test]
fn a_component_of_the_caller_has_a_clock_if_it_uses_one_and_a_controller_has_that_of_its_process() {
    coracle::run_virtual(1, async |cluster| {
        let (name, hour) = ("my-operator", SignedDuration::from_hours(1));
        assert!(!cluster.shift_clock(name, hour), "no clock is used yet");
        let clock = cluster.ambient_of(name).clock;
        assert!(cluster.shift_clock(name, hour));
        assert_eq!(clock.now().duration_since(cluster.ambient().clock.now()), hour);
        assert_eq!(cluster.ambient_of(name).clock.now(), clock.now(), "a restart changes no clock");
        for other in ["controller-manager/cronjob", "kubelet/node-1", "schedular"] {
            assert!(!cluster.shift_clock(other, hour), "{other}");
        }
    })
    .unwrap();
}
