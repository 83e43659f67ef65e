//! `coracle run PLAN` replays a finding.

use coracle_check::ScenarioCheck;

use crate::program::{Folder, coracle, repository, text};

/// A property that holds as long as the status of a ReplicaSet is not late.
const SCENARIO: &str = "crates/check/tests/late-status.yaml";

fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let output = coracle().arg("run").args(arguments).output().unwrap();
    (output.status.code(), text(&output))
}

#[test]
fn a_plan_of_a_scenario_is_replayed_and_its_exit_code_is_that_of_the_check() {
    let folder = Folder::new("replay");
    let scenario = folder.join("late-status.yaml");
    let original = std::fs::read_to_string(repository().join(SCENARIO)).unwrap();
    std::fs::write(&scenario, &original).unwrap();
    let check = ScenarioCheck::read(&scenario).unwrap().of("controller-manager/replicaset").plans(60).faultless(2);
    let report = check.until_found().out(folder.join("found")).pages().search().unwrap();
    let plan = report.broken()[0].file.clone().unwrap().display().to_string();
    let (code, said) = run(&[&plan]);
    assert!(code == Some(1) && said.contains("breaks-property still fails"), "{said}");
    let (code, said) = run(&[&plan, "--seeds", "1..3"]);
    assert!(code == Some(2) && said.contains("--seeds does not apply to"), "{said}");
    std::fs::write(&scenario, original.replace("replicas == 0", "replicas == 7")).unwrap();
    let (code, said) = run(&[&plan]);
    assert!(code == Some(0) && said.contains("does not fail any more"), "{said}");
    std::fs::remove_file(&scenario).unwrap();
    let (code, said) = run(&[&plan]);
    assert!(code == Some(2) && said.contains("late-status.yaml"), "{said}");
}

#[test]
fn a_plan_of_a_program_names_the_command_that_replays_it() {
    let plan = repository().join("examples/bugs/found/cancelled_pass/writes-after-restart-1.yaml");
    let (code, said) = run(&[&plan.display().to_string()]);
    assert!(code == Some(2) && said.contains("coracle check --plan"), "{said}");
    assert!(said.contains("writes-after-restart") && said.contains("-- PROGRAM"), "{said}");
}
