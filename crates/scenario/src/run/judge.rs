use coracle_cluster::ComponentPanic;
use coracle_journal::{Detail, Stage};
use coracle_sim::InvariantVerdict;
use coracle_sim::faults::{FaultStrike, FaultVerdict};

use super::stop::{Stop, late};
use super::{ACTOR, ScenarioRun};
use crate::objects::CATCH_UP;
use crate::report::{Check, Failure, Outcome};

impl ScenarioRun<'_> {
    /// Decides the invariants and the request counts after the last write was seen.
    pub(super) async fn judge(&mut self, outcome: &mut Outcome) {
        self.see_all(outcome).await;
        self.judge_throughout(outcome);
        self.count_requests(outcome);
        self.judge_vacuous(outcome);
    }

    /// A run passes only if all of its writes were seen.
    pub(super) async fn see_all(&self, outcome: &mut Outcome) {
        let Err(late) = self.world.caught_up(CATCH_UP).await.map_err(late) else { return };
        let Stop::NotInTime { expected, found, revision } = late else { unreachable!("nothing else is late") };
        let what = "the last revision".to_owned();
        self.record_failure(&what, &expected, &found, revision, "late");
        if *outcome == Outcome::Passed {
            *outcome = Outcome::NotInTime(Failure { what, expected, found, revision, line: None, written_by: None });
        }
    }

    /// Records a check that held. If it was vacuous, that is noted, or it fails.
    pub(super) fn note_held(&mut self, mut check: Check) {
        if let (true, Some(why)) = (self.strict, &check.vacuous) {
            let (name, expected) = (check.name.as_str(), "to check something");
            self.recorder.record(ACTOR, Stage::CheckFail, || {
                let detail = Detail::default().at(check.revision).with("name", name);
                let detail =
                    detail.with("expected", expected).with("found", why.as_str()).with("vacuous", why.as_str());
                if check.throughout { detail.with("throughout", true) } else { detail }
            });
            let (what, expected, found) = (name.to_owned(), expected.to_owned(), why.clone());
            let (revision, line) = (check.revision, self.line_of(name));
            self.vacuous.push(Failure { what, expected, found, revision, line, written_by: None });
            check.held = false;
        } else {
            self.recorder.record(ACTOR, Stage::CheckPass, || {
                let detail = Detail::default().at(check.revision).with("name", check.name.as_str());
                let detail = if check.throughout { detail.with("throughout", true) } else { detail };
                check.vacuous.iter().fold(detail, |detail, why| detail.with("vacuous", why.as_str()))
            });
        }
        self.checks.push(check);
    }

    /// A vacuous check fails in strict mode.
    pub(super) fn judge_vacuous(&self, outcome: &mut Outcome) {
        if let (Outcome::Passed, Some(first)) = (&*outcome, self.vacuous.first()) {
            *outcome = Outcome::Failed(first.clone());
        }
    }

    /// A fault that did not strike makes the result meaningless.
    pub(super) fn judge_faults(&mut self, outcome: &mut Outcome) {
        let last = self.world.revision();
        for FaultVerdict { name, strike } in self.faults.verdicts() {
            let name = format!("fault {name}");
            let Some(found) = strike.near_miss() else {
                let revision = match strike {
                    FaultStrike::Struck { revision, .. } => revision,
                    _ => last,
                };
                let check = self.check(&name, true, revision);
                self.note_held(check);
                continue;
            };
            let expected = "it strikes".to_owned();
            self.checks.push(self.check(&name, false, last));
            self.record_failure(&name, &expected, &found, last, "unmatched");
            if *outcome == Outcome::Passed {
                let failure = Failure { what: name, expected, found, revision: last, line: None, written_by: None };
                *outcome = Outcome::NothingMatched(failure);
            }
        }
    }

    /// A panic of a component fails the run, although the component was started again.
    pub(super) fn judge_panics(&mut self, outcome: &mut Outcome) {
        let last = self.world.revision();
        for ComponentPanic { component, message } in self.cluster.take_component_panics() {
            let name = format!("component {component}");
            let (expected, found) = ("it does not panic".to_owned(), format!("it panicked: {message}"));
            self.checks.push(self.check(&name, false, last));
            self.record_failure(&name, &expected, &found, last, "");
            if matches!(outcome, Outcome::Passed | Outcome::NothingMatched(_)) {
                *outcome = failed(&name, expected, found, last, None);
            }
        }
    }

    /// The first failure of the log is the one that is shown.
    pub(super) fn judge_throughout(&mut self, outcome: &mut Outcome) {
        let verdicts = self.world.verdicts();
        for verdict in &verdicts {
            let vacuous = match verdict {
                InvariantVerdict { asked: false, .. } => {
                    Some("it was asked at no revision: its step was not taken".to_owned())
                }
                InvariantVerdict { saw: false, .. } => Some("there was nothing to look at, at any revision".to_owned()),
                _ => None,
            };
            let check = match &verdict.broken {
                None => Check { throughout: true, vacuous, ..self.check(&verdict.name, true, self.world.revision()) },
                Some(broken) => {
                    let at = broken.at.saturating_duration_since(self.started);
                    Check { at, throughout: true, ..self.check(&verdict.name, false, broken.revision) }
                }
            };
            if check.held { self.note_held(check) } else { self.checks.push(check) }
        }
        let broken = verdicts.into_iter().filter_map(|verdict| Some((verdict.name, verdict.broken?)));
        let Some((name, broken)) = broken.min_by_key(|(_, broken)| broken.revision) else { return };
        // It was decided before a step could end at the same revision.
        let is_first = match outcome {
            Outcome::Passed | Outcome::NothingMatched(_) => true,
            Outcome::Failed(step) | Outcome::NotInTime(step) => broken.revision <= step.revision,
        };
        if is_first {
            *outcome = failed(&name, broken.expected, broken.found, broken.revision, self.line_of(&name));
        }
    }

    pub(super) fn check(&self, name: &str, held: bool, revision: i64) -> Check {
        let at = self.started.elapsed();
        Check { name: name.to_owned(), held, revision, at, throughout: false, vacuous: None }
    }

    /// With an additional field that is set to true, if its name is not empty.
    pub(super) fn record_failure(&self, name: &str, expected: &str, found: &str, revision: i64, word: &'static str) {
        self.recorder.record(ACTOR, Stage::CheckFail, || {
            let detail =
                Detail::default().at(revision).with("name", name).with("expected", expected).with("found", found);
            let detail = self.line_of(name).iter().fold(detail, |detail, line| detail.with("line", *line));
            if word.is_empty() { detail } else { detail.with(word, true) }
        });
    }
}

pub(super) fn failed(what: &str, expected: String, found: String, revision: i64, line: Option<u64>) -> Outcome {
    Outcome::Failed(Failure { what: what.to_owned(), expected, found, revision, line, written_by: None })
}
