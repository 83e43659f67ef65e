//! `coracle run` with several scenarios or seeds: one verdict, and one JUnit report.

use crate::program::{Folder, coracle, text};

fn scenario(name: &str, expected: usize) -> String {
    format!(
        "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: {name}}}\nspec:\n  timeout: 1s\n  steps:\n  \
         - name: a map is created\n    try:\n    - create: {{resource: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}}}}}\n    \
         - assert: {{cel: \"configmaps.filter(c, c.metadata.name == 'a').size() == {expected}\"}}\n"
    )
}

#[test]
fn each_scenario_runs_with_each_seed_and_one_junit_report_has_a_suite_for_each_run() {
    let folder = Folder::new("many-runs");
    let (right, wrong, report) = (folder.join("right.yaml"), folder.join("wrong.yaml"), folder.join("all.xml"));
    std::fs::write(&right, scenario("right", 1)).unwrap();
    std::fs::write(&wrong, scenario("wrong", 2)).unwrap();
    let mut run = coracle();
    let output = run.args(["run", "--seeds", "3..5", "--report"]).arg(&report).arg(folder.join("")).output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let verdict = said.split_once("6 runs, 3 passed, 3 not:").expect("a verdict of all runs").1;
    for seed in 3..=5 {
        assert!(verdict.contains(&format!("wrong.yaml --seed {seed}")), "{said}");
    }
    assert!(!verdict.contains("right.yaml"), "{said}");

    let report = std::fs::read_to_string(report).unwrap();
    assert_eq!(report.matches("<testsuite ").count(), 6, "{report}");
    assert_eq!(report.matches("<failure type=\"not-in-time\"").count(), 3, "{report}");
    for suite in ["right (seed 3)", "right (seed 5)", "wrong (seed 4)"] {
        assert!(report.contains(&format!("<testsuite name=\"{suite}\"")), "{suite}: {report}");
    }
    let whole = report.lines().nth(1).unwrap();
    assert!(whole.starts_with("<testsuites tests=\"6\" failures=\"3\""), "{whole}");
}

#[test]
fn options_for_a_single_run_are_refused_for_several() {
    let folder = Folder::new("many-refused");
    let file = folder.join("a.yaml");
    std::fs::write(&file, scenario("a", 1)).unwrap();
    for option in ["--events=e.jsonl", "--report=r.html"] {
        let output = coracle().args(["run", "--seeds=1..2", option]).arg(&file).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains("takes one run, but there are 2"), "{}", text(&output));
    }
    let output = coracle().args(["run", "--seeds=2..1"]).arg(&file).output().unwrap();
    assert!(output.status.code() == Some(2) && text(&output).contains("has no seed"), "{}", text(&output));
}
