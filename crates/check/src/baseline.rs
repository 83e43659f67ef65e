use coracle_sim::checks::{Finding, Run, findings};
use serde_json::Value;

use crate::Error;
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
}

impl Baseline {
    /// Runs a controller without a fault, with this seed and those that follow it.
    pub(crate) fn of(setup: &Setup, seed: u64, jobs: usize) -> Result<Self, Error> {
        let Outcome { run, .. } = trial(setup, seed, &Plan::default())?;
        // A run that does not settle takes long, and one of them is enough.
        let seeds: Vec<u64> = (seed + 1..seed + RUNS).take_while(|_| run.unsettled.is_none()).collect();
        let mut runs = vec![run];
        for outcome in parallel(jobs, &seeds, |seed| trial(setup, *seed, &Plan::default())) {
            runs.push(outcome?.run);
        }
        let found = runs.iter().flat_map(|run| findings(run, &[]));
        let mut distinct: Vec<Finding> = Vec::new();
        for finding in found {
            if !distinct.iter().any(|known| known.check.word == finding.check.word) {
                distinct.push(finding);
            }
        }
        Ok(Self { runs, findings: distinct })
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
