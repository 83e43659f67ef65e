//! Writes of several people: at the version that was read, as managers of fields, and those of a toy.

use std::path::Path;

use coracle_journal::Recorder;
use coracle_scenario::{BuiltIn, Options, Outcome, Report, execute, parse};

const HEAD: &str = "
apiVersion: coracle.dev/v1alpha1
kind: Scenario
metadata: {name: writing}
spec:
  timeout: 10s
  steps:
  - name: a map
    try:
    - create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {a: '1', b: '1'}}}
    - wait: {apiVersion: v1, kind: ConfigMap, name: m, for: {creation: {}}}
    - get: {ref: {apiVersion: v1, kind: ConfigMap, name: m}, as: seen}
";

fn run(steps: &str) -> Report {
    let (path, text) = (Path::new("writing.yaml"), format!("{HEAD}{steps}"));
    let scenario = parse::parse(path, &text, &BuiltIn::default()).unwrap();
    execute(&scenario, path, &Options::default(), |_| Recorder::ring(100_000)).unwrap()
}

fn passes(steps: &str) {
    let report = run(steps);
    assert!(report.passed(), "{}", report.block());
}

/// What was found where something else was expected.
fn found(steps: &str) -> String {
    match run(steps).outcome {
        Outcome::Failed(failure) => failure.found,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_update_goes_through_at_the_version_that_was_read_and_is_refused_at_another() {
    let steps = "
  - name: bob writes, and writes again what he has not read
    user: bob
    try:
    - update: {from: seen, resource: {data: {a: '2'}}}
    - update: {from: seen, resource: {data: {b: '2'}}, refused: true}
    - assert: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {a: '2', b: '1'}}}
";
    passes(steps);
    assert!(found(&steps.replace(", refused: true", "")).contains("the object has been modified"));
    let first = "    - update: {from: seen, resource: {data: {a: '2'}}}\n";
    let unexpected = found(&steps.replace(first, ""));
    assert_eq!(unexpected, "the update of ConfigMap m was taken, and no conflict refused it");
}

#[test]
fn a_field_that_no_kind_knows_is_refused_however_it_is_written_before_anything_runs() {
    for (write, column) in [
        ("create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: other}, dato: {a: '1'}}}", 85),
        ("update: {from: seen, resource: {dato: {a: '2'}}}", 39),
        ("patch: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: m}, dato: {a: '2'}}}", 80),
        ("apply: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: m}, dato: {a: '2'}}}", 80),
    ] {
        let text = format!("{HEAD}\n  - name: a slip\n    try:\n    - {write}\n");
        let refused = parse::parse(Path::new("writing.yaml"), &text, &BuiltIn::default()).unwrap_err();
        assert_eq!(refused.message, "a ConfigMap has no field `dato`; did you mean `data`?");
        assert_eq!((refused.line, refused.column), (16, column), "{write}");
    }
}

#[test]
fn a_field_has_the_user_or_the_manager_named_as_its_owner() {
    passes(
        "
  - name: carol applies as herself, and for a tool
    user: carol
    try:
    - apply: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {c: '1'}}}
    - apply: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {d: '1'}}, fieldManager: tool}
    - patch: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {b: '2'}}}
    - assert: {cel: \"configmaps.exists(m, m.metadata.name == 'm' && ['carol', 'tool', 'coracle-scenario'].all(name, m.metadata.managedFields.exists(f, f.manager == name)))\"}
  - name: dave applies what is not his
    user: dave
    try:
    - apply: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {c: '2'}}, force: false, refused: true}
    - apply: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {c: '2'}}}
    - assert: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {c: '2', d: '1'}}}
",
    );
}

#[test]
fn the_edge_triggered_toy_replaces_what_it_sees_deleted_and_nothing_else() {
    let pod = |name: &str| {
        format!(
            "{{resource: {{apiVersion: v1, kind: Pod, metadata: {{name: {name}, labels: {{toy: edge-triggered}}}}, \
             spec: {{containers: [{{name: c, image: i}}]}}}}}}"
        )
    };
    let steps = format!(
        "
  - name: one is deleted while it looks, after its watch was opened again, and one while it does not
    try:
    - create: {}
    - create: {}
    - start: {{toy: edge-triggered}}
    - sleep: {{duration: 2h}}
    - delete: {{ref: {{apiVersion: v1, kind: Pod, name: a}}}}
    - assert: {{cel: \"pods.exists(p, p.metadata.name == 'a-again') && !pods.exists(p, p.metadata.name == 'a')\"}}
    - stop: {{toy: edge-triggered}}
    - delete: {{ref: {{apiVersion: v1, kind: Pod, name: b}}}}
    - wait: {{apiVersion: v1, kind: Pod, name: b, for: {{deletion: {{}}}}}}
    - start: {{toy: edge-triggered}}
    - sleep: {{duration: 1m}}
    - assert: {{cel: \"!pods.exists(p, p.metadata.name == 'b-again')\"}}
",
        pod("a"),
        pod("b")
    );
    passes(&steps);
    let twice = "
  - name: twice
    try:
    - start: {toy: edge-triggered}
    - start: {toy: edge-triggered}
";
    assert_eq!(found(twice), "the toy `edge-triggered` runs already");
    let never = "\n  - name: never\n    try:\n    - stop: {toy: edge-triggered}\n";
    assert_eq!(found(never), "the toy `edge-triggered` does not run");
}
