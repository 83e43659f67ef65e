//! A plan of a scenario is a file that replays the run, and shows what has changed.

use std::path::{Path, PathBuf};

use coracle_check::{PlanFile, ScenarioCheck};

/// A property that holds as long as the status of a ReplicaSet is not late.
const SCENARIO: &str = include_str!("late-status.yaml");

/// A folder with the scenario, and the plan of the first finding.
fn found() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("late-status.yaml");
    std::fs::write(&scenario, SCENARIO).unwrap();
    let check = ScenarioCheck::read(&scenario).unwrap().of("controller-manager/replicaset").plans(60).faultless(2);
    let report = check.until_found().out(folder.path().join("found")).pages().search().unwrap();
    assert!(report.check.fails() && report.broken().len() == 1, "{report}");
    let file = report.broken()[0].file.clone().unwrap();
    (folder, file)
}

fn replay(file: &Path) -> coracle_check::CheckReport {
    let plan = PlanFile::read(file, &std::fs::read_to_string(file).unwrap()).unwrap();
    ScenarioCheck::of_plan(file, plan).unwrap().faultless(2).search().unwrap().check
}

#[test]
fn a_finding_in_a_scenario_is_a_plan_whose_replay_has_the_same_event_log() {
    let (_folder, file) = found();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("scenario: ../late-status.yaml") && text.contains("log: sha256:"), "{text}");
    assert!(file.with_extension("html").is_file());
    let report = replay(&file);
    let shown = report.replayed[0].to_string();
    assert_eq!(shown, format!("{}: breaks-property still fails\n", file.display()), "{report}");
    assert!(report.fails() && report.tried.plans == 1);
}

#[test]
fn a_replay_in_which_the_log_differs_shows_the_first_event_that_does() {
    let (folder, file) = found();
    let scenario = folder.path().join("late-status.yaml");
    std::fs::write(&scenario, SCENARIO.replace("image: web:1", "image: web:2")).unwrap();
    let shown = replay(&file).replayed[0].to_string();
    for part in
        ["breaks-property still fails", "its scenario has changed", "the event log differs; ", "the same up to #"]
    {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    assert!(shown.contains("\n      recorded ") && shown.contains("\n      replayed "), "{shown}");
    // Without the page, only the hash of the log is known, and the writes.
    std::fs::remove_file(file.with_extension("html")).unwrap();
    assert!(!replay(&file).replayed[0].to_string().contains("the same up to"));
}

#[test]
fn a_plan_that_no_longer_breaks_the_component_says_so_and_is_tried_first_by_the_next_search() {
    let (folder, file) = found();
    let scenario = folder.path().join("late-status.yaml");
    let check = ScenarioCheck::read(&scenario).unwrap().of("controller-manager/replicaset").plans(0).faultless(2);
    let again = check.out(folder.path().join("found")).search().unwrap();
    assert_eq!(again.broken().iter().map(|found| found.number).collect::<Vec<_>>(), [None], "{again}");
    assert_eq!(again.broken()[0].file.as_ref(), Some(&file), "{again}");
    std::fs::write(&scenario, SCENARIO.replace("replicas == 0", "replicas == 7")).unwrap();
    let report = replay(&file);
    assert!(!report.fails() && report.replayed[0].to_string().contains("does not fail any more"), "{report}");
}
