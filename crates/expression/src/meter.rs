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
pub(crate) const MOST_WORK: u64 = 8_000_000;
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
    /// How much of the cost is for questions to an authorizer.
    asked: u64,
    allowed: Use,
}

/// What an expression has used up that takes time here: its cost without that of questions to an authorizer, which is
/// the price of what is done outside, and its small steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) cost: u64,
    pub(crate) work: u64,
}

impl Use {
    /// As much as there is.
    pub(crate) const ANY: Self = Self { cost: u64::MAX, work: u64::MAX };
}

impl Meter {
    pub(crate) fn new(limit: u64) -> Self {
        Self::within(limit, Use::ANY)
    }

    /// One that stops beyond what is allowed, too.
    pub(crate) fn within(limit: u64, allowed: Use) -> Self {
        Self { cost: 0, limit, work: 0, memory: 0, asked: 0, allowed }
    }

    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    pub(crate) fn used(&self) -> Use {
        Use { cost: self.cost.saturating_sub(self.asked), work: self.work }
    }

    pub(crate) fn charge(&mut self, cost: u64) -> Result<(), Fault> {
        self.cost = self.cost.saturating_add(cost);
        let is_over = self.cost > self.limit || self.used().cost > self.allowed.cost;
        if is_over { Err(Fault::too_costly()) } else { Ok(()) }
    }

    /// Charges for a question to an authorizer.
    pub(crate) fn charge_question(&mut self, cost: u64) -> Result<(), Fault> {
        self.asked = self.asked.saturating_add(cost);
        self.charge(cost)
    }

    pub(crate) fn work(&mut self, steps: u64) -> Result<(), Fault> {
        self.work = self.work.saturating_add(steps);
        if self.work > MOST_WORK.min(self.allowed.work) { Err(Fault::too_costly()) } else { Ok(()) }
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
