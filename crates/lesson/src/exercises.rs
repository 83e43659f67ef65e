//! The exercises that are built in.

use std::path::Path;

use crate::exercise::{Exercise, parse_exercise};

/// The exercises, in the order of their numbers; one file and one line each.
const EXERCISES: &[(&str, &str)] = &[
    ("exercises/selector-typo.yaml", include_str!("../exercises/selector-typo.yaml")),
    ("exercises/crash-loop.yaml", include_str!("../exercises/crash-loop.yaml")),
    ("exercises/missing-image.yaml", include_str!("../exercises/missing-image.yaml")),
    ("exercises/missing-configmap.yaml", include_str!("../exercises/missing-configmap.yaml")),
    ("exercises/bad-readiness-probe.yaml", include_str!("../exercises/bad-readiness-probe.yaml")),
    ("exercises/cordoned-nodes.yaml", include_str!("../exercises/cordoned-nodes.yaml")),
    ("exercises/quota-exhausted.yaml", include_str!("../exercises/quota-exhausted.yaml")),
    ("exercises/stuck-finalizer.yaml", include_str!("../exercises/stuck-finalizer.yaml")),
];

/// The built-in exercises, in the order of their numbers.
pub fn exercises() -> Vec<Exercise> {
    let read = |(file, text): &(&str, &str)| {
        parse_exercise(Path::new(file), text).unwrap_or_else(|problem| panic!("{problem}"))
    };
    EXERCISES.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use coracle_journal::Recorder;
    use coracle_scenario::file::Step;
    use coracle_scenario::parse::yaml;
    use coracle_scenario::{Mode, Options, Outcome, Report, Scenario, execute};

    use super::*;

    /// What repairs each exercise, as operations of a scenario.
    const REPAIRS: &[(&str, &str)] = &[
        (
            "selector-typo",
            "[{patch: {resource: {apiVersion: v1, kind: Service, metadata: {name: shop}, spec: {selector: {app: shop}}}}}]",
        ),
        (
            "crash-loop",
            "[{patch: {resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: api}, spec: {template: {spec: \
             {containers: [{name: api, image: 'busybox:1.37', command: [sleep, '100000'], env: [{name: DATABASE_URL, \
             value: a}]}]}}}}}}]",
        ),
        ("missing-image", "[{rollout: {ref: {apiVersion: apps/v1, kind: Deployment, name: web}, action: undo}}]"),
        (
            "missing-configmap",
            "[{create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: worker-settings}, data: {level: info}}}}]",
        ),
        (
            "bad-readiness-probe",
            "[{patch: {resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: cart}, spec: {template: {spec: \
             {containers: [{name: cart, image: 'busybox:1.37', command: [sleep, '100000'], readinessProbe: {httpGet: \
             {path: /ready, port: 8080}, initialDelaySeconds: 1}}]}}}}}}]",
        ),
        ("cordoned-nodes", "[{uncordon: {node: node-1}}, {uncordon: {node: node-2}}]"),
        (
            "quota-exhausted",
            "[{patch: {resource: {apiVersion: v1, kind: ResourceQuota, metadata: {name: team}, spec: {hard: {pods: '4'}}}}}]",
        ),
        (
            "stuck-finalizer",
            "[{patch: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: ledger, finalizers: null}}}}]",
        ),
    ];

    fn run(scenario: &Scenario) -> Report {
        let options = Options { mode: Some(Mode::Virtual), strict: true, ..Options::default() };
        execute(scenario, Path::new("exercise.yaml"), &options, |_| Recorder::ring(1_000_000)).unwrap()
    }

    #[test]
    fn the_claims_of_each_exercise_fail_in_its_broken_cluster_and_hold_when_it_is_repaired() {
        let all = exercises();
        assert_eq!(all.len(), REPAIRS.len());
        for exercise in &all {
            let (name, mut scenario) = (&exercise.metadata.name, exercise.scenario());
            let claims: Vec<&String> = scenario.spec.eventually.iter().map(|claim| &claim.value.name).collect();
            let report = run(&scenario);
            let Outcome::NotInTime(failure) = &report.outcome else { panic!("{name}: {}", report.block()) };
            assert!(claims.contains(&&failure.what), "{name}: the steps fail: {}", report.block());
            let (_, repair) = REPAIRS.iter().find(|(known, _)| known == name).unwrap();
            let step: Step = yaml(Path::new("repair.yaml"), &format!("name: the repair\ntry: {repair}\n")).unwrap();
            scenario.spec.steps.push(step);
            scenario.spec.timeout = std::time::Duration::from_secs(600);
            let report = run(&scenario);
            assert!(report.passed(), "{name}: {}", report.block());
        }
    }
}
