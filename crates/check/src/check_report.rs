use std::fmt;

use coracle_sim::checks::{Finding, Grade};

use crate::fault_site::FaultSite;
use crate::fault_table::FaultTable;
use crate::plan::Plan;

/// What a search found.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// What the checks find in runs without a fault. If one of it fails, no fault was tried.
    pub without_faults: Vec<Finding>,
    /// What faults break, each once.
    pub found: Vec<Found>,
    /// What was tried.
    pub tried: Tried,
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
    /// How many plans were left when the search ended.
    pub left: usize,
    /// The faults at each write.
    pub table: FaultTable,
}

/// A plan that breaks a controller.
#[derive(Debug)]
pub struct Found {
    /// The shortest plan that was found.
    pub plan: Plan,
    /// The number of the plan of which it is a part, from 1.
    pub number: usize,
    /// The seed of the run.
    pub seed: u64,
    /// How many faults the plan had at first.
    pub faults_at_first: usize,
    /// How many runs made it shorter.
    pub shrinking_runs: usize,
    /// What is wrong.
    pub finding: Finding,
    /// What happened around it: the last acts of the controller.
    pub acts: Vec<String>,
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
        writeln!(f, "    plan {}, {count} {faults} (of {first}, {runs} runs), seed {}", self.number, self.seed)?;
        for line in self.plan.lines() {
            writeln!(f, " !! {line}")?;
        }
        self.acts.iter().try_for_each(|act| writeln!(f, "    {act}"))
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.without_faults {
            headline(f, finding)?;
            writeln!(f, "    without a fault")?;
        }
        self.found.iter().try_for_each(|found| writeln!(f, "{found}"))?;
        let Tried { sites, unstable, runs, plans, struck, left, table } = &self.tried;
        writeln!(f, "{} writes, {plans} plans, {struck} struck, {left} left; {runs} runs", sites.len())?;
        write!(f, "{table}")?;
        for site in unstable {
            writeln!(f, "not used, because it is not in each run without a fault: {site}")?;
        }
        Ok(())
    }
}
