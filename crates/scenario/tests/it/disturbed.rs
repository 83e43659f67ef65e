//! Whatever happens to the controllers, each scenario ends as it does when they are left alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use coracle_journal::Recorder;
use coracle_scenario::{BuiltIn, Disturbance, Options, Outcome, Report, Scenario, execute, parse};
use parking_lot::Mutex;

/// Steps that are left out, since no controller that was stopped meanwhile could do them: how long a Job has backed off
/// is known to the controller alone, as in Kubernetes.
const LEFT_OUT: [(&str, &str); 1] = [("job-backs-off", "within ten seconds nothing is tried")];
/// Scenarios that stop the controllers themselves, and see what happens without: neither may others stand in for those,
/// nor may they start again before they are told to.
const STOPS_THEM: [&str; 1] = ["level-not-edge"];
/// Scenarios that take a day, which are run with one seed in so many.
const LONG: [(&str, u64); 1] = [("cron-day", 51)];
/// How long a cluster is left alone before its end state is taken.
const REST: Duration = Duration::from_secs(120);

/// `CORACLE_SEEDS` of each scenario; more in long runs.
fn seeds() -> u64 {
    std::env::var("CORACLE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(4)
}

fn scenarios() -> Vec<(PathBuf, Scenario)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let vocabulary = BuiltIn::default();
    let read = |file: PathBuf| {
        let mut scenario = parse::read(&file, &vocabulary).unwrap();
        let name = scenario.metadata.name.clone();
        scenario.spec.steps.retain(|step| !LEFT_OUT.contains(&(name.as_str(), step.name.as_str())));
        (file, scenario)
    };
    files.into_iter().map(read).collect()
}

fn run(path: &Path, scenario: &Scenario, seed: u64, disturbance: Option<Disturbance>) -> Report {
    let options = Options { seed: Some(seed), disturbance, rest: REST, ..Options::default() };
    execute(scenario, path, &options, |_| Recorder::ring(1_000_000)).unwrap()
}

/// The seeds of one scenario.
fn seeds_of(name: &str) -> impl Iterator<Item = u64> {
    let step = LONG.iter().find(|(long, _)| *long == name).map_or(1, |(_, step)| *step);
    (step..=seeds()).step_by(usize::try_from(step).unwrap_or(1))
}

/// Which disturbance a seed stands for: each kind in turn, at a moment spread over the run.
fn disturbance(name: &str, seed: u64, revisions: u64) -> Disturbance {
    // A multiplicative hash, so that the moments are not close together.
    let at = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let at = i64::try_from(at % revisions.max(1)).unwrap();
    match seed % 4 {
        1 | 2 if STOPS_THEM.contains(&name) => Disturbance::Kill { at },
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
    let mut scenarios = scenarios();
    assert!(scenarios.len() > 20);
    scenarios.retain(|(_, one)| seeds_of(&one.metadata.name).next().is_some());
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((path, scenario)) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
            let name = &scenario.metadata.name;
            let left_alone = run(path, scenario, 1, None);
            for seed in seeds_of(name) {
                let disturbance = disturbance(name, seed, u64::try_from(left_alone.counts().revisions).unwrap_or(0));
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
                    // A moment may be drawn after the end, or while the scenario itself has stopped the controllers.
                    Outcome::Passed | Outcome::NothingMatched(_) => {}
                }
                let differences = differences(&left_alone.end_state.alike(), &report.end_state.alike());
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
