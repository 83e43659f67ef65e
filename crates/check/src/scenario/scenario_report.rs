use std::fmt;

use super::deviation::Deviation;
use crate::plan::Plan;

/// What a search with a scenario found.
#[derive(Debug, Default)]
pub struct ScenarioReport {
    /// The name of the scenario.
    pub scenario: String,
    /// The component.
    pub component: String,
    /// What faults break, each once.
    pub broken: Vec<Broken>,
    /// How many runs deviate in a way that is accepted.
    pub accepted: usize,
    /// How many plans were tried.
    pub plans: usize,
    /// Of how many plans each fault struck.
    pub struck: usize,
    /// In how many runs a step came too early: the API refused it.
    pub refused: usize,
    /// How many writes of the component there are at which faults begin.
    pub sites: usize,
    /// How many of its writes are not in each run without a fault. No fault begins at them.
    pub unstable: usize,
}

/// A plan that breaks a component.
#[derive(Debug)]
pub struct Broken {
    /// The shortest plan that was found.
    pub plan: Plan,
    /// The number of the plan of which it is a part, from 1.
    pub number: usize,
    /// The seed of the run.
    pub seed: u64,
    /// What is wrong.
    pub deviation: Deviation,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Deviation { word, what } = &self.deviation;
        writeln!(f, "✗ {word}: {what}")?;
        writeln!(f, "    plan {}, seed {}", self.number, self.seed)?;
        self.plan.lines().iter().try_for_each(|line| writeln!(f, " !! {line}"))
    }
}

impl fmt::Display for ScenarioReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.broken.iter().try_for_each(|broken| write!(f, "{broken}"))?;
        let Self { scenario, component, broken, accepted, plans, struck, refused, sites, unstable } = self;
        write!(f, "{scenario} of {component}: {} broken, {accepted} accepted; {plans} plans, ", broken.len())?;
        writeln!(f, "{struck} struck, {refused} refused; {sites} writes, {unstable} not used")
    }
}
