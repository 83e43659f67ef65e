use std::sync::Arc;

use coracle_meta::{FieldError, Object, Status};
use parking_lot::Mutex;

use super::expression_pool::within_short;
use crate::{Registry, Strategy};

/// What costly rules said for one request, and what they are still to be asked.
///
/// A plan does not wait. So what costs more than a little is noted, and the plan made again when it is known.
#[derive(Default)]
pub(crate) struct Verdicts {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The last one alone: nobody asks about what was wanted before somebody else came between.
    known: Option<(Change, Vec<FieldError>)>,
    wanted: Option<(Arc<dyn Strategy>, Change)>,
}

/// What rules are asked about.
struct Change {
    new: Object,
    old: Option<Object>,
}

impl Verdicts {
    /// What the rules say, if that costs little or is known; else it will be.
    pub(crate) fn of(
        &self,
        strategy: &Arc<dyn Strategy>,
        new: &Object,
        old: Option<&Object>,
    ) -> Result<Vec<FieldError>, Status> {
        let mut state = self.state.lock();
        let known = state.known.as_ref().filter(|(change, _)| change.new == *new && change.old.as_ref() == old);
        if let Some((_, errors)) = known {
            return Ok(errors.clone());
        }
        within_short(|allowance| strategy.check_rules(new, old, allowance)).ok_or_else(|| {
            let change = Change { new: new.clone(), old: old.cloned() };
            state.wanted = Some((Arc::clone(strategy), change));
            Status::internal("an object was planned before its rules were asked")
        })
    }

    /// Asks what was asked in vain; says whether there was anything.
    ///
    /// # Errors
    /// If too much is waiting.
    pub(crate) async fn fill(&self, registry: &Registry) -> Result<bool, Status> {
        let wanted = self.state.lock().wanted.take();
        let Some((strategy, change)) = wanted else { return Ok(false) };
        let check = move || {
            let allowance = coracle_expression::Allowance::unlimited();
            let errors = strategy.check_rules(&change.new, change.old.as_ref(), &allowance);
            (change, errors)
        };
        let verdict = registry.in_expression_pool(check).await?;
        self.state.lock().known = Some(verdict);
        Ok(true)
    }
}
