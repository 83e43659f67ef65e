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
    ("exercises/node-not-ready.yaml", include_str!("../exercises/node-not-ready.yaml")),
    ("exercises/pending-claim.yaml", include_str!("../exercises/pending-claim.yaml")),
    ("exercises/liveness-restarts.yaml", include_str!("../exercises/liveness-restarts.yaml")),
    ("exercises/forbidden-service-account.yaml", include_str!("../exercises/forbidden-service-account.yaml")),
    ("exercises/no-cpu-request.yaml", include_str!("../exercises/no-cpu-request.yaml")),
    ("exercises/blocked-drain.yaml", include_str!("../exercises/blocked-drain.yaml")),
    ("exercises/failed-job.yaml", include_str!("../exercises/failed-job.yaml")),
    ("exercises/endless-init.yaml", include_str!("../exercises/endless-init.yaml")),
    ("exercises/wrong-target-port.yaml", include_str!("../exercises/wrong-target-port.yaml")),
    ("exercises/refusing-webhook.yaml", include_str!("../exercises/refusing-webhook.yaml")),
    ("exercises/suspended-cronjob.yaml", include_str!("../exercises/suspended-cronjob.yaml")),
    ("exercises/blocked-statefulset.yaml", include_str!("../exercises/blocked-statefulset.yaml")),
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
    use std::collections::BTreeSet;

    use coracle_journal::Recorder;
    use coracle_scenario::file::Step;
    use coracle_scenario::parse::yaml;
    use coracle_scenario::{Mode, Options, Outcome, Report, Scenario, execute};
    use serde::Deserialize;

    use super::*;

    /// What repairs an exercise, and what does not, as steps of a scenario: a file of `tests/repairs`.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Repairs {
        repair: Step,
        /// Other repairs that are as good.
        #[serde(default)]
        also: Vec<Step>,
        /// Plausible changes that do not repair it.
        wrong: Vec<Step>,
    }

    impl Repairs {
        fn of(exercise: &Exercise) -> Self {
            let name = format!("{}.yaml", exercise.metadata.name);
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/repairs").join(name);
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            yaml(&path, &text).unwrap_or_else(|problem| panic!("{problem}"))
        }
    }

    fn run(scenario: &Scenario) -> Report {
        let options = Options { mode: Some(Mode::Virtual), strict: true, ..Options::default() };
        execute(scenario, Path::new("exercise.yaml"), &options, |_| Recorder::ring(1_000_000)).unwrap()
    }

    /// Runs an exercise, and then a step, in virtual time.
    fn run_with(exercise: &Exercise, step: &Step) -> Report {
        let mut scenario = exercise.scenario();
        scenario.spec.steps.push(step.clone());
        scenario.spec.timeout = std::time::Duration::from_secs(600);
        run(&scenario)
    }

    /// The names of the claims of an exercise.
    fn claims(scenario: &Scenario) -> BTreeSet<&str> {
        let spec = &scenario.spec;
        let at_every_revision = spec.always.iter().chain(&spec.never).map(|claim| claim.value.name.as_str());
        spec.eventually.iter().map(|claim| claim.value.name.as_str()).chain(at_every_revision).collect()
    }

    /// Fails with what is wrong with some exercises, all at once.
    fn assert_none(problems: &[String]) {
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    /// A problem if a run did not end with a claim of the exercise that does not hold.
    fn unless_a_claim_fails(exercise: &Exercise, what: &str, report: &Report) -> Option<String> {
        let scenario = exercise.scenario();
        let is_claim = match &report.outcome {
            Outcome::NotInTime(failure) | Outcome::Failed(failure) => claims(&scenario).contains(failure.what.as_str()),
            Outcome::Passed | Outcome::NothingMatched(_) => false,
        };
        (!is_claim).then(|| format!("{}: {what}: {}", exercise.metadata.name, report.block()))
    }

    #[test]
    fn a_claim_of_each_exercise_fails_in_its_broken_cluster() {
        let broken = |exercise: &Exercise| unless_a_claim_fails(exercise, "broken", &run(&exercise.scenario()));
        assert_none(&exercises().iter().filter_map(broken).collect::<Vec<_>>());
    }

    #[test]
    fn all_claims_of_each_exercise_hold_in_its_repaired_cluster() {
        let mut problems = Vec::new();
        for exercise in exercises() {
            let Repairs { repair, also, .. } = Repairs::of(&exercise);
            for step in [&repair].into_iter().chain(&also) {
                let report = run_with(&exercise, step);
                let problem = || format!("{}: {}: {}", exercise.metadata.name, step.name, report.block());
                problems.extend((!report.passed()).then(problem));
            }
        }
        assert_none(&problems);
    }

    #[test]
    fn a_claim_of_each_exercise_fails_after_each_wrong_repair() {
        let mut problems = Vec::new();
        for exercise in exercises() {
            let wrong = Repairs::of(&exercise).wrong;
            assert!(!wrong.is_empty(), "{}", exercise.metadata.name);
            problems.extend(
                wrong.iter().filter_map(|step| unless_a_claim_fails(&exercise, &step.name, &run_with(&exercise, step))),
            );
        }
        assert_none(&problems);
    }
}
