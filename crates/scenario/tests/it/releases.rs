//! The release of the cluster of a scenario.

use std::path::Path;

use coracle_cluster::Release;
use coracle_journal::{Recorder, Stage};
use coracle_scenario::{BuiltIn, Options, Scenario, execute, parse};

const POLICY: &str = "  steps:\n  - name: a policy\n    try:\n    - create:\n        resource:\n          apiVersion: \
                      admissionregistration.k8s.io/v1\n          kind: MutatingAdmissionPolicy\n          metadata: {name: p}\n";

fn written(cluster: &str, spec: &str) -> Scenario {
    let head = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: written}\n";
    let text = format!("{head}spec:\n  cluster: {{{cluster}}}\n{spec}");
    parse::parse(Path::new("written.yaml"), &text, &BuiltIn::default()).unwrap()
}

#[test]
fn a_kind_that_the_release_does_not_have_is_refused_with_its_line_and_the_release_that_has_it() {
    let options = Options { kubernetes: Some(Release::named("1.35").unwrap()), ..Options::default() };
    let scenario = written("nodes: 0", POLICY);
    let refused = execute(&scenario, Path::new("written.yaml"), &options, |_| Recorder::off()).unwrap_err().to_string();
    assert!(refused.contains("written.yaml:11: Kubernetes 1.35 has no MutatingAdmissionPolicy"), "{refused}");
    assert!(refused.contains("; 1.36 has it"), "{refused}");
}

#[test]
fn the_file_names_the_release_and_the_command_line_overrides_it() {
    let scenario = written("nodes: 0, kubernetes: \"1.36\"", "  steps: []\n");
    assert_eq!(Options::default().release(&scenario).version(), "1.36");
    let options = Options { kubernetes: Some(Release::named("1.35").unwrap()), ..Options::default() };
    assert_eq!(options.release(&scenario).version(), "1.35");
    assert_eq!(Options::default().release(&written("nodes: 0", "  steps: []\n")), Release::default());
    let mut header = None;
    execute(&scenario, Path::new("written.yaml"), &Options::default(), |made| {
        header = Some(made.clone());
        Recorder::ring(1000)
    })
    .unwrap();
    assert_eq!(header.unwrap().kubernetes.as_deref(), Some("1.36"));
}

#[test]
fn the_components_behave_as_the_release_of_the_file() {
    let set = "  steps:\n  - name: a set\n    try:\n    - create:\n        resource:\n          apiVersion: apps/v1\n          kind: \
               StatefulSet\n          metadata: {name: db}\n          spec: {serviceName: db, selector: {matchLabels: {a: b}}, \
               template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n    - assert: {cel: \
               \"statefulsets.exists(s, has(s.spec.updateStrategy.rollingUpdate.maxUnavailable) == KNOWN)\", still: false}\n";
    for (version, known) in [("1.36", "false"), ("1.37", "true")] {
        let scenario = written(&format!("nodes: 0, kubernetes: \"{version}\""), &set.replace("KNOWN", known));
        let recorder = Recorder::ring(100_000);
        let report = execute(&scenario, Path::new("w.yaml"), &Options::default(), |_| recorder.clone()).unwrap();
        assert!(report.passed(), "{version}: {}", report.block());
        assert!(report.events().entries.iter().any(|entry| entry.stage == Stage::StepEnd));
    }
}
