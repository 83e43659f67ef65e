use std::fmt;

use crate::check_report::{CheckReport, Found};

/// What a search with a scenario found.
#[derive(Debug, Default)]
pub struct ScenarioReport {
    /// The name of the scenario.
    pub scenario: String,
    /// The component.
    pub component: String,
    /// What faults break, each once, and what was tried.
    pub check: CheckReport,
    /// How many runs deviate in a way that is accepted.
    pub accepted: usize,
    /// In how many runs a step came too early: the API refused it.
    pub refused: usize,
}

impl ScenarioReport {
    /// What faults break, each once.
    pub fn broken(&self) -> &[Found] {
        &self.check.found
    }
}

impl fmt::Display for ScenarioReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scenario, component, check, accepted, refused } = self;
        for failure in &check.without_faults {
            writeln!(f, "✗ without a fault: {} ({})", failure.violation.what, failure.check.word)?;
        }
        self.broken().iter().try_for_each(|broken| write!(f, "{broken}"))?;
        let (broken, tried) = (check.found.len(), &check.tried);
        let (plans, struck, sites, unstable) = (tried.plans, tried.struck, tried.sites.len(), tried.unstable.len());
        write!(f, "{scenario} of {component}: {broken} broken, {accepted} accepted; {plans} plans, ")?;
        writeln!(f, "{struck} struck, {refused} refused; {sites} writes, {unstable} not used")
    }
}
