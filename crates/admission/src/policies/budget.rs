use coracle_expression::{COST_OF_ONE_EXPRESSION, Error, EvaluationResult, Expression, Session};
use serde_json::Value;

/// The remaining cost budget of the expressions of a policy.
pub(crate) struct PolicyBudget {
    left: u64,
}

impl PolicyBudget {
    pub(crate) fn new(left: u64) -> Self {
        Self { left }
    }

    pub(crate) fn holds(
        &mut self,
        session: &mut Session<'_>,
        expression: &Result<Expression, Error>,
    ) -> Result<bool, Error> {
        let run = session.decide(expression.as_ref().map_err(Error::clone)?, COST_OF_ONE_EXPRESSION);
        self.pay(run)
    }

    pub(crate) fn value(&mut self, session: &mut Session<'_>, expression: &Expression) -> Result<Value, Error> {
        let run = session.run(expression, COST_OF_ONE_EXPRESSION);
        self.pay(run)
    }

    /// The result of an expression, if the budget covers its cost.
    pub(crate) fn pay<T>(&mut self, run: EvaluationResult<T>) -> Result<T, Error> {
        let left = self.left.checked_sub(run.cost);
        self.left = left.unwrap_or(0);
        if left.is_some() { run.result } else { Err(out_of_budget()) }
    }
}

pub(crate) fn out_of_budget() -> Error {
    let what = "validation failed due to running out of cost budget, no further validation rules will be run";
    Error::Evaluation(what.to_owned())
}
