use std::sync::Arc;

use coracle_journal::Events;
use coracle_sim::ClockMode;
use coracle_sim::checks::{Finding, Run};
use serde_json::Value;

use crate::Error;
use crate::limits::Limits;
use crate::parallel::parallel;
use crate::plan::Plan;
use crate::trial::{Outcome, Setup, trial};

/// How many runs without a fault there are, each with another seed.
const RUNS: u64 = 5;

/// Runs without a fault, with which runs with faults are compared.
pub(crate) struct Baseline {
    /// The runs.
    pub(crate) runs: Vec<Run>,
    /// What the checks find without a fault.
    pub(crate) findings: Vec<Finding>,
    /// The event log of the first run, if logs are kept.
    pub(crate) log: Option<Arc<Events>>,
}

/// Whether a finding is of the controller, and not of the time at which a run in real time took place: it is in each
/// run. A controller that ends by itself once is broken.
fn is_of_the_controller(finding: &Finding, runs: &[Run], limits: &Limits) -> bool {
    let word = finding.check.word;
    let is_in = |run: &Run| limits.findings(run, &[]).iter().any(|other| other.check.word == word);
    !finding.check.grade.fails() || word == "panics" || runs.iter().all(is_in)
}

impl Baseline {
    /// Runs a controller without a fault, with the first seed and those that follow it.
    pub(crate) fn of(setup: &Setup, limits: &Limits) -> Result<Self, Error> {
        let seeds: Vec<u64> = (limits.seed..limits.seed + RUNS).collect();
        // A run that does not settle takes long, and one of them is enough. In real time, so do all runs.
        let (alone, others) = seeds.split_at(usize::from(setup.pace.clock == ClockMode::Virtual));
        let run = |seed: &u64| trial(setup, *seed, &Plan::default());
        let mut outcomes = alone.iter().map(run).collect::<Result<Vec<Outcome>, Error>>()?;
        if outcomes.iter().all(|outcome| outcome.run.unsettled.is_none()) {
            for outcome in parallel(limits.jobs, others, run) {
                outcomes.push(outcome?);
            }
        }
        let log = outcomes.first().and_then(|outcome| outcome.log.clone());
        let runs: Vec<Run> = outcomes.into_iter().map(|outcome| outcome.run).collect();
        let found = runs.iter().flat_map(|run| limits.findings(run, &[]));
        let mut distinct: Vec<Finding> = Vec::new();
        for finding in found {
            if !distinct.iter().any(|known| known.check.word == finding.check.word) {
                distinct.push(finding);
            }
        }
        if setup.pace.clock != ClockMode::Virtual {
            distinct.retain(|finding| is_of_the_controller(finding, &runs, limits));
        }
        Ok(Self { runs, findings: distinct, log })
    }

    /// Whether the controller creates objects with owners, which the garbage collector deletes with them.
    pub(crate) fn has_owned_objects(&self) -> bool {
        let is_owned = |object: &Value| object.pointer("/metadata/ownerReferences").is_some();
        let created = |run: &Run| {
            let own = run.log.writes_of(&run.user).filter(|write| write.before.is_none());
            own.filter_map(|write| write.after.as_deref()).any(is_owned)
        };
        self.runs.iter().any(created)
    }

    /// Whether the controller fails without a fault.
    pub(crate) fn fails(&self) -> bool {
        self.findings.iter().any(|finding| finding.check.grade.fails())
    }
}
