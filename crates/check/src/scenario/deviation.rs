use coracle_scenario::{Failure, Outcome, Report, Scenario};
use coracle_sim::checks::{Finding, Run, findings};

use crate::scenario_words::{INVARIANT, STEP};

/// What a component did in a run with faults that it did in no run without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// The word of the check: one of `docs/checks.md`, `invariant` for an `always` or a `never` of the scenario, or `step`
    /// for a condition that was not met at all.
    pub word: String,
    /// What is wrong.
    pub what: String,
}

impl Deviation {
    /// What is the same in two deviations with one reason: the check, and what it is about.
    pub(super) fn key(&self) -> String {
        let about = match self.word.as_str() {
            INVARIANT | STEP => self.what.split(':').next(),
            _ => self.what.split(['/', ' ', ':']).next(),
        };
        format!("{} {}", self.word, about.unwrap_or_default())
    }
}

/// How the steps of a scenario ended.
pub(super) enum Verdict {
    /// All steps were taken.
    Done(Vec<Deviation>),
    /// A step could not be taken, because it comes too early for a cluster with faults.
    Refused,
    /// A condition was not met.
    Stopped(Deviation),
}

impl Verdict {
    pub(super) fn of(scenario: &Scenario, report: &Report) -> Self {
        match &report.outcome {
            Outcome::Passed | Outcome::NothingMatched(_) => Self::Done(Vec::new()),
            Outcome::NotInTime(failure) => Self::Stopped(deviation(STEP, failure)),
            Outcome::Failed(failure) if is_invariant(scenario, failure) => {
                Self::Done(vec![deviation(INVARIANT, failure)])
            }
            // Who sends how many requests depends on the faults.
            Outcome::Failed(failure) if is_of_requests(scenario, failure) => Self::Done(Vec::new()),
            Outcome::Failed(failure) if failure.what.starts_with("component ") => {
                Self::Done(vec![deviation("panics", failure)])
            }
            Outcome::Failed(_) => Self::Refused,
        }
    }
}

fn deviation(word: &str, failure: &Failure) -> Deviation {
    let Failure { what, found, revision, .. } = failure;
    let found: String = found.chars().take(300).collect();
    Deviation { word: word.to_owned(), what: format!("{what}: at revision {revision}, {found}") }
}

fn is_invariant(scenario: &Scenario, failure: &Failure) -> bool {
    let spec = &scenario.spec;
    spec.always.iter().chain(&spec.never).any(|invariant| invariant.value.name == failure.what)
}

fn is_of_requests(scenario: &Scenario, failure: &Failure) -> bool {
    scenario.spec.requests.iter().any(|expected| expected.name == failure.what)
}

/// What the built-in checks find in a run, without what they only show.
pub(super) fn of_checks(run: &Run, faultless: &[Run]) -> Vec<Deviation> {
    let failing = findings(run, faultless).into_iter().filter(|finding| finding.check.grade.fails());
    let deviation = |Finding { check, violation, .. }| Deviation { word: check.word.to_owned(), what: violation.what };
    failing.map(deviation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_deviations_are_one_if_they_are_about_the_same() {
        let key = |word: &str, what: &str| Deviation { word: word.to_owned(), what: what.to_owned() }.key();
        assert_eq!(key("unseen-incarnation", "pods/default/a has the uid x"), "unseen-incarnation pods");
        assert_eq!(key(INVARIANT, "never four pods: at revision 7, it was 4"), "invariant never four pods");
        assert_eq!(key("hot-loop", "list pods more than ten"), "hot-loop list");
    }
}
