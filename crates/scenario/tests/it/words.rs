//! A word that is misspelt is refused before anything runs, where it stands, with the nearest one that is valid.

use std::path::Path;

use coracle_scenario::{BuiltIn, parse};

const HEAD: &str = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: words}\nspec:\n";

/// What is said of a scenario whose `spec` begins in line 5.
fn refused(spec: &str) -> String {
    match parse::parse(Path::new("x.yaml"), &format!("{HEAD}{spec}"), &BuiltIn::default()) {
        Err(problem) => problem.to_string(),
        Ok(_) => "accepted".to_owned(),
    }
}

/// Of an operation that stands in line 7, from column 7 on.
fn operation(operation: &str) -> String {
    refused(&format!("  steps:\n  - name: a\n    try: [{{{operation}}}]\n"))
}

#[test]
fn fields_of_objects_and_of_parts_of_them() {
    let never =
        "  never:\n  - {name: n, resource: {apiVersion: v1, kind: Pod, status: {phas: Running}}}\n  steps: []\n";
    assert_eq!(refused(never), "x.yaml:6:62: a Pod has no field `status.phas`; did you mean `phase`?");
    let set = "resource: {apiVersion: apps/v1, kind: StatefulSet";
    for (text, message) in [
        (
            format!("assert: {{{set}, status: {{readyReplica: 2}}}}}}"),
            "a StatefulSet has no field `status.readyReplica`; did you mean `readyReplicas`?",
        ),
        (
            format!("error: {{{set}, spec: {{replicas: '2'}}}}}}"),
            "`spec.replicas` of a StatefulSet is a whole number, and this is a string",
        ),
        (
            format!("create: {{{set}, spec: {{replica: 2}}}}}}"),
            "a StatefulSet has no field `spec.replica`; did you mean `replicas`?",
        ),
        (
            format!("apply: {{{set}, spec: {{template: {{spec: {{containers: [{{imag: a}}]}}}}}}}}}}"),
            "a StatefulSet has no field `spec.template.spec.containers[0].imag`; did you mean `image`?",
        ),
        (
            "wait: {apiVersion: v1, kind: Pod, name: a, for: {jsonPath: {path: '{.status.phas}', value: x}}}"
                .to_owned(),
            "a Pod has no field `status.phas`; did you mean `phase`?",
        ),
        (
            "wait: {apiVersion: v1, kind: ConfigMap, name: a, for: {condition: {name: Ready}}}".to_owned(),
            "a ConfigMap has no field `status`",
        ),
        (
            "assert: {resource: {apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler}}".to_owned(),
            "objects of kind HorizontalPodAutoscaler are stored, and looked at, in `autoscaling/v2`, not in `autoscaling/v1`",
        ),
    ] {
        let found = operation(&text);
        assert!(found.starts_with("x.yaml:7:") && found.ends_with(message), "{text}: {found}");
    }
}

#[test]
fn resources_verbs_and_senders_of_requests() {
    let requests = |words: &str| {
        refused(&format!("  requests:\n  - {{name: r, {words}}}\n  steps: [{{name: a, user: alice, try: []}}]\n"))
    };
    let own = "by: controller-manager/replicaset";
    assert_eq!(
        requests(&format!("verb: create, resource: podz, {own}")),
        "x.yaml:6:39: unknown resource `podz`; did you mean `pods`?"
    );
    assert!(requests(&format!("verb: creat, resource: pods, {own}")).contains("unknown verb `creat`"));
    let found = requests("verb: create, resource: pods, by: controller-manager/replicasett");
    assert_eq!(
        found,
        "x.yaml:6:49: unknown sender `controller-manager/replicasett`; did you mean `controller-manager/replicaset`?"
    );
    for by in ["controller-manager/replicaset", "kubelet/node-2", "alice", "scenario", "system:admin", "scheduler"] {
        assert_eq!(requests(&format!("verb: create, resource: pods, by: '{by}'")), "accepted");
    }
    assert!(requests("verb: create, resource: pods, by: kubelet/node-3").contains("did you mean `kubelet/node-"));
}

#[test]
fn nodes() {
    for (text, column) in [
        ("kill: {node: node-9}", 25),
        ("stop: {node: node-9}", 25),
        ("partition: {node: node-9}", 30),
        ("cordon: {node: node-9}", 27),
        ("taint: {node: node-9, taint: 'a:NoSchedule'}", 26),
    ] {
        let found = operation(text);
        let begins = format!("x.yaml:7:{column}: unknown ");
        assert!(found.starts_with(&begins) && found.contains("`node-9`; did you mean `node-"), "{text}: {found}");
    }
    assert!(operation("drain: {node: node-9}").contains("unknown node `node-9`"));
    let made = "create: {resource: {apiVersion: v1, kind: Node, metadata: {name: made}}}}, {cordon: {node: made}";
    assert_eq!(operation(made), "accepted");
}

#[test]
fn expressions_that_give_no_truth_or_read_fields_that_are_not_there() {
    for (cel, message) in [
        ("pods.size()", "gives a value of type int, where true or false is needed"),
        ("pods.exists(p, p.status.phas == 'Running')", "undefined field 'phas'"),
        ("pods.all(p, p.status.phase)", "expected type 'bool'"),
        ("podz.all(p, true)", "`podz` is neither the plural of a kind"),
        ("gone.metadata.nam == 'a'", "undefined field 'nam'"),
    ] {
        let text = format!(
            "delete: {{ref: {{apiVersion: v1, kind: Pod, name: a}}, as: gone}}}}, {{assert: {{cel: \"{cel}\"}}"
        );
        let found = operation(&text);
        assert!(found.starts_with("x.yaml:7:") && found.contains(message), "{cel}: {found}");
    }
    assert!(operation("assert: {cel: \"pods.exists(p, p.status.phas == 'a')\"}").ends_with("did you mean `phase`?"));
    // What is stored may be null where a list or a map stands in the type.
    for cel in [
        "endpointslices.all(s, s.endpoints != null && size(s.endpoints) > 0)",
        "pods.exists(p, null == p.spec.nodeName)",
    ] {
        assert_eq!(operation(&format!("assert: {{cel: \"{cel}\"}}")), "accepted");
    }
    let both = operation("assert: {cel: \"endpointslices.all(s, s.endpoints != null && s.endpoint == [])\"}");
    assert!(both.contains("undefined field 'endpoint'") && !both.contains("overload"), "{both}");
}

#[test]
fn a_scenario_can_use_kinds_that_it_defines() {
    let definition = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: toys.example.com}, \
        spec: {group: example.com, scope: Namespaced, names: {plural: toys, kind: Toy}, versions: [{name: v1, served: true, \
        storage: true, schema: {openAPIV3Schema: {type: object}}}]}}";
    let uses = "{create: {resource: {apiVersion: example.com/v1, kind: Toy, metadata: {name: a}, spec: {any: 1}}}}, \
        {assert: {cel: 'toys.exists(t, t.spec.any == 1)'}}, {assert: {resource: {apiVersion: example.com/v1, kind: Toy, spec: {any: 1}}}}";
    let spec = |first: &str| {
        format!(
            "  requests: [{{name: r, verb: create, resource: toys, by: scenario}}]\n  steps:\n  - name: a\n    try: [{first}{uses}]\n"
        )
    };
    assert_eq!(refused(&spec(&format!("{{create: {{resource: {definition}}}}}, "))), "accepted");
    assert!(refused(&spec("")).contains("unknown resource `toys`"));
}
