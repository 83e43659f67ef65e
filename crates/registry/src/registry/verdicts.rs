use std::sync::Arc;

use coracle_expression::Allowance;
use coracle_meta::{FieldError, Object, Status};
use parking_lot::Mutex;

use super::expression_pool::within_short;
use super::questions::RuleCheck;
use crate::{Planned, Registry, Strategy};

/// The verdicts of costly rules on the change of one request.
#[derive(Default)]
pub(crate) struct Verdicts {
    /// The last one alone: after another client has written first, the request asks only about its next change.
    known: Mutex<Option<(RuleCheck, Vec<FieldError>)>>,
}

impl Verdicts {
    /// The errors of the rules, if they cost little or have been evaluated.
    ///
    /// # Errors
    /// The check to run first.
    pub(crate) fn of(
        &self,
        strategy: &Arc<dyn Strategy>,
        new: &Object,
        old: Option<&Object>,
    ) -> Planned<Vec<FieldError>> {
        if let Some((_, errors)) = self.known.lock().as_ref().filter(|(check, _)| check.is_of(new, old)) {
            return Ok(errors.clone());
        }
        let check = || RuleCheck { new: new.clone(), old: old.cloned() };
        within_short(|allowance| strategy.check_rules(new, old, allowance)).ok_or_else(|| check().into())
    }

    /// Evaluates costly rules in the expression pool.
    ///
    /// # Errors
    /// 429 if the pool has no room.
    pub(crate) async fn ask(
        &self,
        registry: &Registry,
        strategy: Arc<dyn Strategy>,
        check: RuleCheck,
    ) -> Result<(), Status> {
        let run = move || {
            let errors = strategy.check_rules(&check.new, check.old.as_ref(), &Allowance::unlimited());
            (check, errors)
        };
        let verdict = registry.in_expression_pool(run).await?;
        *self.known.lock() = Some(verdict);
        Ok(())
    }
}
