use std::sync::Arc;

use coracle_expression::{
    Allowance, COST_OF_MATCH_CONDITIONS, Environment, Error, Expression, Session, Type, Variables,
    admission_environment, with_one_more_computed,
};
use coracle_meta::Object;
use coracle_meta::fields::Fields;
use serde_json::{Map, Value};

use super::budget::{PolicyBudget, out_of_budget};
use super::policy_variables::PolicyVariables;
use crate::matching::Matching;
use crate::refusal::aggregate;

/// What a validating and a mutating policy have in common, compiled.
pub(crate) struct PolicyBasis {
    pub(crate) name: String,
    pub(crate) matching: Matching,
    /// Whether evaluation errors refuse the request.
    pub(crate) fails_closed: bool,
    /// `spec.paramKind`; empty for a policy without parameters.
    pub(crate) parameter_version: String,
    pub(crate) parameter_kind: String,
    conditions: Vec<NamedExpression>,
    variables: Vec<(String, Arc<Result<Expression, Error>>)>,
}

/// An expression with a name.
pub(crate) struct NamedExpression {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) expression: Result<Expression, Error>,
}

/// The environments of a policy's expressions.
pub(crate) struct Environments {
    /// With an authorizer.
    pub(crate) full: Environment,
    pub(crate) without_authorizer: Environment,
}

impl PolicyBasis {
    pub(crate) fn read(policy: &Object) -> (Self, Environments) {
        let has_parameters = !policy.text("spec.paramKind.kind").is_empty();
        let mut variables = Vec::new();
        let mut full = admission_environment(has_parameters, true, Some(&[]));
        let mut without_authorizer = admission_environment(has_parameters, false, Some(&[]));
        for variable in policy.list("spec.variables") {
            let (name, text) = (variable.text("name").to_owned(), variable.text("expression"));
            let expression = Expression::compile_in(text, &full);
            let of = expression.as_ref().map_or(Type::Dyn, |expression| expression.output_type().clone());
            full = with_one_more_computed(full, &name, &of);
            without_authorizer = with_one_more_computed(without_authorizer, &name, &of);
            variables.push((name, Arc::new(expression)));
        }
        let conditions = policy.list("spec.matchConditions").iter();
        let basis = Self {
            name: policy.name().to_owned(),
            matching: Matching::read(policy.at("spec.matchConstraints")),
            fails_closed: policy.text("spec.failurePolicy") != "Ignore",
            parameter_version: policy.text("spec.paramKind.apiVersion").to_owned(),
            parameter_kind: policy.text("spec.paramKind.kind").to_owned(),
            conditions: conditions
                .map(|value| NamedExpression::read(value.text("name"), value.text("expression"), &full))
                .collect(),
            variables,
        };
        (basis, Environments { full, without_authorizer })
    }

    pub(crate) fn has_parameters(&self) -> bool {
        !self.parameter_kind.is_empty()
    }

    /// The variables of all expressions other than match conditions, with the policy's own, which are evaluated when they
    /// are needed.
    pub(crate) fn variables_of_rules(&self, subject: &PolicyVariables, parameters: &Value) -> Variables<'static> {
        let mut variables = subject.for_rules(parameters);
        let names = self.variables.iter().map(|(name, _)| (name.clone(), Value::Null)).collect::<Map<_, _>>();
        variables.set_owned("variables", Value::Object(names));
        for (name, expression) in &self.variables {
            variables.set_computed(format!("variables.{name}"), Arc::clone(expression));
        }
        variables
    }

    /// Whether all match conditions are true. A false one decides, whatever errors others have.
    pub(crate) fn meets_conditions(
        &self,
        subject: &PolicyVariables,
        parameters: &Value,
        allowance: &Allowance,
    ) -> Result<bool, String> {
        if self.conditions.is_empty() {
            return Ok(true);
        }
        let variables = subject.for_conditions(parameters);
        let mut session = Session::within(&variables, allowance);
        let mut budget = PolicyBudget::new(COST_OF_MATCH_CONDITIONS);
        let mut errors = Vec::new();
        for condition in &self.conditions {
            match budget.holds(&mut session, &condition.expression) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error) if error == out_of_budget() => return Err(error.to_string()),
                Err(error) => errors.push(format!("expression '{}' resulted in error: {error}", condition.text)),
            }
        }
        aggregate(&errors).map_or(Ok(true), Err)
    }
}

impl NamedExpression {
    pub(crate) fn read(name: &str, text: &str, environment: &Environment) -> Self {
        let expression = Expression::compile_in(text, environment);
        Self { name: name.to_owned(), text: text.to_owned(), expression }
    }
}
