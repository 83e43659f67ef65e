//! A fault changes nothing before the first entry about it, whatever it is and whenever it begins.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use coracle_ambient::Random;
use coracle_journal::{Entry, Recorder, Stage};
use coracle_scenario::{BuiltIn, Options, Report, execute, parse};
use coracle_sim::faults::FAULTS;
use parking_lot::Mutex;

use super::count;
use super::fault::draw_fault;

const STEPS: [&str; 4] = ["create", "scale", "delete", "write"];
/// The latencies of the scenarios in which faults are drawn.
const LATENCIES: [&str; 3] = ["{}", "{request: 3ms, watch: 7ms}", "{request: 40ms, watch: 1ms}"];

/// A ReplicaSet on a node is created, scaled, and loses a pod; a ConfigMap is read and written.
fn spec(latency: &str, fault: &str) -> String {
    let map = "apiVersion: v1, kind: ConfigMap, metadata: {name: map}";
    let set = "apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web}";
    format!(
        "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: undisturbed}}\nspec:\n  \
         cluster: {{nodes: 1, seed: 1, latency: {latency}}}\n{fault}  steps:\n  \
         - name: create\n    try:\n    - create: {{resource: {{{set}, spec: {{replicas: 2, \
         selector: {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, \
         spec: {{containers: [{{name: c, image: i}}]}}}}}}}}}}\n    - create: {{resource: {{{map}}}}}\n    \
         - sleep: {{duration: 4s}}\n  \
         - name: scale\n    try:\n    - scale: {{ref: {{apiVersion: apps/v1, kind: ReplicaSet, name: web}}, replicas: 3}}\n    \
         - sleep: {{duration: 4s}}\n  \
         - name: delete\n    try:\n    - delete: {{ref: {{apiVersion: v1, kind: Pod, labels: {{app: web}}}}, pick: 1}}\n    \
         - sleep: {{duration: 8s}}\n  \
         - name: write\n    try:\n    - get: {{ref: {{apiVersion: v1, kind: ConfigMap, name: map}}, as: it}}\n    \
         - update: {{from: it, resource: {{data: {{a: b}}}}}}\n    - sleep: {{duration: 4s}}\n"
    )
}

fn run(text: &str) -> Report {
    let path = Path::new("undisturbed.yaml");
    let scenario = parse::parse(path, text, &BuiltIn::default()).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    execute(&scenario, path, &Options::default(), |_| Recorder::ring(1_000_000)).unwrap()
}

/// Whether an entry is about a fault: it begins, or the end of the run states that it did not.
fn is_of_a_fault(entry: &Entry) -> bool {
    let is_named = |name: &serde_json::Value| name.as_str().is_some_and(|name| name.starts_with("fault "));
    entry.stage == Stage::FaultOn || entry.data.get("name").is_some_and(is_named)
}

/// The first entry that differs before the first about the fault.
fn changed_before(left_alone: &[Entry], disturbed: &[Entry]) -> Option<Entry> {
    let first = disturbed.iter().position(is_of_a_fault).unwrap_or(disturbed.len());
    let same = left_alone.iter().zip(&disturbed[..first]).take_while(|(one, other)| one == other).count();
    (same < first).then(|| disturbed[same].clone())
}

#[test]
fn a_fault_changes_no_entry_before_the_first_about_it() {
    let left_alone = LATENCIES.map(|latency| run(&spec(latency, "")).events().entries.clone());
    let faults = count("CORACLE_DRAWN_FAULTS", 30);
    let (next, failures, struck) = (AtomicU64::new(0), Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let steps = STEPS.map(str::to_owned);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= faults {
                return;
            }
            let fault = draw_fault(&Random::from_seed(number).split("fault"), &steps);
            let place = usize::try_from(number).unwrap() % LATENCIES.len();
            let report = run(&spec(LATENCIES[place], &format!("  faults:\n  - {fault}\n")));
            if let Some(entry) = changed_before(&left_alone[place], &report.events().entries) {
                failures.lock().push(format!("{number}: {fault}: {entry:?}"));
            }
            if report.checks.iter().any(|check| check.name.starts_with("fault ") && check.held) {
                struck.lock().push(fault);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(work);
        }
    });
    let (failures, struck) = (failures.into_inner(), struck.into_inner());
    assert!(failures.is_empty(), "{} faults:\n{}", failures.len(), failures.join("\n"));
    assert!(u64::try_from(struck.len()).unwrap() > faults / 4, "only {} of {faults} have struck", struck.len());
    let of = |word: &&str| struck.iter().any(|fault| fault.contains(&format!("do: {{{word}:")));
    let without: BTreeSet<&str> = FAULTS.iter().map(|kind| kind.word).filter(|word| !of(word)).collect();
    assert!(faults < 500 || without.is_empty(), "{without:?} have not struck");
}
