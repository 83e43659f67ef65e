//! The limits of an expression.

use crate::fault::Fault;

/// The cost limit of one expression. In Kubernetes: `celconfig.PerCallLimit`.
pub const COST_OF_ONE_EXPRESSION: u64 = 1_000_000;
/// The cost limit of all rules of one object. In Kubernetes: `celconfig.RuntimeCELCostBudget`.
pub const COST_OF_ONE_OBJECT: u64 = 10_000_000;
/// The cost limit of the match conditions of one request. In Kubernetes: `RuntimeCELCostBudgetMatchConditions`.
pub const COST_OF_MATCH_CONDITIONS: u64 = 2_500_000;

/// The maximum number of small steps, each of a few nanoseconds: costs do not cover all of them, for example the
/// comparison of deeply nested lists.
pub(crate) const MOST_WORK: u64 = 8_000_000;
/// The maximum number of bytes that an expression may allocate.
const MOST_MEMORY: usize = 48 * 1024 * 1024;
/// The size of a list item in bytes.
const ITEM: usize = 40;

/// Measures an expression, in Kubernetes' cost units, and in steps and bytes.
#[derive(Debug)]
pub(crate) struct Meter {
    cost: u64,
    limit: u64,
    work: u64,
    memory: usize,
    /// The part of the cost for authorizer checks.
    asked: u64,
    allowed: Use,
}

/// The usage of an expression that takes time here: its cost without authorizer checks, whose cost represents
/// external work, and its small steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) cost: u64,
    pub(crate) work: u64,
}

impl Use {
    /// Without a limit.
    pub(crate) const ANY: Self = Self { cost: u64::MAX, work: u64::MAX };
}

impl Meter {
    pub(crate) fn new(limit: u64) -> Self {
        Self::within(limit, Use::ANY)
    }

    /// With the additional limit of an allowance.
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

    /// Charges for an authorizer check.
    pub(crate) fn charge_question(&mut self, cost: u64) -> Result<(), Fault> {
        self.asked = self.asked.saturating_add(cost);
        self.charge(cost)
    }

    pub(crate) fn work(&mut self, steps: u64) -> Result<(), Fault> {
        self.work = self.work.saturating_add(steps);
        if self.work > MOST_WORK.min(self.allowed.work) { Err(Fault::too_costly()) } else { Ok(()) }
    }

    /// Bytes that will be allocated.
    pub(crate) fn memory(&mut self, bytes: usize) -> Result<(), Fault> {
        self.memory = self.memory.saturating_add(bytes);
        if self.memory > MOST_MEMORY { Err(Fault::too_costly()) } else { self.work(bytes as u64 / 64) }
    }

    /// Items of lists that will be allocated.
    pub(crate) fn items(&mut self, count: usize) -> Result<(), Fault> {
        self.memory(count.saturating_mul(ITEM))
    }
}
