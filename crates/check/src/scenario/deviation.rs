use coracle_scenario::{Failure, Outcome, Report, Scenario};
use coracle_sim::checks::{BREAKS_PROPERTY, Check, FAILS_WORK, Finding, PANICS, Run, Violation, findings};

/// What is the same in two deviations with one reason: the check, and what it is about.
pub(super) fn key(deviation: &Finding) -> String {
    let what = &deviation.violation.what;
    let word = deviation.check.word;
    let is_of_the_scenario = word == BREAKS_PROPERTY.word || word == FAILS_WORK.word;
    let about = if is_of_the_scenario { what.split(':').next() } else { what.split(['/', ' ', ':']).next() };
    format!("{word} {}", about.unwrap_or_default())
}

/// How the steps of a scenario ended.
pub(super) enum Verdict {
    /// All steps were taken.
    Done(Vec<Finding>),
    /// A step could not be taken, because it comes too early for a cluster with faults.
    Refused,
    /// A condition was not met.
    Stopped(Finding),
}

impl Verdict {
    pub(super) fn of(scenario: &Scenario, report: &Report) -> Self {
        match &report.outcome {
            Outcome::Passed | Outcome::NothingMatched(_) => Self::Done(Vec::new()),
            Outcome::NotInTime(failure) => Self::Stopped(deviation(&FAILS_WORK, failure)),
            Outcome::Failed(failure) if is_invariant(scenario, failure) => {
                Self::Done(vec![deviation(&BREAKS_PROPERTY, failure)])
            }
            // Who sends how many requests depends on the faults.
            Outcome::Failed(failure) if is_of_requests(scenario, failure) => Self::Done(Vec::new()),
            Outcome::Failed(failure) if failure.what.starts_with("component ") => {
                Self::Done(vec![deviation(&PANICS, failure)])
            }
            Outcome::Failed(_) => Self::Refused,
        }
    }
}

fn deviation(check: &'static Check, failure: &Failure) -> Finding {
    let Failure { what, found, revision, .. } = failure;
    let found: String = found.chars().take(300).collect();
    let what = format!("{what}: at revision {revision}, {found}");
    Finding { check, component: String::new(), violation: Violation { what, entry: None } }
}

fn is_invariant(scenario: &Scenario, failure: &Failure) -> bool {
    let spec = &scenario.spec;
    spec.always.iter().chain(&spec.never).any(|invariant| invariant.value.name == failure.what)
}

fn is_of_requests(scenario: &Scenario, failure: &Failure) -> bool {
    scenario.spec.requests.iter().any(|expected| expected.name == failure.what)
}

/// What the built-in checks find in a run, without what they only show.
pub(super) fn of_checks(run: &Run, faultless: &[Run]) -> Vec<Finding> {
    findings(run, faultless).into_iter().filter(|finding| finding.check.grade.fails()).collect()
}

#[cfg(test)]
mod tests {
    use coracle_sim::checks::CHECKS;

    use super::*;

    #[test]
    fn two_deviations_are_one_if_they_are_about_the_same() {
        let key = |word: &str, what: &str| {
            let check = CHECKS.into_iter().find(|check| check.word == word).unwrap();
            key(&Finding {
                check,
                component: String::new(),
                violation: Violation { what: what.to_owned(), entry: None },
            })
        };
        assert_eq!(key("unseen-incarnation", "pods/default/a has the uid x"), "unseen-incarnation pods");
        let property = key("breaks-property", "never four pods: at revision 7, it was 4");
        assert_eq!(property, "breaks-property never four pods");
        assert_eq!(key("hot-loop", "list pods more than ten"), "hot-loop list");
    }
}
