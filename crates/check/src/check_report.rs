use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use coracle_journal::Events;
use coracle_sim::checks::{Check, Finding, Grade};

use crate::differing_write::DifferingWrite;
use crate::fault_site::FaultSite;
use crate::fault_table::FaultTable;
use crate::plan::Plan;
use crate::rbac::RbacReport;
use crate::replay::{KnownRun, Replayed};

/// What a search found.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// What the checks find in runs without a fault. If one of it fails, no fault was tried.
    pub without_faults: Vec<Finding>,
    /// What faults break: for each check and each first write that differs, one plan.
    pub found: Vec<Found>,
    /// The plans of files that were to be replayed.
    pub replayed: Vec<Replayed>,
    /// What was tried.
    pub tried: Tried,
    /// What the controller was permitted to do, and what it did.
    pub rbac: RbacReport,
    /// The checks that count.
    pub(crate) checks: Vec<&'static Check>,
    /// The runs of plans that were found before.
    pub(crate) known_runs: Vec<KnownRun>,
}

/// How much was tried.
#[derive(Debug, Default)]
pub struct Tried {
    /// The requests of the controller that write, the same in each run without a fault.
    pub sites: Vec<FaultSite>,
    /// Its requests that are in some of these runs only. No fault begins at them.
    pub unstable: Vec<FaultSite>,
    /// How many runs there were, including those without a fault and those that made a plan shorter.
    pub runs: usize,
    /// How many plans there were.
    pub plans: usize,
    /// How many of them struck: each of their faults did.
    pub struck: usize,
    /// How many plans were left when the search ended: with one fault, or else pairs of these.
    pub left: usize,
    /// The number of the first plan that was not tried, with which another search can continue; `None` if none is left.
    pub next: Option<usize>,
    /// The faults at each write.
    pub table: FaultTable,
}

/// A plan that breaks a controller.
#[derive(Clone, Debug)]
pub struct Found {
    /// The shortest plan that was found.
    pub plan: Plan,
    /// The number of the plan of which it is a part, from 1; `None` for a plan that was found before.
    pub number: Option<usize>,
    /// The seed of the run.
    pub seed: u64,
    /// How many faults the plan had at first.
    pub faults_at_first: usize,
    /// How many runs made it shorter.
    pub shrinking_runs: usize,
    /// What is wrong.
    pub finding: Finding,
    /// The first write of the controller that differs from the run without a fault.
    pub differs: Option<DifferingWrite>,
    /// What happened around it: the last acts of the controller.
    pub acts: Vec<String>,
    /// The writes of the run, in order, without what differs from run to run.
    pub(crate) trace: Vec<String>,
    /// The event logs of a run without a fault and of this one, if logs are kept.
    pub(crate) logs: Option<(Arc<Events>, Arc<Events>)>,
    /// The file with the plan, if there is a folder for them.
    pub file: Option<PathBuf>,
}

impl CheckReport {
    /// Whether a check fails, with or without a fault.
    pub fn fails(&self) -> bool {
        let fails = |grade: Grade| grade.fails();
        self.without_faults.iter().any(|finding| fails(finding.check.grade))
            || self.found.iter().any(|found| fails(found.finding.check.grade))
    }
}

fn headline(f: &mut fmt::Formatter<'_>, finding: &Finding) -> fmt::Result {
    let mark = if finding.check.grade.fails() { "✗" } else { "·" };
    writeln!(f, "{mark} {:<9} {} ({})", finding.check.grade.word(), finding.check.title, finding.check.word)?;
    writeln!(f, "    {}", finding.violation.what)
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        headline(f, &self.finding)?;
        let (count, first, runs) = (self.plan.faults.len(), self.faults_at_first, self.shrinking_runs);
        let faults = if count == 1 { "fault" } else { "faults" };
        let plan = self.number.map_or("a known plan".to_owned(), |number| format!("plan {number}"));
        let file = self.file.as_ref().map(|file| format!("   {}", file.display())).unwrap_or_default();
        writeln!(f, "    {plan}, {count} {faults} (of {first}, {runs} runs), seed {}{file}", self.seed)?;
        for line in self.plan.lines() {
            writeln!(f, " !! {line}")?;
        }
        self.acts.iter().try_for_each(|act| writeln!(f, "    {act}"))?;
        self.differs.iter().try_for_each(|differs| writeln!(f, "    first difference: {differs}"))
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.without_faults {
            headline(f, finding)?;
            writeln!(f, "    without a fault")?;
        }
        self.found.iter().try_for_each(|found| writeln!(f, "{found}"))?;
        self.replayed.iter().try_for_each(|replayed| write!(f, "{replayed}"))?;
        let Tried { sites, unstable, runs, plans, struck, left, table, next: _ } = &self.tried;
        writeln!(f, "{} writes, {plans} plans, {struck} struck, {left} left; {runs} runs", sites.len())?;
        write!(f, "{table}")?;
        for site in unstable {
            writeln!(f, "not used, because it is not in each run without a fault: {site}")?;
        }
        for refused in self.rbac.refused() {
            writeln!(f, "not permitted by the roles of its manifests: {refused}")?;
        }
        Ok(())
    }
}
