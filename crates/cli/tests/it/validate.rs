//! `coracle validate`: all problems of all files, with their places, before anything runs.

use crate::program::{Folder, coracle, repository, succeed, text};

const HEAD: &str = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: a}\nspec:\n";

/// Mistakes in the part of a scenario below `spec`, with what the message has to contain.
const MISTAKES: &[(&str, &str)] = &[
    ("  stepps: []", "did you mean `steps`?"),
    ("  cluster: {noodes: 1}\n  steps: []", "did you mean `nodes`?"),
    ("  cluster: {mode: virtuel}\n  steps: []", "virtual"),
    ("  cluster: {nodes: -1}\n  steps: []", ":5:"),
    ("  timeout: 5\n  steps: []", ":5:"),
    ("  timeout: 5 parsecs\n  steps: []", ":5:"),
    ("  steps: [{nam: x, try: []}]", "did you mean `name`?"),
    ("  steps: [{name: x, try: [{creat: {}}]}]", "did you mean `create`?"),
    ("  steps: [{name: x, try: [{create: {}}]}]", "`resource` or `file`"),
    ("  steps: [{name: x, try: [{create: {file: none.yaml}}]}]", "none.yaml"),
    ("  steps: [{name: x, try: [{create: {resource: {kind: Pod}}}]}]", "no `apiVersion`"),
    ("  steps: [{name: x, try: [{create: {resource: {apiVersion: v1}}}]}]", "no `kind`"),
    ("  steps: [{name: x, try: [{create: {resource: {apiVersion: v1, kind: Podd}}}]}]", "did you mean `Pod`?"),
    ("  steps: [{name: x, try: [{create: {resource: {apiVersion: v1, kind: Deployment}}}]}]", "another apiVersion"),
    (
        "  steps: [{name: x, try: [{create: {resource: {apiVersion: apps/v1, kind: Deployment, spec: {replica: 3}}}}]}]",
        "did you mean `replicas`?",
    ),
    (
        "  steps: [{name: x, try: [{create: {resource: {apiVersion: apps/v1, kind: Deployment, spec: {replicas: '3'}}}}]}]",
        "is a whole number, and this is a string",
    ),
    (
        "  steps: [{name: x, try: [{assert: {resource: {apiVersion: apps/v1, kind: StatefulSet, status: {readyReplica: 2}}}}]}]",
        "did you mean `readyReplicas`?",
    ),
    ("  steps: [{name: x, try: [{assert: {}}]}]", "`resource` or `cel`"),
    ("  steps: [{name: x, try: [{assert: {cel: 'pods.size('}}]}]", "bad expression"),
    ("  steps: [{name: x, try: [{assert: {cel: 'podz.size() == 1'}}]}]", "podz"),
    ("  steps: [{name: x, try: [{assert: {cel: pods.size()}}]}]", "bad expression"),
    ("  steps: [{name: x, try: [{assert: {cel: \"pods.exists(p, p.status.phas == 'Running')\"}}]}]", "phas"),
    ("  steps: [{name: x, try: [{delete: {ref: {apiVersion: v1, kind: Pod}}}]}]", "`name` or `labels`"),
    ("  steps: [{name: x, try: [{wait: {apiVersion: v1, kind: Pod, for: {creation: {}}}}]}]", "`name` or a `selector`"),
    ("  steps: [{name: x, try: [{sleep: {duration: 1 fortnight}}]}]", ":5:"),
    ("  cluster: {nodes: 3}\n  steps: [{name: x, try: [{kill: {node: node-9}}]}]", "node-9"),
    ("  steps: [{name: x, try: [{stop: {component: schedular}}]}]", "did you mean `scheduler`?"),
    ("  steps: [{name: x, try: [{start: {toy: edge-trigered}}]}]", "did you mean `edge-triggered`?"),
    (
        "  cluster: {nodes: 1}\n  steps: [{name: x, try: [{taint: {node: node-1, taint: 'a=b:NoShedule'}}]}]",
        "NoShedule",
    ),
    (
        "  requests: [{name: r, verb: creat, resource: pods, by: scheduler, atMost: 1}]\n  steps: []",
        "did you mean `create`?",
    ),
    (
        "  requests: [{name: r, verb: create, resource: podz, by: scheduler, atMost: 1}]\n  steps: []",
        "did you mean `pods`?",
    ),
    (
        "  requests: [{name: r, verb: create, resource: pods, by: controller-manager/replicasett, atMost: 1}]\n  steps: []",
        "did you mean `controller-manager/replicaset`?",
    ),
    (
        "  never: [{name: n, resource: {apiVersion: v1, kind: Pod, status: {phas: Running}}}]\n  steps: []",
        "did you mean `phase`?",
    ),
    ("  always: [{name: n, cel: 'true', since: stepp}]\n  steps: [{name: step, try: []}]", "did you mean `step`?"),
    ("  faults: [{do: {lag: 1s, kind: Podd, to: scheduler}}]\n  steps: []", "did you mean `Pod`?"),
    ("  faults: [{do: {kill: schedular}}]\n  steps: []", "did you mean `scheduler`?"),
    ("  steps: [{name: x, try: [{get: {ref: {apiVersion: v1, kind: Pod, name: a}}}]}]", "`as`"),
];

/// Whether a message names a line and a column of a file: `a.yaml:5:13: `.
fn has_line_and_column(said: &str, file: &str) -> bool {
    said.match_indices(file).any(|(at, _)| {
        let mut place = said[at + file.len()..].splitn(3, ':');
        let [line, column] = [place.next(), place.next()].map(|part| part.and_then(|part| part.parse::<u32>().ok()));
        line.is_some() && column.is_some() && place.next().is_some_and(|rest| rest.starts_with(' '))
    })
}

#[test]
fn each_of_37_mistakes_in_a_scenario_is_refused_with_line_and_column_and_what_is_wrong() {
    assert_eq!(MISTAKES.len(), 37);
    let folder = Folder::new("mistakes");
    let mut wrong = Vec::new();
    for (number, (mistake, hint)) in MISTAKES.iter().enumerate() {
        let file = folder.join(&format!("{number}.yaml"));
        std::fs::write(&file, format!("{HEAD}{mistake}\n")).unwrap();
        let output = coracle().arg("validate").arg(&file).output().unwrap();
        let said = text(&output);
        let has_place = has_line_and_column(&said, &format!("{number}.yaml:")) && said.contains("    | ");
        if output.status.code() != Some(2) || !has_place || !said.contains(hint) {
            wrong.push(format!("{mistake}\n expected: {hint}\n{said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn all_problems_of_all_files_are_listed_with_an_excerpt_each() {
    let folder = Folder::new("validate");
    let (scenario, lesson, manifest) = (folder.join("a.yaml"), folder.join("b.yaml"), folder.join("c.yaml"));
    let steps =
        "  steps:\n  - name: x\n    try:\n    - kill: {component: schedular}\n    - stop: {component: store2}\n";
    std::fs::write(&scenario, format!("{HEAD}  always: [{{name: n, cel: 'podz'}}]\n{steps}")).unwrap();
    std::fs::write(&lesson, "apiVersion: coracle.dev/v1alpha1\nkind: Lesson\nmetadata: {name: b}\nspec: {numbr: 1}\n")
        .unwrap();
    std::fs::write(&manifest, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndat: {a: b}\n").unwrap();
    let output = coracle().arg("validate").args([&scenario, &lesson, &manifest]).output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for part in [
        "a.yaml:5:27: bad expression",
        "a.yaml:9:25: unknown component `schedular`",
        "\n  9 |     - kill: {component: schedular}\n    |                         ^\n",
        "a.yaml:10:25: unknown",
        "b.yaml:4:8: unknown field `numbr`",
        "c.yaml:4:1: failed to create typed patch object",
        "Kind=ConfigMap): .dat: field not declared in schema",
        "\n3 files, 5 problems\n",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    let run = coracle().arg("run").arg(&scenario).output().unwrap();
    assert_eq!(run.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&run.stderr).matches("a.yaml:").count(), 3, "{}", text(&run));
}

/// Mistakes in a plan, below `spec`, with what the message has to contain.
const MISTAKES_IN_PLANS: &[(&str, &str)] = &[
    ("  of: {component: a}\n  faults: []", ":5:11: a plan has at least one fault"),
    ("  of: {component: a}", "missing field `faults`"),
    ("  of: {seed: 1}\n  faults: [{do: {kill: a}}]", ":4:7: `of` names a `component`, or a `scenario`"),
    ("  of: {component: a, sed: 1}\n  faults: [{do: {kill: a}}]", "did you mean `seed`?"),
    ("  of: {component: a}\n  faults: [{do: {kil: a}}]", "did you mean `kill`?"),
    ("  of: {component: a}\n  faults: [{wen: {by: a}, do: {kill: a}}]", "did you mean `when`?"),
    ("  of: {component: a}\n  finds: {check: hot-lop}\n  faults: [{do: {kill: a}}]", "did you mean `hot-loop`?"),
    ("  of: {scenario: none.yaml}\n  faults: [{do: {kill: scheduler}}]", ":4:18: the scenario "),
    ("  of: {scenario: scenario.yaml}\n  faults: [{do: {kill: schedular}}]", "did you mean `scheduler`?"),
    (
        "  of: {scenario: scenario.yaml, component: schedular}\n  faults: [{do: {kill: scheduler}}]",
        "did you mean `scheduler`?",
    ),
    (
        "  of: {scenario: scenario.yaml}\n  faults: [{when: {by: scenario, verb: create, resource: podz}, do: {lose: answer}}]",
        "did you mean `pods`?",
    ),
];

#[test]
fn each_mistake_in_a_plan_is_refused_with_its_place_and_what_is_wrong() {
    let folder = Folder::new("mistakes-in-plans");
    std::fs::write(folder.join("scenario.yaml"), format!("{HEAD}  steps: []\n")).unwrap();
    let mut wrong = Vec::new();
    for (number, (mistake, hint)) in MISTAKES_IN_PLANS.iter().enumerate() {
        let file = folder.join(&format!("{number}.yaml"));
        std::fs::write(&file, format!("apiVersion: coracle.dev/v1alpha1\nkind: Plan\nspec:\n{mistake}\n")).unwrap();
        for command in ["validate", "run"] {
            let output = coracle().arg(command).arg(&file).output().unwrap();
            let said = text(&output);
            let has_place = said.contains(&format!("{number}.yaml:")) && said.contains("    | ");
            if output.status.code() != Some(2) || !has_place || !said.contains(hint) {
                wrong.push(format!("{command}: {mistake}\n expected: {hint}\n{said}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_plan_of_a_program_may_name_kinds_of_the_program_and_all_its_mistakes_are_listed() {
    let folder = Folder::new("plans");
    let (right, wrong) = (folder.join("a.yaml"), folder.join("b.yaml"));
    let head = "apiVersion: coracle.dev/v1alpha1\nkind: Plan\nspec:\n  of: {component: rabbit}\n  faults:\n";
    let foreign = "  - {when: {by: rabbit, verb: create, resource: rabbits/status}, do: {lose: answer}}\n  - {do: {lag: 5s, kind: Rabbit, to: rabbit}}\n";
    std::fs::write(&right, format!("{head}{foreign}")).unwrap();
    std::fs::write(&wrong, format!("{head}  - {{do: {{kil: rabbit}}}}\n{foreign}  - {{do: {{lag: soon}}}}\n")).unwrap();
    assert_eq!(succeed(coracle().arg("validate").arg(&right)), "1 file, 0 problems\n");
    let output = coracle().arg("validate").arg(&wrong).output().unwrap();
    let said = text(&output);
    assert!(output.status.code() == Some(2) && said.ends_with("1 file, 2 problems\n"), "{said}");
    assert!(said.contains("b.yaml:6:") && said.contains("b.yaml:9:"), "{said}");
}

#[test]
fn the_scenarios_and_lessons_of_the_repository_have_no_problem() {
    let folders = ["scenarios", "lessons"].map(|name| repository().join(name));
    let said = succeed(coracle().arg("validate").args(&folders));
    let files: usize = folders.iter().map(|folder| std::fs::read_dir(folder).unwrap().count()).sum();
    assert_eq!(said, format!("{files} files, 0 problems\n"));
}

#[test]
fn a_folder_without_files_is_nothing_matched_and_a_missing_file_is_a_problem() {
    let folder = Folder::new("validate-none");
    let output = coracle().arg("validate").arg(folder.join("")).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", text(&output));
    let output = coracle().arg("validate").arg(folder.join("none.yaml")).output().unwrap();
    assert!(
        output.status.code() == Some(2) && text(&output).contains("none.yaml: cannot be read"),
        "{}",
        text(&output)
    );
}

/// Manifests with one mistake of each sort.
const MANIFESTS: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replica: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
---
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop}
spec:
  containers:
  - name: a
    image: nginx
    imagePullPolicy: Sometimes
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: few, namespace: shop}
spec: {hard: {configmaps: "2"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: too-many, namespace: shop}
---
apiVersion: example.com/v1
kind: Boat
metadata: {name: heavy}
spec: {crew: 9}
---
apiVersion: example.com/v1
kind: Ship
metadata: {name: none}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: boats, singular: boat, kind: Boat, listKind: BoatList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {crew: {type: integer}}
            x-kubernetes-validations: [{rule: self.crew < 3, message: a coracle is small}]
"#;

#[test]
fn manifests_are_checked_as_an_api_server_would_with_the_lines_of_their_fields() {
    let folder = Folder::new("manifests");
    let file = folder.path().join("shop.yaml");
    std::fs::write(&file, MANIFESTS).unwrap();
    // kube-root-ca.crt is the first of two in the namespace, and `one` the second.
    let one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: shop}\n";
    std::fs::write(folder.path().join("first.yaml"), one).unwrap();
    let output = coracle().arg("validate").arg(folder.path()).output().unwrap();
    let found = text(&output);
    assert_eq!(output.status.code(), Some(2), "{found}");
    let problems = [
        ("shop.yaml:5:", "replica"),
        ("shop.yaml:18:", "Unsupported value: \"Sometimes\""),
        ("shop.yaml:25:", "exceeded quota: few"),
        ("shop.yaml:32:", "a coracle is small"),
        ("shop.yaml:35:", "has no kind \"Ship\""),
    ];
    for (place, why) in problems {
        assert!(found.lines().any(|line| line.contains(place) && line.contains(why)), "{place} {why}: {found}");
    }
    assert!(found.ends_with("2 files, 5 problems\n"), "{found}");
}

#[test]
fn manifests_without_a_mistake_pass_and_a_kind_belongs_to_its_release() {
    let folder = Folder::new("manifests-of-a-release");
    let file = folder.path().join("bundle.yaml");
    let bundle = "apiVersion: resource.k8s.io/v1\nkind: DeviceTaintRule\nmetadata: {name: a}\n\
                  spec: {taint: {key: a, effect: NoSchedule}}\n";
    std::fs::write(&file, bundle).unwrap();
    let validate = |release: &str| coracle().args(["validate", "--kubernetes", release]).arg(&file).output().unwrap();
    let newest = validate("1.37");
    assert_eq!(newest.status.code(), Some(0), "{}", text(&newest));
    let oldest = validate("1.35");
    assert_eq!(oldest.status.code(), Some(2));
    assert!(text(&oldest).contains("Kubernetes 1.35 has no kind"), "{}", text(&oldest));
}
