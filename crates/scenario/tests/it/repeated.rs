//! One seed gives one event log, in every process and also where many tasks wait for the same change.

use std::path::{Path, PathBuf};

use coracle_journal::Recorder;
use coracle_scenario::{BuiltIn, Options, Scenario, execute, parse};
use coracle_tests::processes::{in_processes, process_count};

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

/// The scenarios of the repository, and the one with volumes at two latencies.
fn scenarios() -> Vec<(String, Scenario)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    assert!(files.len() > 30, "{files:?}");
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    let mut all: Vec<_> =
        files.iter().map(|path| (name(path), parse::read(path, &BuiltIn::default()).unwrap())).collect();
    for latency in ["request: 1ms, watch: 40ms", "request: 40ms, watch: 1ms"] {
        let text = VOLUMES.replace("request: 1ms, watch: 40ms", latency);
        let scenario = parse::parse(Path::new("volumes.yaml"), &text, &BuiltIn::default()).unwrap();
        all.push((latency.to_owned(), scenario));
    }
    all
}

/// Runs a scenario and writes its log, if it has one, and its end.
fn run(name: &str, mut scenario: Scenario, is_recorded: bool, folder: &Path) {
    let log = folder.join(format!("{name}.jsonl"));
    let mut recorder = Recorder::off();
    if !is_recorded {
        // Requests are counted in the log.
        scenario.spec.requests.clear();
    }
    let report = execute(&scenario, Path::new(name), &Options::default(), |header| {
        if is_recorded {
            recorder = Recorder::file(&log, 1_000_000, header).unwrap();
        }
        recorder.clone()
    });
    let report = report.unwrap();
    assert!(report.passed(), "{name}: {:?}", report.outcome);
    recorder.close().unwrap();
    let length = std::fs::metadata(&log).map_or(0, |file| file.len());
    assert!(!is_recorded || length > 100_000, "the log of {name} is empty");
    std::fs::write(folder.join(format!("{name}.end")), format!("{:?}", report.end_state)).unwrap();
}

/// Every second process has no event log. Each begins with another scenario, so that it has another past.
#[test]
fn every_scenario_has_one_log_in_all_processes_and_the_same_end_without_a_log() {
    let test = "repeated::every_scenario_has_one_log_in_all_processes_and_the_same_end_without_a_log";
    let run_all = |number: usize, folder: &Path| {
        let mut scenarios = scenarios();
        let first = number % scenarios.len();
        scenarios.rotate_left(first);
        for (name, scenario) in scenarios {
            run(&name, scenario, number.is_multiple_of(2), folder);
        }
    };
    if let Some(runs) = in_processes(test, process_count(3), run_all) {
        runs.assert_same();
    }
}
