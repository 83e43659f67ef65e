//! Where the parts of a scenario are in its file.

use coracle_journal::{Detail, Stage};

use super::{ACTOR, ScenarioRun};

impl ScenarioRun<'_> {
    /// The line of a check, or of the last operation of a step that has begun.
    pub(super) fn line_of(&self, name: &str) -> Option<u64> {
        let spec = &self.scenario.spec;
        let invariants = spec.always.iter().chain(&spec.never).chain(&spec.eventually);
        let invariant = invariants.filter(|check| check.value.name == name).map(|check| check.location.line()).next();
        let requests = || spec.requests.iter().find(|count| count.name == name).map(|count| count.verb.location.line());
        let step = || self.line.filter(|_| self.steps.last().is_some_and(|(step, _)| step == name));
        invariant.or_else(requests).or_else(step)
    }

    /// Records the steps that the run did not reach, and returns their names.
    pub(super) fn record_skipped(&self) -> Vec<String> {
        let skipped = self.scenario.spec.steps.iter().skip(self.steps.len());
        for step in skipped.clone() {
            let line = step.operations.first().map(|operation| operation.location.line());
            self.recorder.record(ACTOR, Stage::StepSkip, || {
                let detail = Detail::default().with("name", step.name.as_str());
                line.iter().fold(detail, |detail, line| detail.with("line", *line))
            });
        }
        skipped.map(|step| step.name.clone()).collect()
    }
}
