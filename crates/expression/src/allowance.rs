//! How far expressions may go before whoever runs them does it otherwise.

use std::cell::Cell;

use crate::meter::{COST_OF_ONE_EXPRESSION, MOST_WORK, Use};

/// What of the budget of one expression costs little: about a millisecond.
const SHORT: u64 = 50;
/// What it takes to begin an expression, in small steps.
const BEGINNING: u64 = 100;

/// What several expressions may use up together before they leave off.
///
/// This is no limit of theirs, which they have beside it: once it [is spent](Self::is_spent), what they gave means
/// nothing, and they are to be run again from the beginning with another. Until then they give what they would give
/// with any.
#[derive(Debug)]
pub struct Allowance {
    left: Cell<Use>,
    is_spent: Cell<bool>,
}

impl Allowance {
    /// What may be run at once, whoever else waits.
    pub fn short() -> Self {
        Self::of(Use { cost: COST_OF_ONE_EXPRESSION / SHORT, work: MOST_WORK / SHORT })
    }

    /// As much as their limits let expressions use up.
    pub fn unlimited() -> Self {
        Self::of(Use::ANY)
    }

    fn of(left: Use) -> Self {
        Self { left: Cell::new(left), is_spent: Cell::new(false) }
    }

    /// Whether expressions left off that were not at their end.
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
