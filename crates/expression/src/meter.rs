//! What an expression may use up.

use crate::fault::Fault;

/// How much one expression may cost. In Kubernetes: `celconfig.PerCallLimit`.
pub const COST_OF_ONE_EXPRESSION: u64 = 1_000_000;
/// How much all rules of one object may cost. In Kubernetes: `celconfig.RuntimeCELCostBudget`.
pub const COST_OF_ONE_OBJECT: u64 = 10_000_000;
/// How much the match conditions of one request may cost. In Kubernetes: `RuntimeCELCostBudgetMatchConditions`.
pub const COST_OF_MATCH_CONDITIONS: u64 = 2_500_000;

/// How many small steps, each of a few nanoseconds, an expression may take: costs do not count all of them, as the
/// comparison of what is deep within lists.
const MOST_WORK: u64 = 8_000_000;
/// How many bytes an expression may make.
const MOST_MEMORY: usize = 48 * 1024 * 1024;
/// How many bytes an item of a list takes.
const ITEM: usize = 40;

/// Counts what an expression uses up, in Kubernetes' units of cost, and in steps and bytes.
#[derive(Debug)]
pub(crate) struct Meter {
    cost: u64,
    limit: u64,
    work: u64,
    memory: usize,
}

impl Meter {
    pub(crate) fn new(limit: u64) -> Self {
        Self { cost: 0, limit, work: 0, memory: 0 }
    }

    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    pub(crate) fn charge(&mut self, cost: u64) -> Result<(), Fault> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit { Err(Fault::too_costly()) } else { Ok(()) }
    }

    pub(crate) fn work(&mut self, steps: u64) -> Result<(), Fault> {
        self.work = self.work.saturating_add(steps);
        if self.work > MOST_WORK { Err(Fault::too_costly()) } else { Ok(()) }
    }

    /// Bytes that are about to be made.
    pub(crate) fn memory(&mut self, bytes: usize) -> Result<(), Fault> {
        self.memory = self.memory.saturating_add(bytes);
        if self.memory > MOST_MEMORY { Err(Fault::too_costly()) } else { self.work(bytes as u64 / 64) }
    }

    /// Items of lists that are about to be made.
    pub(crate) fn items(&mut self, count: usize) -> Result<(), Fault> {
        self.memory(count.saturating_mul(ITEM))
    }
}
