//! How much work expressions may do before the caller runs them in another way.

use std::cell::Cell;

use crate::meter::{COST_OF_ONE_EXPRESSION, MOST_WORK, Use};

/// The cheap part of one expression's budget: about a millisecond.
const SHORT: u64 = 50;
/// The cost of starting an expression, in small steps.
const BEGINNING: u64 = 100;

/// A common limit for several expressions, beyond which they stop.
///
/// This is not their own cost limit, which applies in addition. Once it [is spent](Self::is_spent), their results are
/// invalid, and they must be run again from the beginning with another allowance. Until then their results do not
/// depend on the allowance.
#[derive(Debug)]
pub struct Allowance {
    left: Cell<Use>,
    is_spent: Cell<bool>,
}

impl Allowance {
    /// What may run at once, even if others wait.
    pub fn short() -> Self {
        Self::of(Use { cost: COST_OF_ONE_EXPRESSION / SHORT, work: MOST_WORK / SHORT })
    }

    /// No limit except the expressions' own.
    pub fn unlimited() -> Self {
        Self::of(Use::ANY)
    }

    fn of(left: Use) -> Self {
        Self { left: Cell::new(left), is_spent: Cell::new(false) }
    }

    /// Whether expressions stopped before their end.
    pub fn is_spent(&self) -> bool {
        self.is_spent.get()
    }

    pub(crate) fn left(&self) -> Use {
        self.left.get()
    }

    pub(crate) fn take(&self, used: Use) {
        let left = self.left.get();
        let work = used.work.saturating_add(BEGINNING);
        if left == Use::ANY {
            return;
        }
        match (left.cost.checked_sub(used.cost), left.work.checked_sub(work)) {
            (Some(cost), Some(work)) => self.left.set(Use { cost, work }),
            _ => {
                self.left.set(Use { cost: 0, work: 0 });
                self.is_spent.set(true);
            }
        }
    }
}
