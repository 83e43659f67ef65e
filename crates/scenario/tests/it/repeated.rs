//! One seed gives one event log, in every process and also where many tasks wait for the same change.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use coracle_ambient::stable_hash;
use coracle_journal::Recorder;
use coracle_scenario::{BuiltIn, Options, Report, Scenario, execute, parse};

/// Where another process writes what it found; absent in the first.
const FOUND: &str = "CORACLE_REPEATED_FOUND";

/// Sixteen pods wait for the binding of their claims at the same time, and learn of it late.
const VOLUMES: &str = "
apiVersion: coracle.dev/v1alpha1
kind: Scenario
metadata: {name: volumes}
spec:
  cluster: {nodes: 3, latency: {request: 1ms, watch: 40ms}}
  timeout: 120s
  steps:
  - name: pods with claims come together
    try:
    - create:
        resource:
          apiVersion: apps/v1
          kind: StatefulSet
          metadata: {name: web}
          spec:
            replicas: 16
            serviceName: web
            podManagementPolicy: Parallel
            selector: {matchLabels: {app: web}}
            template:
              metadata: {labels: {app: web}}
              spec:
                containers: [{name: c, image: i, volumeMounts: [{name: data, mountPath: /data}]}]
            volumeClaimTemplates:
            - metadata: {name: data}
              spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
    - assert: {cel: \"pods.filter(p, p.status.phase == 'Running').size() == 16\"}
";

fn run(scenario: &Scenario, path: &Path, recorder: impl FnOnce() -> Recorder) -> Report {
    let report = execute(scenario, path, &Options::default(), |_| recorder()).unwrap();
    assert!(report.passed(), "{}: {:?}", path.display(), report.outcome);
    report
}

fn log(scenario: &Scenario, path: &Path) -> (String, String) {
    let report = run(scenario, path, || Recorder::ring(1_000_000));
    (format!("{:?}", report.events().entries), format!("{:?}", report.end_state))
}

#[test]
fn seven_runs_of_pods_that_wait_for_their_claims_have_one_log() {
    for latency in ["1ms, watch: 40ms", "40ms, watch: 1ms"] {
        let path = Path::new("repeated.yaml");
        let text = VOLUMES.replace("1ms, watch: 40ms", latency);
        let scenario = parse::parse(path, &text, &BuiltIn::default()).unwrap();
        let first = log(&scenario, path);
        assert!(first.0.len() > 100_000, "the log is empty");
        for run in 1..7 {
            assert!(log(&scenario, path) == first, "run {run} differs from the first at {latency}");
        }
    }
}

/// The scenarios of the repository.
fn scenarios() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    assert!(files.len() > 30, "{files:?}");
    files
}

/// A line for each scenario: the hashes of its log and of its end. In one process the end is compared with the end of a
/// run without a log.
fn found(compares_without_log: bool) -> String {
    let mut lines = String::new();
    for path in scenarios() {
        let mut scenario = parse::read(&path, &BuiltIn::default()).unwrap();
        let (entries, end) = log(&scenario, &path);
        assert!(entries.len() > 100_000, "the log of {} is empty", path.display());
        if compares_without_log {
            // Requests are counted in the log.
            scenario.spec.requests.clear();
            let silent = run(&scenario, &path, Recorder::off);
            assert_eq!(format!("{:?}", silent.end_state), end, "{} ends in another way without a log", path.display());
        }
        let name = path.file_name().unwrap().to_string_lossy();
        writeln!(lines, "{name} {:x} {:x}", stable_hash(&entries), stable_hash(&end)).unwrap();
    }
    lines
}

/// Two processes, or as many as the environment variable says.
#[test]
fn every_scenario_has_one_log_in_all_processes_and_the_same_end_without_a_log() {
    if let Some(file) = std::env::var_os(FOUND) {
        return std::fs::write(file, found(false)).unwrap();
    }
    let processes = std::env::var("CORACLE_PROCESSES").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    let root = std::env::temp_dir().join(format!("coracle-repeated-{}", std::process::id()));
    std::fs::create_dir_all(&root).unwrap();
    let name = "repeated::every_scenario_has_one_log_in_all_processes_and_the_same_end_without_a_log";
    let start = |process: usize| {
        let file = root.join(process.to_string());
        let child = Command::new(std::env::current_exe().unwrap()).args([name, "--exact"]).env(FOUND, &file).spawn();
        (file, child.unwrap())
    };
    let mut others = (1..processes).map(start);
    let mut other = others.next();
    let first = found(true);
    // One other process at a time: each needs a core.
    while let Some((file, mut child)) = other {
        assert!(child.wait().unwrap().success(), "the process of {} failed", file.display());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), first, "another process has another log");
        other = others.next();
    }
    std::fs::remove_dir_all(root).unwrap();
}
