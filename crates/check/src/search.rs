use std::collections::BTreeSet;

use coracle_cluster::controllers::{Selection, SelectionError};
use coracle_sim::ClockMode;
use coracle_sim::checks::{Finding, LoggedWrite, Run, findings};

use crate::Error;
use crate::baseline::Baseline;
use crate::candidates::{both, candidates};
use crate::check_report::{CheckReport, Found, Tried};
use crate::fault_site::Sites;
use crate::parallel::parallel;
use crate::plan::Plan;
use crate::shrink::shorter;
use crate::trial::{Outcome, Setup, trial};
use crate::user_work::USER;

/// How many runs may make one plan shorter.
const MOST_SHRINKING_RUNS: usize = 50;
/// How many plans are tried at once, so that the result does not depend on the number of threads.
const BATCH: usize = 16;
/// How many of the last acts of a controller a finding shows.
const ACTS: usize = 6;

/// What a search may use.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// The first seed.
    pub(crate) seed: u64,
    /// How many plans are tried.
    pub(crate) plans: usize,
    /// How many threads run them.
    pub(crate) jobs: usize,
    /// Whether the search ends with the first plan that fails a check.
    pub(crate) first_only: bool,
}

/// Looks for plans that break a controller. `known` are plans that are tried first.
pub(crate) fn search(setup: &Setup, limits: &Limits, known: Vec<Plan>) -> Result<CheckReport, Error> {
    let baseline = Baseline::of(setup, limits.seed, limits.jobs)?;
    if setup.controllers.is_none() && baseline.has_owned_objects() {
        let collecting = Setup { controllers: Some(garbage_collector()?), ..setup.clone() };
        return search(&collecting, limits, known);
    }
    let mut report =
        CheckReport { tried: Tried { runs: baseline.runs.len(), ..Tried::default() }, ..CheckReport::default() };
    let sends = |run: &Run| run.log.requests.iter().any(|request| *request.user == *run.user);
    if !baseline.runs.iter().any(sends) {
        let why = "the controller has sent no request: it has to use the connection, or the kubeconfig in KUBECONFIG";
        return Err(Error::Input(why.to_owned()));
    }
    if baseline.fails() {
        report.without_faults = baseline.findings;
        return Ok(report);
    }
    let sites = Sites::of(&baseline.runs, &setup.name, USER, &setup.prepared.kinds);
    let mut search = Search { setup, limits, faultless: baseline.runs, report, struck: Vec::new() };
    search.report.without_faults = baseline.findings;
    let single: Vec<Plan> = known.into_iter().chain(candidates(&setup.name, &sites, &setup.pace)).collect();
    search.report.tried.sites = sites.own;
    search.report.tried.unstable = sites.unstable;
    let is_done = search.try_all(single)?;
    if !is_done {
        let pairs = pairs(&search.struck);
        search.try_all(pairs)?;
    }
    Ok(search.report)
}

/// What each cluster has: it deletes objects whose owners are gone. Runs without such objects are shorter without it.
fn garbage_collector() -> Result<Selection, Error> {
    "garbage-collector-controller".parse().map_err(|error: SelectionError| Error::Input(error.to_string()))
}

/// Pairs of plans, near ones first: faults at neighbouring sites act on the same state.
fn pairs(plans: &[Plan]) -> Vec<Plan> {
    let distances = 1..plans.len();
    let pairs = distances.flat_map(|distance| (distance..plans.len()).map(move |other| (other - distance, other)));
    pairs.map(|(one, other)| both(&plans[one], &plans[other])).collect()
}

struct Search<'s> {
    setup: &'s Setup,
    limits: &'s Limits,
    faultless: Vec<Run>,
    report: CheckReport,
    /// The plans of which each fault struck.
    struck: Vec<Plan>,
}

/// A plan that was tried.
struct Attempt {
    plan: Plan,
    has_struck: bool,
    findings: Vec<Finding>,
    acts: Vec<String>,
}

impl Search<'_> {
    /// Tries plans in order; true if the search is done.
    fn try_all(&mut self, plans: Vec<Plan>) -> Result<bool, Error> {
        let room = self.limits.plans.saturating_sub(self.report.tried.plans);
        self.report.tried.left = plans.len().saturating_sub(room);
        let plans: Vec<Plan> = plans.into_iter().take(room).collect();
        let mut left = plans.len();
        for batch in plans.chunks(BATCH) {
            for attempt in self.attempts(batch)? {
                self.take(attempt)?;
                if self.limits.first_only && self.report.fails() {
                    self.report.tried.left += left;
                    return Ok(true);
                }
                left -= 1;
            }
        }
        Ok(self.report.tried.plans >= self.limits.plans)
    }

    /// Runs plans on several threads. The results are in the order of the plans.
    fn attempts(&self, plans: &[Plan]) -> Result<Vec<Attempt>, Error> {
        parallel(self.limits.jobs, plans, |plan| self.attempt(plan)).into_iter().collect()
    }

    fn attempt(&self, plan: &Plan) -> Result<Attempt, Error> {
        let Outcome { run, faults, .. } = trial(self.setup, self.limits.seed, plan)?;
        let has_struck = faults.iter().all(|fault| fault.struck > 0);
        let findings = findings(&run, &self.faultless);
        let acts = if findings.is_empty() { Vec::new() } else { last_acts(&run, &findings) };
        Ok(Attempt { plan: plan.clone(), has_struck, findings, acts })
    }

    fn take(&mut self, attempt: Attempt) -> Result<(), Error> {
        self.report.tried.plans += 1;
        self.report.tried.runs += 1;
        self.report.tried.table.note(&attempt.plan, attempt.has_struck);
        if attempt.has_struck {
            self.report.tried.struck += 1;
            self.struck.push(attempt.plan.clone());
        }
        let known: BTreeSet<&str> = self.report.found.iter().map(|found| found.finding.check.word).collect();
        let usual: BTreeSet<&str> = self.report.without_faults.iter().map(|finding| finding.check.word).collect();
        let is_new = |finding: &&Finding| {
            let word = finding.check.word;
            !known.contains(word) && !usual.contains(word)
        };
        // The checks are in the order of their importance. A run that fails one often fails others as a result.
        let Some(finding) = attempt.findings.iter().find(is_new).cloned() else { return Ok(()) };
        if !self.is_confirmed(&attempt.plan, &finding)? {
            return Ok(());
        }
        let found = self.shrink(attempt, finding)?;
        self.report.found.push(found);
        Ok(())
    }

    /// Whether a finding is not only late: in real time, it has to occur again with more patience.
    fn is_confirmed(&mut self, plan: &Plan, finding: &Finding) -> Result<bool, Error> {
        if self.setup.pace.clock == ClockMode::Virtual {
            return Ok(true);
        }
        self.report.tried.runs += 1;
        let setup = Setup { pace: self.setup.pace.patient(), ..self.setup.clone() };
        let Outcome { run, .. } = trial(&setup, self.limits.seed, plan)?;
        Ok(findings(&run, &self.faultless).iter().any(|other| other.check.word == finding.check.word))
    }

    /// Makes a plan shorter as long as the same check fails.
    fn shrink(&mut self, attempt: Attempt, finding: Finding) -> Result<Found, Error> {
        let Attempt { plan, acts, .. } = attempt;
        let (faults_at_first, seed) = (plan.faults.len(), self.limits.seed);
        let number = self.report.tried.plans;
        let mut found = Found { plan, number, seed, faults_at_first, shrinking_runs: 0, finding, acts };
        'again: loop {
            for plan in shorter(&found.plan) {
                if found.shrinking_runs >= MOST_SHRINKING_RUNS {
                    break 'again;
                }
                found.shrinking_runs += 1;
                let attempt = self.attempt(&plan)?;
                let same = attempt.findings.into_iter().find(|other| other.check.word == found.finding.check.word);
                if let Some(finding) = same {
                    (found.plan, found.finding, found.acts) = (plan, finding, attempt.acts);
                    continue 'again;
                }
            }
            break;
        }
        self.report.tried.runs += found.shrinking_runs;
        Ok(found)
    }
}

/// The last writes of a controller up to a violation.
fn last_acts(run: &Run, findings: &[Finding]) -> Vec<String> {
    let until = findings.iter().find_map(|finding| finding.violation.entry);
    let writes = run.log.writes_of(&run.user).filter(|write| until.is_none_or(|until| write.entry <= until));
    let line = |write: &LoggedWrite| {
        let (seconds, act) = (write.at.as_secs_f64(), write.act());
        format!("{seconds:>9.3} s  rev {}  {} {act} {}", write.revision, run.component, write.subject)
    };
    let lines: Vec<String> = writes.map(line).collect();
    lines[lines.len().saturating_sub(ACTS)..].to_vec()
}
