//! Whatever happens to the controllers, each scenario ends as it does when they are left alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use coracle_journal::Recorder;
use coracle_scenario::{BuiltIn, Disturbance, Options, Outcome, Report, Scenario, execute, parse};
use parking_lot::Mutex;

/// Scenarios that are left out: those that check how long something takes while a controller acts, and one that takes
/// a whole day.
const LEFT_OUT: [&str; 4] = ["endpoints-while-a-pod-ends", "level-not-edge", "job-backs-off", "cron-day"];
/// How long a cluster is left alone before its end state is taken.
const REST: Duration = Duration::from_secs(120);

/// `CORACLE_SEEDS` of each scenario; more in long runs.
fn seeds() -> u64 {
    std::env::var("CORACLE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(8)
}

fn scenarios() -> Vec<(PathBuf, Scenario)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let vocabulary = BuiltIn::default();
    files.into_iter().map(|file| (file.clone(), parse::read(&file, &vocabulary).unwrap())).collect()
}

fn run(path: &Path, scenario: &Scenario, seed: u64, disturbance: Option<Disturbance>) -> Report {
    let options = Options { seed: Some(seed), disturbance, rest: REST, ..Options::default() };
    execute(scenario, path, &options, || Recorder::ring(1_000_000)).unwrap()
}

/// Which disturbance a seed stands for: each kind in turn, at a moment spread over the run.
fn disturbance(seed: u64, revisions: u64) -> Disturbance {
    // A multiplicative hash, so that the moments are not close together.
    let at = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let at = i64::try_from(at % revisions.max(1)).unwrap();
    match seed % 4 {
        0 => Disturbance::Kill { at },
        1 => Disturbance::Pause { at },
        2 => Disturbance::Double { at },
        _ => Disturbance::Late,
    }
}

fn differences(left_alone: &BTreeMap<String, usize>, disturbed: &BTreeMap<String, usize>) -> Vec<String> {
    let lines = left_alone.keys().chain(disturbed.keys()).collect::<std::collections::BTreeSet<_>>();
    let count = |state: &BTreeMap<String, usize>, line: &String| state.get(line).copied().unwrap_or(0);
    let differs = lines.into_iter().filter(|line| count(left_alone, line) != count(disturbed, line));
    differs.map(|line| format!("{} -> {}: {line}", count(left_alone, line), count(disturbed, line))).collect()
}

#[test]
fn a_scenario_ends_the_same_when_its_controllers_are_killed_doubled_paused_or_late() {
    let scenarios: Vec<_> =
        scenarios().into_iter().filter(|(_, one)| !LEFT_OUT.contains(&one.metadata.name.as_str())).collect();
    assert!(scenarios.len() > 5);
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((path, scenario)) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
            let left_alone = run(path, scenario, 1, None);
            for seed in 1..=seeds() {
                let disturbance = disturbance(seed, u64::try_from(left_alone.counts.revisions).unwrap_or(0));
                let report = run(path, scenario, seed, Some(disturbance));
                let again = format!("coracle run {} --seed {seed} --disturb {disturbance}", path.display());
                // Who sent how many requests may differ: a controller that was killed asks again.
                let of_requests = |failure: &coracle_scenario::Failure| {
                    scenario.spec.requests.iter().any(|expected| expected.name == failure.what)
                };
                match &report.outcome {
                    Outcome::Failed(failure) if of_requests(failure) => {}
                    Outcome::Failed(failure) | Outcome::NotInTime(failure) => {
                        failures.lock().push(format!("{again}: {failure:?}"));
                        continue;
                    }
                    Outcome::Passed => {}
                }
                let differences = differences(&left_alone.end_state, &report.end_state);
                if !differences.is_empty() {
                    failures.lock().push(format!("{again}:\n    {}", differences.join("\n    ")));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner();
    assert!(failures.is_empty(), "{} runs ended otherwise:\n{}", failures.len(), failures.join("\n"));
}
