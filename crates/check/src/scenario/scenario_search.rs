use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_ambient::Random;
use coracle_journal::Events;
use coracle_sim::checks::{CHECKS, FAILS_WORK, Finding, Run, Violation};

use super::deviation::{Verdict, key, of_checks};
use super::scenario_limits::ScenarioLimits;
use super::scenario_report::ScenarioReport;
use super::scenario_trial::{ScenarioOutcome, ScenarioSetup, scenario_trial};
use super::sites::sites;
use crate::Error;
use crate::candidates::{both, candidates};
use crate::check_report::{CheckReport, Found, Tried};
use crate::differing_write::DifferingWrite;
use crate::last_acts::last_acts;
use crate::pace::Pace;
use crate::parallel::parallel;
use crate::plan::{Plan, fault_word};
use crate::replay::KnownRun;
use crate::shrink::shorter;
use crate::trace::trace;

/// How many plans are tried at once, so that the result does not depend on the number of threads.
const BATCH: usize = 16;
/// The checks of a run that says nothing about its end.
const OF_ANY_RUN: [&str; 4] = ["panics", "unseen-incarnation", "foreign-object", "hot-loop"];

/// Looks for plans that break a component while a scenario runs.
///
/// # Errors
/// If a plan is not valid, or a cluster does not start.
pub(super) fn search(
    setup: ScenarioSetup,
    limits: &ScenarioLimits,
    kinds: &BTreeMap<String, String>,
    known: &[Plan],
) -> Result<ScenarioReport, Error> {
    let (setup, faultless) = faultless(setup, limits)?;
    let sites = sites(&faultless, &setup.component, kinds);
    let (scenario, component) = (setup.scenario.metadata.name.clone(), setup.component.clone());
    let (own, unstable) = (sites.own.clone(), sites.unstable.clone());
    let tried = Tried { sites: own, unstable, runs: faultless.len(), ..Tried::default() };
    let check = CheckReport { tried, checks: CHECKS.to_vec(), ..CheckReport::default() };
    let mut report = ScenarioReport { scenario, component, check, ..ScenarioReport::default() };
    report.check.without_faults = faultless.iter().find_map(deviations_without_fault).unwrap_or_default();
    if report.check.fails() {
        return Ok(report);
    }
    let plans = chosen(candidates(&[(&setup.component, sites.clone())], &Pace::VIRTUAL), limits);
    let faultless: Vec<Run> = faultless.into_iter().map(|outcome| outcome.run).collect();
    let usual = faultless.iter().flat_map(|run| of_checks(run, &[])).map(|deviation| deviation.check.word).collect();
    let mut search = Search { setup, limits, faultless, usual, report };
    search.try_known(known)?;
    if !limits.known_only {
        search.try_all(&plans)?;
    }
    search.record_broken()?;
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
    Ok((setup, all))
}

/// What fails in a run without a fault. Without a fault, no step comes too early.
fn deviations_without_fault(outcome: &ScenarioOutcome) -> Option<Vec<Finding>> {
    let deviations = match &outcome.verdict {
        Verdict::Done(deviations) => deviations.clone(),
        Verdict::Stopped(deviation) => vec![deviation.clone()],
        Verdict::Refused => {
            vec![Finding {
                check: &FAILS_WORK,
                component: String::new(),
                violation: Violation { what: "a step is refused".to_owned(), entry: None },
            }]
        }
    };
    (!deviations.is_empty()).then_some(deviations)
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
    usual: BTreeSet<&'static str>,
    report: ScenarioReport,
}

/// A plan that was tried.
struct Attempt {
    plan: Plan,
    has_struck: bool,
    is_refused: bool,
    deviations: Vec<Finding>,
    outcome: Recorded,
}

/// What is kept of a run.
struct Recorded {
    run: Run,
    missed: Vec<String>,
    log: Option<Arc<Events>>,
}

impl Attempt {
    fn known_run(&self) -> KnownRun {
        let words = self.deviations.iter().map(|deviation| deviation.check.word.to_owned()).collect();
        let Recorded { run, missed, log } = &self.outcome;
        KnownRun { plan: self.plan.clone(), words, trace: trace(run), log: log.clone(), missed: missed.clone() }
    }
}

impl Search<'_> {
    fn try_all(&mut self, plans: &[Plan]) -> Result<(), Error> {
        for batch in plans.chunks(BATCH) {
            let attempts = parallel(self.limits.jobs, batch, |plan| self.attempt(plan));
            for attempt in attempts {
                self.take(attempt?)?;
                if self.limits.first_only && !self.report.broken().is_empty() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn attempt(&self, plan: &Plan) -> Result<Attempt, Error> {
        let outcome = scenario_trial(&self.setup, self.limits.seed, plan)?;
        let mut deviations = of_checks(&outcome.run, &self.faultless);
        deviations.retain(|deviation| !self.usual.contains(deviation.check.word));
        let of_any_run = |deviation: &Finding| OF_ANY_RUN.contains(&deviation.check.word);
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
        let (has_struck, plan) = (outcome.missed.is_empty(), plan.clone());
        let outcome = Recorded { run: outcome.run, missed: outcome.missed, log: outcome.log };
        Ok(Attempt { plan, has_struck, is_refused, deviations, outcome })
    }

    fn take(&mut self, attempt: Attempt) -> Result<(), Error> {
        let report = &mut self.report;
        let tried = &mut report.check.tried;
        tried.plans += 1;
        tried.runs += 1;
        tried.struck += usize::from(attempt.has_struck);
        tried.table.note(&attempt.plan, attempt.has_struck);
        let number = tried.plans;
        report.refused += usize::from(attempt.is_refused);
        self.keep(Some(number), attempt)
    }

    /// Keeps the first deviation of a plan, if it is a new one.
    fn keep(&mut self, number: Option<usize>, attempt: Attempt) -> Result<(), Error> {
        let report = &mut self.report;
        let name = report.scenario.clone();
        let is_accepted =
            |deviation: &Finding| self.limits.accepted.iter().any(|accepted| accepted.covers(&name, deviation));
        let (accepted, new): (Vec<_>, Vec<_>) = attempt.deviations.into_iter().partition(is_accepted);
        report.accepted += usize::from(!accepted.is_empty());
        // One deviation often has others as its result.
        let Some(deviation) = new.into_iter().next() else { return Ok(()) };
        if report.broken().iter().any(|broken| key(&broken.finding) == key(&deviation)) {
            return Ok(());
        }
        let broken = Found {
            number,
            seed: self.limits.seed,
            faults_at_first: attempt.plan.faults.len(),
            plan: attempt.plan,
            shrinking_runs: 0,
            finding: deviation,
            differs: None,
            acts: Vec::new(),
            trace: Vec::new(),
            logs: None,
            file: None,
        };
        let broken = if self.limits.known_only { broken } else { self.shrink(broken)? };
        self.report.check.tried.runs += broken.shrinking_runs;
        self.report.check.found.push(broken);
        Ok(())
    }

    /// Makes a plan shorter as long as the component deviates in the same way.
    fn shrink(&self, mut broken: Found) -> Result<Found, Error> {
        let mut runs = 0;
        'again: loop {
            for plan in shorter(&broken.plan) {
                if runs >= self.limits.shrinking {
                    break 'again;
                }
                runs += 1;
                let same = self.attempt(&plan)?.deviations;
                let same = same.into_iter().find(|other| key(other) == key(&broken.finding));
                if let Some(finding) = same {
                    broken = Found { plan, finding, ..broken };
                    continue 'again;
                }
            }
            break;
        }
        Ok(Found { shrinking_runs: runs, ..broken })
    }

    /// Tries the plans that were found before.
    fn try_known(&mut self, plans: &[Plan]) -> Result<(), Error> {
        self.setup.keeps_logs = true;
        for plan in plans {
            let attempt = self.attempt(plan)?;
            self.report.check.tried.plans += usize::from(self.limits.known_only);
            self.report.check.tried.struck += usize::from(self.limits.known_only && attempt.has_struck);
            self.report.check.tried.runs += 1;
            self.report.check.known_runs.push(attempt.known_run());
            self.keep(None, attempt)?;
        }
        self.setup.keeps_logs = false;
        Ok(())
    }

    /// Repeats the runs of what was found, and keeps their event logs, and that of the run without a fault.
    fn record_broken(&mut self) -> Result<(), Error> {
        if self.report.broken().is_empty() {
            return Ok(());
        }
        self.setup.keeps_logs = true;
        let faultless = scenario_trial(&self.setup, self.limits.seed, &Plan::default())?;
        let mut found = std::mem::take(&mut self.report.check.found);
        for broken in &mut found {
            let Attempt { deviations, outcome: Recorded { run, log, .. }, .. } = self.attempt(&broken.plan)?;
            broken.trace = trace(&run);
            broken.acts = last_acts(&run, &deviations);
            broken.differs = DifferingWrite::of(&run, &faultless.run);
            broken.logs = faultless.log.clone().zip(log);
        }
        self.report.check.tried.runs += 1 + found.len();
        self.report.check.found = found;
        Ok(())
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
