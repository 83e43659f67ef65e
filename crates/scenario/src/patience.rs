use std::time::Duration;

use coracle_yaml::{Location, Spanned};

use crate::fault_list::UncheckedFaults;
use crate::file::{Operation, Scenario};

impl Scenario {
    /// The same scenario with more faults, in which each wait lasts at least this long: a delay that a fault causes does
    /// not fail a step.
    #[must_use]
    pub fn with_faults(&self, faults: UncheckedFaults, patience: Duration) -> Self {
        let mut scenario = self.clone();
        let spec = &mut scenario.spec;
        let spanned = |fault| Spanned::new(fault, Location::UNKNOWN);
        spec.faults.extend(faults.into_list().into_iter().map(spanned));
        spec.timeout = spec.timeout.max(patience);
        for operation in spec.steps.iter_mut().flat_map(|step| &mut step.operations) {
            let timeout = match &mut operation.value {
                Operation::Wait(wait) => &mut wait.timeout,
                Operation::Assert(assert) | Operation::Error(assert) => &mut assert.timeout,
                Operation::Drain(drain) => &mut drain.timeout,
                _ => continue,
            };
            *timeout = timeout.map(|timeout| timeout.max(patience));
        }
        scenario
    }
}
