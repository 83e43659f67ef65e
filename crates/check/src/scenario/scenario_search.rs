use std::collections::{BTreeMap, BTreeSet};

use coracle_ambient::Random;
use coracle_sim::checks::Run;

use super::deviation::{Deviation, Verdict, of_checks};
use super::scenario_limits::ScenarioLimits;
use super::scenario_report::{Broken, ScenarioReport};
use super::scenario_trial::{ScenarioOutcome, ScenarioSetup, scenario_trial};
use super::sites::sites;
use crate::Error;
use crate::candidates::{both, candidates};
use crate::pace::Pace;
use crate::parallel::parallel;
use crate::plan::{Plan, fault_word};
use crate::shrink::shorter;

/// How many plans are tried at once, so that the result does not depend on the number of threads.
const BATCH: usize = 16;
/// The checks of a run that says nothing about its end.
const OF_ANY_RUN: [&str; 4] = ["panics", "unseen-incarnation", "foreign-object", "hot-loop"];

/// Looks for plans that break a component while a scenario runs.
///
/// # Errors
/// If the scenario fails without a fault, or a cluster does not start.
pub(super) fn search(
    setup: ScenarioSetup,
    limits: &ScenarioLimits,
    kinds: &BTreeMap<String, String>,
) -> Result<ScenarioReport, Error> {
    let (setup, faultless) = faultless(setup, limits)?;
    let sites = sites(&faultless, &setup.component, kinds);
    let (scenario, component) = (setup.scenario.metadata.name.clone(), setup.component.clone());
    let (own, unstable) = (sites.own.len(), sites.unstable.len());
    let report = ScenarioReport { scenario, component, sites: own, unstable, ..ScenarioReport::default() };
    let plans = chosen(candidates(&[(&setup.component, sites.clone())], &Pace::VIRTUAL), limits);
    let faultless: Vec<Run> = faultless.into_iter().map(|outcome| outcome.run).collect();
    let usual = faultless.iter().flat_map(|run| of_checks(run, &[])).map(|deviation| deviation.word).collect();
    let mut search = Search { setup, limits, faultless, usual, report };
    search.try_all(&plans)?;
    Ok(search.report)
}

/// The runs without a fault.
fn faultless(
    mut setup: ScenarioSetup,
    limits: &ScenarioLimits,
) -> Result<(ScenarioSetup, Vec<ScenarioOutcome>), Error> {
    let first = scenario_trial(&setup, limits.seed, &Plan::default())?;
    setup.settles = first.run.unsettled.is_none();
    let done = u64::from(setup.settles);
    let seeds: Vec<u64> = (limits.seed + done..limits.seed + limits.faultless).collect();
    let others = parallel(limits.jobs, &seeds, |seed| scenario_trial(&setup, *seed, &Plan::default()));
    let mut all: Vec<ScenarioOutcome> = if setup.settles { vec![first] } else { Vec::new() };
    for other in others {
        all.push(other?);
    }
    for outcome in &all {
        let why = match &outcome.verdict {
            Verdict::Done(deviations) => deviations.first().map(|deviation| deviation.what.clone()),
            Verdict::Stopped(deviation) => Some(deviation.what.clone()),
            Verdict::Refused => Some("a step is refused".to_owned()),
        };
        if let Some(why) = why {
            return Err(Error::Input(format!("{} fails without a fault: {why}", setup.path.display())));
        }
    }
    Ok((setup, all))
}

/// The plans that are tried: all candidates once, in an order that the seed draws, and then mixes of two or three.
fn chosen(candidates: Vec<Plan>, limits: &ScenarioLimits) -> Vec<Plan> {
    let random = Random::from_seed(limits.seed).split("plans");
    let below = |bound: usize| usize::try_from(random.below(u64::try_from(bound).unwrap_or(1).max(1))).unwrap_or(0);
    let mut plans = in_turn(candidates.clone(), below);
    while plans.len() < limits.plans && !candidates.is_empty() {
        let mixed = both(&candidates[below(candidates.len())], &candidates[below(candidates.len())]);
        let third = (below(3) == 0).then(|| candidates[below(candidates.len())].clone());
        plans.push(third.iter().fold(mixed, |mixed, third| both(&mixed, third)));
    }
    plans.truncate(limits.plans);
    plans
}

/// The plans in an order in which each fault has its turn: there are many more lags than kills.
fn in_turn(plans: Vec<Plan>, below: impl Fn(usize) -> usize) -> Vec<Plan> {
    let mut of_fault: BTreeMap<Vec<String>, Vec<Plan>> = BTreeMap::new();
    for plan in plans {
        let words = plan.faults.iter().filter_map(|fault| Some(fault_word(fault)?.to_owned())).collect();
        of_fault.entry(words).or_default().push(plan);
    }
    let mut ordered = Vec::new();
    while !of_fault.is_empty() {
        for plans in of_fault.values_mut() {
            ordered.push(plans.swap_remove(below(plans.len())));
        }
        of_fault.retain(|_, plans| !plans.is_empty());
    }
    ordered
}

struct Search<'l> {
    setup: ScenarioSetup,
    limits: &'l ScenarioLimits,
    faultless: Vec<Run>,
    /// The words of checks that fail without a fault.
    usual: BTreeSet<String>,
    report: ScenarioReport,
}

/// A plan that was tried.
struct Attempt {
    plan: Plan,
    has_struck: bool,
    is_refused: bool,
    deviations: Vec<Deviation>,
}

impl Search<'_> {
    fn try_all(&mut self, plans: &[Plan]) -> Result<(), Error> {
        for batch in plans.chunks(BATCH) {
            let attempts = parallel(self.limits.jobs, batch, |plan| self.attempt(plan));
            for attempt in attempts {
                self.take(attempt?)?;
                if self.limits.first_only && !self.report.broken.is_empty() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn attempt(&self, plan: &Plan) -> Result<Attempt, Error> {
        let outcome = scenario_trial(&self.setup, self.limits.seed, plan)?;
        let mut deviations = of_checks(&outcome.run, &self.faultless);
        deviations.retain(|deviation| !self.usual.contains(&deviation.word));
        let of_any_run = |deviation: &Deviation| OF_ANY_RUN.contains(&&*deviation.word);
        let is_refused = matches!(outcome.verdict, Verdict::Refused);
        match outcome.verdict {
            Verdict::Done(mut own) => {
                own.append(&mut deviations);
                deviations = own;
            }
            Verdict::Refused => deviations.retain(of_any_run),
            Verdict::Stopped(step) => {
                deviations.retain(of_any_run);
                deviations.push(step);
            }
        }
        Ok(Attempt { plan: plan.clone(), has_struck: outcome.has_struck, is_refused, deviations })
    }

    fn take(&mut self, attempt: Attempt) -> Result<(), Error> {
        let report = &mut self.report;
        report.plans += 1;
        report.struck += usize::from(attempt.has_struck);
        report.refused += usize::from(attempt.is_refused);
        let (name, number) = (report.scenario.clone(), report.plans);
        let is_accepted =
            |deviation: &Deviation| self.limits.accepted.iter().any(|accepted| accepted.covers(&name, deviation));
        let (accepted, new): (Vec<_>, Vec<_>) = attempt.deviations.into_iter().partition(is_accepted);
        report.accepted += usize::from(!accepted.is_empty());
        // One deviation often has others as its result.
        let Some(deviation) = new.into_iter().next() else { return Ok(()) };
        if report.broken.iter().any(|broken| broken.deviation.key() == deviation.key()) {
            return Ok(());
        }
        let broken = Broken { plan: attempt.plan, number, seed: self.limits.seed, deviation };
        let broken = self.shrink(broken)?;
        self.report.broken.push(broken);
        Ok(())
    }

    /// Makes a plan shorter as long as the component deviates in the same way.
    fn shrink(&self, mut broken: Broken) -> Result<Broken, Error> {
        let mut runs = 0;
        'again: loop {
            for plan in shorter(&broken.plan) {
                if runs >= self.limits.shrinking {
                    break 'again;
                }
                runs += 1;
                let same = self.attempt(&plan)?.deviations;
                let same = same.into_iter().find(|other| other.key() == broken.deviation.key());
                if let Some(deviation) = same {
                    broken = Broken { plan, deviation, ..broken };
                    continue 'again;
                }
            }
            break;
        }
        Ok(broken)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_fault_has_its_turn_and_no_plan_is_lost() {
        let plan = |word: &str, nth: u64| Plan::of([json!({"when": {"nth": nth}, "do": {word: "1s"}})]);
        let lags = (1..=9).map(|nth| plan("lag", nth));
        let plans: Vec<Plan> = lags.chain([plan("kill", 1), plan("kill", 2)]).collect();
        let ordered = in_turn(plans.clone(), |_| 0);
        let words: Vec<String> =
            ordered.iter().filter_map(|plan| Some(fault_word(&plan.faults[0])?.to_owned())).collect();
        assert_eq!(words[..5], ["kill", "lag", "kill", "lag", "lag"]);
        assert!(ordered.len() == plans.len() && plans.iter().all(|plan| ordered.contains(plan)));
    }
}
