use coracle_expression::{
    COST_OF_MATCH_CONDITIONS, COST_OF_ONE_EXPRESSION, COST_OF_ONE_OBJECT, Environment, Error, Expression, Variables,
    admission_environment, namespace_schema, request_schema,
};
use coracle_meta::Object;
use coracle_meta::fields::Fields;
use coracle_registry::Review;
use serde_json::{Map, Value};

use crate::matching::Matching;
use crate::request_view::{admission_request, kind_of};

/// A policy, compiled.
pub(super) struct Policy {
    pub(super) name: String,
    pub(super) matching: Matching,
    /// Whether what cannot be evaluated refuses.
    pub(super) fails_closed: bool,
    /// `spec.paramKind`; empty for a policy without parameters.
    pub(super) parameter_version: String,
    pub(super) parameter_kind: String,
    conditions: Vec<Named>,
    variables: Vec<Named>,
    validations: Vec<Validation>,
}

struct Named {
    name: String,
    expression: Result<Expression, Error>,
}

struct Validation {
    text: String,
    expression: Result<Expression, Error>,
    message: String,
    message_expression: Option<Expression>,
    reason: String,
}

/// Something that a policy does not let pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) message: String,
    /// The word for the status; empty for `Invalid`.
    pub(super) reason: String,
}

/// What expressions look at.
pub(super) struct Subject {
    variables: Variables<'static>,
}

impl Subject {
    pub(super) fn new(review: &Review<'_>, namespace: Option<&Object>) -> Self {
        let value = |object: Option<&Object>| object.map_or(Value::Null, Object::to_value);
        let mut variables = Variables::default();
        variables.set_owned("object", value(review.object()));
        variables.set_owned("oldObject", value(review.old));
        variables.set_owned_typed("namespaceObject", value(namespace), namespace_schema());
        variables.set_owned_typed(
            "request",
            admission_request(review, &review.request.at.resource, &kind_of(review)),
            request_schema(),
        );
        Self { variables }
    }
}

impl Policy {
    pub(super) fn read(policy: &Object) -> Self {
        let has_parameters = !policy.text("spec.paramKind.kind").is_empty();
        let computed: Vec<&str> = policy.list("spec.variables").iter().map(|variable| variable.text("name")).collect();
        let environment = admission_environment(has_parameters, true, Some(&computed));
        let named = |path: &str| policy.list(path).iter().map(|value| Named::read(value, &environment)).collect();
        Self {
            name: policy.name().to_owned(),
            matching: Matching::read(policy.at("spec.matchConstraints")),
            fails_closed: policy.text("spec.failurePolicy") != "Ignore",
            parameter_version: policy.text("spec.paramKind.apiVersion").to_owned(),
            parameter_kind: policy.text("spec.paramKind.kind").to_owned(),
            conditions: named("spec.matchConditions"),
            variables: named("spec.variables"),
            validations: policy
                .list("spec.validations")
                .iter()
                .map(|value| Validation::read(value, &environment))
                .collect(),
        }
    }

    pub(super) fn has_parameters(&self) -> bool {
        !self.parameter_kind.is_empty()
    }

    /// What the policy does not let pass.
    pub(super) fn check(&self, subject: &Subject, parameters: &Value) -> Vec<Finding> {
        let mut variables = subject.variables.clone();
        variables.set_owned("params", parameters.clone());
        let mut budget = Budget { left: COST_OF_MATCH_CONDITIONS };
        for condition in &self.conditions {
            match budget.holds(&condition.expression, &variables) {
                Ok(true) => {}
                Ok(false) => return Vec::new(),
                Err(error) => return self.failed(format!("match condition '{}' failed: {error}", condition.name)),
            }
        }
        let mut budget = Budget { left: COST_OF_ONE_OBJECT };
        variables.set_owned("variables", self.computed(&variables, &mut budget));
        let mut findings = Vec::new();
        for validation in &self.validations {
            match validation.check(&variables, &mut budget) {
                Ok(finding) => findings.extend(finding),
                Err(error) if error == out_of_budget() => {
                    findings.extend(self.failed(error.to_string()));
                    break;
                }
                Err(error) => {
                    findings
                        .extend(self.failed(format!("expression '{}' resulted in error: {error}", validation.text)));
                }
            }
        }
        findings
    }

    fn failed(&self, message: String) -> Vec<Finding> {
        if self.fails_closed { vec![Finding { message, reason: String::new() }] } else { Vec::new() }
    }

    /// The policy's variables, each of which may use those before it. One that has no value is missing.
    fn computed(&self, variables: &Variables<'_>, budget: &mut Budget) -> Value {
        let mut computed = Map::new();
        let mut variables = variables.clone();
        for variable in &self.variables {
            variables.set_owned("variables", Value::Object(computed.clone()));
            if let Ok(expression) = &variable.expression
                && let Ok(value) = budget.value(expression, &variables)
            {
                computed.insert(variable.name.clone(), value);
            }
        }
        Value::Object(computed)
    }
}

/// What the expressions of a policy may still cost.
struct Budget {
    left: u64,
}

impl Budget {
    fn holds(&mut self, expression: &Result<Expression, Error>, variables: &Variables<'_>) -> Result<bool, Error> {
        let run = expression.as_ref().map_err(Error::clone)?.decide(variables, COST_OF_ONE_EXPRESSION);
        self.pay(run.cost)?;
        run.result
    }

    fn value(&mut self, expression: &Expression, variables: &Variables<'_>) -> Result<Value, Error> {
        let run = expression.run(variables, COST_OF_ONE_EXPRESSION);
        self.pay(run.cost)?;
        run.result
    }

    fn pay(&mut self, cost: u64) -> Result<(), Error> {
        let left = self.left.checked_sub(cost);
        self.left = left.unwrap_or(0);
        left.map(|_| ()).ok_or_else(out_of_budget)
    }
}

fn out_of_budget() -> Error {
    let what = "validation failed due to running out of cost budget, no further validation rules will be run";
    Error::Evaluation(what.to_owned())
}

impl Named {
    fn read(value: &Value, environment: &Environment) -> Self {
        let expression = Expression::compile_in(value.text("expression"), environment);
        Self { name: value.text("name").to_owned(), expression }
    }
}

impl Validation {
    fn read(value: &Value, environment: &Environment) -> Self {
        let text = value.text("expression");
        Self {
            text: text.to_owned(),
            expression: Expression::compile_in(text, environment),
            message: value.text("message").trim().to_owned(),
            message_expression: Expression::compile_in(value.text("messageExpression"), environment).ok(),
            reason: value.text("reason").to_owned(),
        }
    }

    fn check(&self, variables: &Variables<'_>, budget: &mut Budget) -> Result<Option<Finding>, Error> {
        if budget.holds(&self.expression, variables)? {
            return Ok(None);
        }
        Ok(Some(Finding { message: self.message(variables, budget), reason: self.reason.clone() }))
    }

    fn message(&self, variables: &Variables<'_>, budget: &mut Budget) -> String {
        let computed = self.message_expression.as_ref().and_then(|message| budget.value(message, variables).ok());
        let computed = computed.as_ref().and_then(Value::as_str).map(str::trim);
        match (computed.filter(|text| !text.is_empty() && !text.contains('\n')), self.message.as_str()) {
            (Some(computed), _) => computed.to_owned(),
            (None, "") => format!("failed expression: {}", self.text.trim()),
            (None, message) => message.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn findings(spec: Value, object: Value) -> Vec<String> {
        let policy = json!({"metadata": {"name": "p"}, "spec": spec});
        let policy = Policy::read(&Object::from_value(policy).unwrap());
        let mut variables = Variables::default();
        variables.set_owned("object", object);
        policy.check(&Subject { variables }, &Value::Null).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn expressions_use_the_variables_of_their_policy() {
        let spec = json!({
            "variables": [
                {"name": "n", "expression": "object.spec.replicas"}, {"name": "twice", "expression": "variables.n * 2"}
            ],
            "validations": [
                {"expression": "variables.n <= 5", "messageExpression": "'replicas ' + string(variables.twice)"},
                {"expression": "has(object.labels)", "message": "needs labels"},
                {"expression": "object.spec.replicas < 9"}
            ]
        });
        let found = findings(spec, json!({"spec": {"replicas": 9}}));
        assert_eq!(found, ["replicas 18", "needs labels", "failed expression: object.spec.replicas < 9"]);
    }

    #[test]
    fn a_condition_that_does_not_hold_lets_everything_pass() {
        let spec = json!({
            "matchConditions": [{"name": "small", "expression": "object.n < 3"}],
            "validations": [{"expression": "false", "message": "never"}]
        });
        assert_eq!(findings(spec.clone(), json!({"n": 1})), ["never"]);
        assert!(findings(spec, json!({"n": 5})).is_empty());
    }

    #[test]
    fn what_cannot_be_evaluated_refuses_unless_the_policy_ignores_failures() {
        let spec = |failure: &str| json!({"failurePolicy": failure, "validations": [{"expression": "object.a.b > 1"}]});
        let found = findings(spec("Fail"), json!({}));
        assert!(found[0].starts_with("expression 'object.a.b > 1' resulted in error: "), "{found:?}");
        assert!(findings(spec("Ignore"), json!({})).is_empty());
    }
}
