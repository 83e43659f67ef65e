//! Evaluates several expressions over the same variables.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use crate::allowance::Allowance;
use crate::evaluate::{Evaluated, Machine, VariableSource};
use crate::expression::{Error, EvaluationResult, Expression};
use crate::fault::Fault;
use crate::meter::{COST_OF_ONE_EXPRESSION, Meter, Use};
use crate::value::{Value, to_json};
use crate::variables::Variables;

/// Evaluates expressions over the same variables. A computed variable is evaluated once, when it is first needed; its
/// cost is charged to the expression that needed it. In Kubernetes: `CompositedConditionEvaluator`.
pub struct Session<'v> {
    variables: &'v Variables<'v>,
    known: BTreeMap<&'v str, Option<Evaluated<'v>>>,
    /// The cost of variables since the last expression started.
    cost: u64,
    allowance: Option<&'v Allowance>,
}

impl<'v> Session<'v> {
    /// Starts without evaluated variables.
    pub fn new(variables: &'v Variables<'v>) -> Self {
        Self { variables, known: BTreeMap::new(), cost: 0, allowance: None }
    }

    /// The same, with an allowance that includes the variables.
    pub fn within(variables: &'v Variables<'v>, allowance: &'v Allowance) -> Self {
        Self { allowance: Some(allowance), ..Self::new(variables) }
    }

    /// Evaluates an expression with a cost limit.
    pub fn run(&mut self, expression: &Expression, limit: u64) -> EvaluationResult<Json> {
        self.start(expression, limit, |value| {
            let json = to_json(value);
            json.ok_or_else(|| Error::Evaluation(format!("gave a {}, which is no JSON value", value.type_of().name())))
        })
    }

    /// Evaluates a boolean expression with a cost limit.
    pub fn decide(&mut self, expression: &Expression, limit: u64) -> EvaluationResult<bool> {
        self.start(expression, limit, |value| match value {
            Value::Bool(holds) => Ok(*holds),
            other => Err(Error::NotABoolean(other.shown())),
        })
    }

    pub(crate) fn start<T>(
        &mut self,
        expression: &Expression,
        limit: u64,
        read: impl FnOnce(&Value<'_>) -> Result<T, Error>,
    ) -> EvaluationResult<T> {
        self.cost = 0;
        let (value, cost) = self.evaluate(expression, limit);
        let result = match &value {
            Ok(value) => read(value),
            Err(fault) => Err(Error::Evaluation(fault.to_string())),
        };
        EvaluationResult { result, cost: cost.saturating_add(self.cost) }
    }

    fn evaluate(&mut self, expression: &Expression, limit: u64) -> (Evaluated<'v>, u64) {
        let names: Vec<&str> = expression.variables().iter().map(String::as_str).collect();
        let allowance = self.allowance;
        let meter = Meter::within(limit, allowance.map_or(Use::ANY, Allowance::left));
        let outcome = Machine::new(names, self, meter).run(expression.node());
        if let Some(allowance) = allowance {
            allowance.take(outcome.used);
        }
        (outcome.result, outcome.cost)
    }

    /// A variable and all unevaluated variables that it depends on, dependencies first. So a long chain of variables
    /// causes no recursion.
    fn needed(&self, name: &str) -> Vec<(&'v str, Option<&'v Result<Expression, Error>>)> {
        let (mut ordered, mut seen) = (Vec::new(), BTreeSet::new());
        let mut open: Vec<_> = self.variables.find(name).into_iter().map(|found| (found, false)).collect();
        while let Some(((name, expression), is_ready)) = open.pop() {
            if is_ready {
                ordered.push((name, expression));
            } else if !self.known.contains_key(name) && seen.insert(name) {
                open.push(((name, expression), true));
                let needs = expression.and_then(|expression| expression.as_ref().ok()).map(Expression::variables);
                let needs = needs.into_iter().flatten().filter_map(|name| self.variables.find(name));
                open.extend(needs.map(|found| (found, false)));
            }
        }
        ordered
    }

    fn compute(&mut self, name: &str, expression: &'v Result<Expression, Error>) -> Evaluated<'v> {
        let short = name.strip_prefix("variables.").unwrap_or(name);
        let expression = expression
            .as_ref()
            .map_err(|error| Fault::new(format!("composited variable {short:?} fails to compile: {error}")))?;
        let (value, cost) = self.evaluate(expression, COST_OF_ONE_EXPRESSION);
        self.cost = self.cost.saturating_add(cost);
        value.map_err(|fault| Fault::new(format!("composited variable {short:?} fails to evaluate: {fault}")))
    }
}

impl<'v> VariableSource<'v> for Session<'v> {
    fn value(&mut self, name: &str) -> Option<Evaluated<'v>> {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let variables = self.variables;
        for (name, expression) in self.needed(name) {
            let value = match expression {
                Some(expression) => Some(self.compute(name, expression)),
                None => variables.value(name),
            };
            self.known.insert(name, value);
        }
        self.known.get(name).cloned().flatten()
    }
}

impl Expression {
    /// Evaluates the expression.
    pub fn evaluate(&self, variables: &Variables<'_>) -> Result<Json, Error> {
        self.run(variables, COST_OF_ONE_EXPRESSION).result
    }

    /// Evaluates a boolean expression.
    pub fn holds(&self, variables: &Variables<'_>) -> Result<bool, Error> {
        self.decide(variables, COST_OF_ONE_EXPRESSION).result
    }

    /// Evaluates the expression with a cost limit.
    pub fn run(&self, variables: &Variables<'_>, limit: u64) -> EvaluationResult<Json> {
        Session::new(variables).run(self, limit)
    }

    /// Evaluates a boolean expression with a cost limit.
    pub fn decide(&self, variables: &Variables<'_>, limit: u64) -> EvaluationResult<bool> {
        Session::new(variables).decide(self, limit)
    }
}
