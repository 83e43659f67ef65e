use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::controllers::{Selection, SelectionError};
use coracle_journal::Events;
use coracle_scenario::FaultStatus;
use coracle_sim::ClockMode;
use coracle_sim::checks::{Finding, Run};

use crate::Error;
use crate::baseline::Baseline;
use crate::candidates::candidates;
use crate::check_report::{CheckReport, Found, Tried};
use crate::differing_write::DifferingWrite;
use crate::fault_site::Sites;
use crate::last_acts::last_acts;
use crate::limits::Limits;
use crate::pace::Pace;
use crate::parallel::parallel;
use crate::plan::Plan;
use crate::plan_queue::{NumberedPlan, PlanQueue};
use crate::reaction::reaction;
use crate::replay::KnownRun;
use crate::rest::most_changes;
use crate::shrink::shorter;
use crate::trace::trace;
use crate::trial::{Outcome, Setup, trial};

/// How many runs may make one plan shorter.
const MOST_SHRINKING_RUNS: usize = 50;
/// How many plans are tried at once, so that the result does not depend on the number of threads.
const BATCH: usize = 16;

/// Looks for plans that break a controller. `known` are plans that are tried first.
pub(crate) fn search(setup: &Setup, limits: &Limits, known: Vec<Plan>) -> Result<CheckReport, Error> {
    let baseline = Baseline::of(setup, limits)?;
    if setup.controllers.is_none() && baseline.has_owned_objects() {
        let collecting = Setup { controllers: Some(garbage_collector()?), ..setup.clone() };
        return search(&collecting, limits, known);
    }
    let tried = Tried { runs: baseline.runs.len(), ..Tried::default() };
    let mut report = CheckReport { tried, checks: limits.checks(), ..CheckReport::default() };
    let refused: Vec<String> = setup.permissions.refused().iter().map(ToString::to_string).collect();
    if setup.has_roles && !refused.is_empty() {
        let why = "the roles of its manifests do not permit what the controller needs, without a fault";
        return Err(Error::Input(format!("{why}: {}", refused.join("; "))));
    }
    let sends = |run: &Run| run.log.requests.iter().any(|request| *request.user == *run.user);
    if !baseline.runs.iter().any(sends) {
        let why = "the controller has sent no request: it has to use the connection, or the kubeconfig in KUBECONFIG";
        return Err(Error::Input(why.to_owned()));
    }
    if baseline.fails() {
        report.without_faults = baseline.findings;
        return Ok(report);
    }
    let components = components(setup, &baseline.runs);
    let candidates = candidates(&components, &setup.pace);
    report.without_faults = baseline.findings;
    for (_, sites) in components {
        report.tried.sites.extend(sites.own);
        report.tried.unstable.extend(sites.unstable);
    }
    let permitted = |plans: Vec<Plan>| plans.into_iter().filter(|plan| limits.permits(plan)).collect();
    let known = if limits.known_only { known } else { permitted(known) };
    let queue = PlanQueue::new(known, permitted(candidates), limits.from);
    let missed = BTreeSet::new();
    let log = baseline.log;
    let reaction = baseline.runs.iter().map(reaction).max().unwrap_or_default();
    let made = |run: &Run| run.log.writes.iter().filter(|write| write.request.is_some()).count();
    let usual = baseline.runs.iter().map(made).max().unwrap_or_default();
    let most_changes = most_changes(usual);
    let careful = setup.pace;
    let mut search = Search {
        setup: Setup { pace: careful.for_reaction(reaction), most_changes, ..setup.clone() },
        careful,
        reaction,
        limits,
        faultless: baseline.runs,
        faultless_log: log,
        report,
        queue,
        missed,
    };
    search.try_all()?;
    Ok(search.report)
}

/// The components of the author, with their sites. What the others write wakes a component, as the acts of a user do.
fn components<'s>(setup: &'s Setup, faultless: &[Run]) -> Vec<(&'s str, Sites)> {
    let names: Vec<&String> = [&setup.name].into_iter().chain(setup.parts.keys()).collect();
    let of = |name: &&'s String| {
        let others = names.iter().filter(|other| *other != name).map(|other| (*other).clone());
        let users: Vec<String> = setup.users().into_iter().chain(others).collect();
        (name.as_str(), Sites::of(faultless, name, &users, &setup.prepared.kinds))
    };
    names.iter().map(of).collect()
}

/// What each cluster has: it deletes objects whose owners are gone. Runs without such objects are shorter without it.
fn garbage_collector() -> Result<Selection, Error> {
    "garbage-collector-controller".parse().map_err(|error: SelectionError| Error::Input(error.to_string()))
}

struct Search<'s> {
    /// How plans are tried: in real time, as fast as the controller permits.
    setup: Setup,
    /// How fast a controller is tried of which nothing is known.
    careful: Pace,
    /// How late the controller acts, as far as it is known.
    reaction: Duration,
    limits: &'s Limits,
    faultless: Vec<Run>,
    /// The event log of the first of them, if logs are kept.
    faultless_log: Option<Arc<Events>>,
    report: CheckReport,
    queue: PlanQueue,
    /// The numbers of the plans of which a fault did not strike.
    missed: BTreeSet<usize>,
}

/// A plan that was tried.
struct Attempt {
    plan: Plan,
    has_struck: bool,
    findings: Vec<Finding>,
    differs: Option<DifferingWrite>,
    acts: Vec<String>,
    trace: Vec<String>,
    log: Option<Arc<Events>>,
    /// What is said of each fault that did not strike.
    missed: Vec<String>,
}

impl Attempt {
    fn known_run(&self) -> KnownRun {
        let words = self.findings.iter().map(|finding| finding.check.word.to_owned()).collect();
        let (plan, trace, missed) = (self.plan.clone(), self.trace.clone(), self.missed.clone());
        KnownRun { plan, words, trace, log: self.log.clone(), missed }
    }
}

impl Search<'_> {
    /// Tries plans in order, until one breaks the controller if that is enough, until as many were tried as may be, or
    /// until the search is stopped.
    fn try_all(&mut self) -> Result<(), Error> {
        loop {
            let room = self.limits.plans.saturating_sub(self.report.tried.plans);
            let batch = self.queue.take(BATCH.min(room), &self.missed);
            if batch.is_empty() {
                (self.report.tried.left, self.report.tried.next) = (self.queue.left(), self.queue.next());
                return Ok(());
            }
            if let Some(untried) = self.try_batch(&batch)? {
                self.report.tried.left = self.queue.left() + batch.len() - untried;
                let next = batch.get(untried).and_then(|numbered| numbered.number);
                self.report.tried.next = next.or_else(|| self.queue.next());
                return Ok(());
            }
        }
    }

    /// Tries plans on several threads. The results are in the order of the plans. Returns the index of the first plan that
    /// was not tried, if the search is over.
    fn try_batch(&mut self, batch: &[NumberedPlan]) -> Result<Option<usize>, Error> {
        let attempts = parallel(self.limits.jobs, batch, |numbered| self.attempt(&numbered.plan));
        let mut untried = None;
        for (index, (numbered, attempt)) in batch.iter().zip(attempts).enumerate() {
            match attempt.and_then(|attempt| self.take(numbered.number, attempt)) {
                // Others in the batch may have ended before.
                Err(Error::Stopped) => {
                    untried.get_or_insert(index);
                }
                tried => tried?,
            }
            if self.limits.first_only && self.report.fails() {
                return Ok(Some(index + 1));
            }
        }
        Ok(untried)
    }

    fn attempt(&self, plan: &Plan) -> Result<Attempt, Error> {
        let Outcome { run, faults, log } = trial(&self.setup, self.limits.seed, plan)?;
        let has_struck = faults.iter().all(|fault| fault.struck > 0);
        let findings = self.limits.findings(&run, &self.faultless);
        let of_missed = |fault: &FaultStatus| {
            let near_miss = fault.near_miss.as_ref().map(|near| format!(": {near}")).unwrap_or_default();
            format!("{} did not strike{near_miss}", fault.name)
        };
        let missed = faults.iter().filter(|fault| fault.struck == 0).map(of_missed).collect();
        let acts = if findings.is_empty() { Vec::new() } else { last_acts(&run, &findings) };
        let differs = self.faultless.first().filter(|_| !findings.is_empty());
        let differs = differs.and_then(|faultless| DifferingWrite::of(&run, faultless));
        Ok(Attempt { plan: plan.clone(), has_struck, findings, differs, acts, trace: trace(&run), log, missed })
    }

    fn take(&mut self, number: Option<usize>, attempt: Attempt) -> Result<(), Error> {
        let usual: BTreeSet<&str> = self.report.without_faults.iter().map(|finding| finding.check.word).collect();
        let is_new = |finding: &&Finding| {
            let word = finding.check.word;
            !usual.contains(word)
                && !self.report.found.iter().any(|found| is_same(found, finding, attempt.differs.as_ref()))
        };
        // The checks are in the order of their importance. A run that fails one often fails others as a result.
        let finding = attempt.findings.iter().find(is_new).cloned();
        let finding = match finding {
            Some(finding) if self.is_confirmed(&attempt.plan, &finding)? => Some(finding),
            _ => None,
        };
        self.report.tried.plans += 1;
        self.report.tried.runs += 1;
        self.report.tried.table.note(&attempt.plan, attempt.has_struck);
        self.report.tried.struck += usize::from(attempt.has_struck);
        match number {
            None => self.report.known_runs.push(attempt.known_run()),
            Some(number) if !attempt.has_struck => drop(self.missed.insert(number)),
            Some(_) => {}
        }
        if let Some(finding) = finding {
            let found = self.shrink(number, attempt, finding)?;
            if !self.report.found.iter().any(|known| is_same(known, &found.finding, found.differs.as_ref())) {
                self.report.found.push(found);
            }
        }
        Ok(())
    }

    /// Whether the faults cause a finding. In real time, it has to occur again with more patience, and not in a run
    /// without a fault at the same time: what a clock causes occurs in both. If it does not occur, later runs wait longer.
    fn is_confirmed(&mut self, plan: &Plan, finding: &Finding) -> Result<bool, Error> {
        if self.setup.pace.clock == ClockMode::Virtual {
            return Ok(true);
        }
        let setup = Setup { pace: self.setup.pace.patient(self.careful), ..self.setup.clone() };
        let (plans, seed) = ([plan.clone(), Plan::default()], self.limits.seed);
        self.report.tried.runs += plans.len();
        let mut runs = Vec::new();
        for outcome in parallel(plans.len(), &plans, |plan| trial(&setup, seed, plan)) {
            runs.push(outcome?.run);
        }
        let occurs = |run: &Run| {
            let found = self.limits.findings(run, &self.faultless);
            found.iter().any(|other| other.check.word == finding.check.word)
        };
        let occurrences: Vec<bool> = runs.iter().map(occurs).collect();
        if occurrences.first() == Some(&false) {
            self.reaction = runs.iter().map(reaction).fold(self.reaction, Duration::max);
            self.setup.pace = self.careful.for_reaction(self.reaction);
        }
        self.faultless.extend(runs.pop());
        Ok(occurrences == [true, false])
    }

    /// Makes a plan shorter as long as the same check fails, until the search is stopped.
    fn shrink(&mut self, number: Option<usize>, attempt: Attempt, finding: Finding) -> Result<Found, Error> {
        let first = self.found(number, attempt, finding);
        let mut found = first.clone();
        while found.shrinking_runs < MOST_SHRINKING_RUNS {
            let Some(attempt) = self.shorter_attempt(&mut found)? else { break };
            let word = found.finding.check.word;
            let Some(finding) = attempt.findings.iter().find(|other| other.check.word == word).cloned() else { break };
            let shorter = self.found(number, attempt, finding);
            found = Found { shrinking_runs: found.shrinking_runs, faults_at_first: found.faults_at_first, ..shorter };
        }
        self.report.tried.runs += found.shrinking_runs;
        // A shorter plan may only be late, too.
        let is_shorter = found.plan != first.plan;
        match is_shorter.then(|| self.is_confirmed(&found.plan, &found.finding)) {
            Some(Ok(false) | Err(Error::Stopped)) => Ok(Found { shrinking_runs: found.shrinking_runs, ..first }),
            Some(Err(error)) => Err(error),
            None | Some(Ok(true)) => Ok(found),
        }
    }

    fn found(&self, number: Option<usize>, attempt: Attempt, finding: Finding) -> Found {
        let Attempt { plan, differs, acts, trace, log, .. } = attempt;
        Found {
            number,
            seed: self.limits.seed,
            faults_at_first: plan.faults.len(),
            plan,
            shrinking_runs: 0,
            finding,
            differs,
            acts,
            trace,
            logs: self.faultless_log.clone().zip(log),
            file: None,
        }
    }

    /// A run of a shorter plan in which the same check fails; the first of them, in the order of the plans.
    fn shorter_attempt(&self, found: &mut Found) -> Result<Option<Attempt>, Error> {
        // Runs in real time take long, so several are tried at once, although only one of them is used.
        let at_once = if self.setup.pace.clock == ClockMode::Virtual { 1 } else { self.limits.jobs.max(1) };
        let word = found.finding.check.word;
        for plans in shorter(&found.plan).chunks(at_once) {
            let room = MOST_SHRINKING_RUNS.saturating_sub(found.shrinking_runs);
            let plans = &plans[..plans.len().min(room)];
            found.shrinking_runs += plans.len();
            for attempt in parallel(self.limits.jobs, plans, |plan| self.attempt(plan)) {
                match attempt {
                    Err(Error::Stopped) => return Ok(None),
                    attempt => {
                        let attempt = attempt?;
                        if attempt.findings.iter().any(|other| other.check.word == word) {
                            return Ok(Some(attempt));
                        }
                    }
                }
            }
        }
        Ok(None)
    }
}

/// Whether a finding is one that was found before: the same check fails, and the same write is the first that differs.
/// Waste is shown once.
fn is_same(found: &Found, finding: &Finding, differs: Option<&DifferingWrite>) -> bool {
    let is_same_write = match (&found.differs, differs) {
        (Some(known), Some(differs)) => known.is_like(differs),
        (None, None) => true,
        _ => false,
    };
    let is_waste = !finding.check.grade.fails();
    found.finding.check.word == finding.check.word && (is_same_write || is_waste)
}
