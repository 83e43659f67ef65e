//! The same seed gives the same event log and the same report, byte for byte, in every process.

use std::path::Path;

use crate::program::{Folder, coracle, repository, succeed};

fn log(folder: &Folder, scenario: &str, seed: u64) -> Vec<u8> {
    let events = folder.join("events.jsonl");
    let file = repository().join("scenarios").join(scenario);
    succeed(coracle().args(["run", "-q", "--seed", &seed.to_string(), "--events"]).arg(&events).arg(file));
    std::fs::read(Path::new(&events)).unwrap()
}

/// The page that shows a run.
fn report(folder: &Folder, scenario: &str, seed: u64) -> Vec<u8> {
    let page = folder.join("run.html");
    let file = repository().join("scenarios").join(scenario);
    succeed(coracle().args(["run", "-q", "--seed", &seed.to_string(), "--report"]).arg(&page).arg(file));
    std::fs::read(&page).unwrap()
}

#[test]
fn ten_runs_in_ten_processes_are_the_same_and_another_seed_differs() {
    let folder = Folder::new("determinism");
    let first = log(&folder, "delete-a-pod.yaml", 7);
    assert!(first.len() > 10_000);
    for run in 1..10 {
        assert!(first == log(&folder, "delete-a-pod.yaml", 7), "run {run} differs from the first");
    }
    assert!(first != log(&folder, "delete-a-pod.yaml", 8), "another seed gives the same log");
}

#[test]
fn ten_processes_write_the_same_report() {
    let folder = Folder::new("determinism-report");
    let first = report(&folder, "delete-a-pod.yaml", 7);
    assert!(first.len() > 100_000);
    for run in 1..10 {
        assert!(first == report(&folder, "delete-a-pod.yaml", 7), "report {run} differs from the first");
    }
}

#[test]
fn longer_scenarios_repeat_as_well() {
    let folder = Folder::new("determinism-long");
    for scenario in ["level-not-edge.yaml", "node-stops.yaml", "scale-up-and-down.yaml", "store-dies.yaml"] {
        assert!(log(&folder, scenario, 3) == log(&folder, scenario, 3), "{scenario} differs");
    }
}

#[test]
fn a_planted_leak_is_caught_by_comparing_logs() {
    use std::fmt::Write;
    // What a leak looks like: a line whose order comes from a map that is seeded by the system.
    #[expect(clippy::disallowed_types, reason = "the leak that the comparison has to catch")]
    let leak = || {
        let map: std::collections::HashMap<u32, ()> = (0..64).map(|n| (n, ())).collect();
        map.keys().fold(String::new(), |mut text, n| {
            let _ = write!(text, "{n},");
            text
        })
    };
    let first = leak();
    assert!((0..20).any(|_| leak() != first), "a leak would not be seen");
}
