use std::sync::Arc;

use coracle_expression::{
    Allowance, COST_OF_MATCH_CONDITIONS, COST_OF_ONE_EXPRESSION, COST_OF_ONE_OBJECT, Environment, Error, Expression,
    Session, Type, Variables, admission_environment, namespace_schema, request_schema, with_one_more_computed,
};
use coracle_meta::Object;
use coracle_meta::fields::Fields;
use coracle_registry::Review;
use serde_json::{Map, Value};

use crate::authorization::Answers;
use crate::matching::Matching;
use crate::refusal::aggregate;
use crate::shown::Shown;

/// The maximum length of a computed message, in bytes.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// A policy, compiled.
pub(super) struct Policy {
    pub(super) name: String,
    pub(super) matching: Matching,
    /// Whether evaluation errors refuse the request.
    pub(super) fails_closed: bool,
    /// `spec.paramKind`; empty for a policy without parameters.
    pub(super) parameter_version: String,
    pub(super) parameter_kind: String,
    conditions: Vec<Named>,
    variables: Vec<(String, Arc<Result<Expression, Error>>)>,
    validations: Vec<Validation>,
    annotations: Vec<Named>,
}

struct Named {
    name: String,
    text: String,
    expression: Result<Expression, Error>,
}

struct Validation {
    text: String,
    expression: Result<Expression, Error>,
    message: String,
    message_expression: Option<Expression>,
    reason: String,
}

/// The result of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PolicyOutcome {
    /// The violations.
    pub(super) findings: Vec<Finding>,
    /// The audit annotations.
    pub(super) annotations: Vec<(String, String)>,
    /// The errors of audit annotations; they refuse the request, whatever actions the binding has.
    pub(super) failed_annotations: Vec<String>,
}

/// A violation of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) message: String,
    /// The reason of the status; empty for `Invalid`.
    pub(super) reason: String,
    /// The index of the validation.
    pub(super) index: usize,
}

impl Finding {
    fn failure(message: String, index: usize) -> Self {
        Self { message, reason: String::new(), index }
    }
}

/// The variables of expressions. Copies share the values.
#[derive(Clone)]
pub(super) struct PolicyVariables {
    variables: Variables<'static>,
}

impl PolicyVariables {
    pub(super) fn new(review: &Review<'_>, shown: Shown, namespace: Option<&Object>, answers: &Arc<Answers>) -> Self {
        let mut variables = Variables::default();
        variables.set_owned("object", shown.object);
        variables.set_owned("oldObject", shown.old);
        let namespace = namespace.map_or(Value::Null, Object::to_value);
        variables.set_owned_typed("namespaceObject", namespace, namespace_schema());
        variables.set_owned_typed("request", shown.request, request_schema());
        answers.show(review, &mut variables);
        Self { variables }
    }
}

impl Policy {
    pub(super) fn read(policy: &Object) -> Self {
        let has_parameters = !policy.text("spec.paramKind.kind").is_empty();
        let mut variables = Vec::new();
        let mut environment = admission_environment(has_parameters, true, Some(&[]));
        let mut without_authorizer = admission_environment(has_parameters, false, Some(&[]));
        for variable in policy.list("spec.variables") {
            let (name, text) = (variable.text("name").to_owned(), variable.text("expression"));
            let expression = Expression::compile_in(text, &environment);
            let of = expression.as_ref().map_or(Type::Dyn, |expression| expression.output_type().clone());
            environment = with_one_more_computed(environment, &name, &of);
            without_authorizer = with_one_more_computed(without_authorizer, &name, &of);
            variables.push((name, Arc::new(expression)));
        }
        let conditions = policy.list("spec.matchConditions").iter();
        let annotations = policy.list("spec.auditAnnotations").iter();
        let validations = policy.list("spec.validations").iter();
        Self {
            name: policy.name().to_owned(),
            matching: Matching::read(policy.at("spec.matchConstraints")),
            fails_closed: policy.text("spec.failurePolicy") != "Ignore",
            parameter_version: policy.text("spec.paramKind.apiVersion").to_owned(),
            parameter_kind: policy.text("spec.paramKind.kind").to_owned(),
            conditions: conditions
                .map(|value| Named::read(value.text("name"), value.text("expression"), &environment))
                .collect(),
            annotations: annotations
                .map(|value| Named::read(value.text("key"), value.text("valueExpression"), &environment))
                .collect(),
            validations: validations.map(|value| Validation::read(value, &environment, &without_authorizer)).collect(),
            variables,
        }
    }

    pub(super) fn has_parameters(&self) -> bool {
        !self.parameter_kind.is_empty()
    }

    /// Evaluates the policy within an allowance.
    /// In Kubernetes: `validator.Validate`.
    pub(super) fn check(&self, subject: &PolicyVariables, parameters: &Value, allowance: &Allowance) -> PolicyOutcome {
        let mut variables = subject.variables.clone();
        variables.set_owned("params", parameters.clone());
        match self.meets_conditions(&variables, allowance) {
            Ok(true) => {}
            Ok(false) => return PolicyOutcome::default(),
            Err(message) => return PolicyOutcome { findings: self.failed(message, 0), ..PolicyOutcome::default() },
        }
        let names = self.variables.iter().map(|(name, _)| (name.clone(), Value::Null)).collect::<Map<_, _>>();
        variables.set_owned("variables", Value::Object(names));
        for (name, expression) in &self.variables {
            variables.set_computed(format!("variables.{name}"), Arc::clone(expression));
        }
        let findings = self.findings(&variables, allowance);
        let mut outcome = PolicyOutcome { findings, ..PolicyOutcome::default() };
        self.annotate(&variables, allowance, &mut outcome);
        outcome
    }

    /// Whether all match conditions are true. A false one decides, whatever errors others have.
    fn meets_conditions(&self, variables: &Variables<'_>, allowance: &Allowance) -> Result<bool, String> {
        let mut session = Session::within(variables, allowance);
        let mut budget = Budget { left: COST_OF_MATCH_CONDITIONS };
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

    fn findings(&self, variables: &Variables<'_>, allowance: &Allowance) -> Vec<Finding> {
        let mut session = Session::within(variables, allowance);
        let mut budget = Budget { left: COST_OF_ONE_OBJECT };
        let mut held = Vec::new();
        for validation in &self.validations {
            match budget.holds(&mut session, &validation.expression) {
                Err(error) if error == out_of_budget() => return self.failed(error.to_string(), 0),
                result => held.push(result),
            }
        }
        // Messages are computed with the remaining budget, and variables cost again.
        let mut session = Session::within(variables, allowance);
        let mut findings = Vec::new();
        for (index, (validation, held)) in self.validations.iter().zip(held).enumerate() {
            match held {
                Ok(true) => {}
                Ok(false) => findings.push(Finding {
                    message: validation.message(&mut session, &mut budget),
                    reason: validation.reason.clone(),
                    index,
                }),
                Err(error) => {
                    let message = format!("expression '{}' resulted in error: {error}", validation.text);
                    findings.extend(self.failed(message, index));
                }
            }
        }
        findings
    }

    fn annotate(&self, variables: &Variables<'_>, allowance: &Allowance, outcome: &mut PolicyOutcome) {
        let mut session = Session::within(variables, allowance);
        let mut budget = Budget { left: COST_OF_ONE_OBJECT };
        for annotation in &self.annotations {
            let value = annotation.expression.as_ref().map_err(Error::clone);
            match value.and_then(|expression| budget.value(&mut session, expression)) {
                Ok(Value::String(text)) if !text.trim().is_empty() => {
                    outcome.annotations.push((annotation.name.clone(), text.trim().to_owned()));
                }
                Ok(Value::String(_) | Value::Null) => {}
                Ok(other) if self.fails_closed => outcome.failed_annotations.push(format!(
                    "valueExpression '{}' resulted in unsupported return type: {other}. Return type must be either string \
                     or null.",
                    annotation.text
                )),
                Err(error) if error == out_of_budget() => {
                    outcome.findings.extend(self.failed(error.to_string(), 0));
                    return;
                }
                Err(error) if self.fails_closed => {
                    let why = format!("expression '{}' resulted in error: {error}", annotation.text);
                    outcome.failed_annotations.push(why);
                }
                Ok(_) | Err(_) => {}
            }
        }
    }

    fn failed(&self, message: String, index: usize) -> Vec<Finding> {
        if self.fails_closed { vec![Finding::failure(message, index)] } else { Vec::new() }
    }
}

/// The remaining cost budget of the expressions of a policy.
struct Budget {
    left: u64,
}

impl Budget {
    fn holds(&mut self, session: &mut Session<'_>, expression: &Result<Expression, Error>) -> Result<bool, Error> {
        let run = session.decide(expression.as_ref().map_err(Error::clone)?, COST_OF_ONE_EXPRESSION);
        self.pay(run.cost)?;
        run.result
    }

    fn value(&mut self, session: &mut Session<'_>, expression: &Expression) -> Result<Value, Error> {
        let run = session.run(expression, COST_OF_ONE_EXPRESSION);
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
    fn read(name: &str, text: &str, environment: &Environment) -> Self {
        let expression = Expression::compile_in(text, environment);
        Self { name: name.to_owned(), text: text.to_owned(), expression }
    }
}

impl Validation {
    fn read(value: &Value, environment: &Environment, for_messages: &Environment) -> Self {
        let text = value.text("expression");
        Self {
            text: text.to_owned(),
            expression: Expression::compile_in(text, environment),
            message: value.text("message").trim().to_owned(),
            message_expression: Expression::compile_in(value.text("messageExpression"), for_messages).ok(),
            reason: value.text("reason").to_owned(),
        }
    }

    fn message(&self, session: &mut Session<'_>, budget: &mut Budget) -> String {
        let computed = self.message_expression.as_ref().and_then(|message| budget.value(session, message).ok());
        let computed = computed.as_ref().and_then(Value::as_str).map(str::trim);
        let is_fit = |text: &&str| !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n');
        match (computed.filter(is_fit), self.message.as_str()) {
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
        let outcome = policy.check(&PolicyVariables { variables }, &Value::Null, &Allowance::unlimited());
        outcome.findings.into_iter().map(|finding| finding.message).collect()
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
    fn evaluation_errors_refuse_unless_the_failure_policy_is_ignore() {
        let spec = |failure: &str| json!({"failurePolicy": failure, "validations": [{"expression": "object.a.b > 1"}]});
        let found = findings(spec("Fail"), json!({}));
        assert!(found[0].starts_with("expression 'object.a.b > 1' resulted in error: "), "{found:?}");
        assert!(findings(spec("Ignore"), json!({})).is_empty());
    }

    #[test]
    fn a_variable_is_worked_out_when_it_is_needed_and_fails_where_it_is() {
        let spec = json!({
            "variables": [
                {"name": "bad", "expression": "object.missing.field"},
                {"name": "when", "expression": "timestamp(object.at)"},
                {"name": "later", "expression": "variables.when + duration('1h')"}
            ],
            "validations": [
                {"expression": "true || variables.bad == 1"},
                {"expression": "variables.later.getHours() == 13"},
                {"expression": "variables.bad == 1"}
            ]
        });
        let found = findings(spec, json!({"at": "2026-01-01T12:00:00Z"}));
        let expected = "expression 'variables.bad == 1' resulted in error: composited variable \"bad\" fails to evaluate: \
            no such key: missing";
        assert_eq!(found, [expected]);
    }

    #[test]
    fn a_long_chain_of_variables_ends() {
        let mut variables = vec![json!({"name": "v0", "expression": "1"}), json!({"name": "v1", "expression": "1"})];
        for at in 2..400 {
            let text = format!("(variables.v{} + variables.v{}) % 7", at - 1, at - 2);
            variables.push(json!({"name": format!("v{at}"), "expression": text}));
        }
        let spec = json!({"variables": variables, "validations": [{"expression": "variables.v399 < 0"}]});
        assert_eq!(findings(spec, json!({})), ["failed expression: variables.v399 < 0"]);
    }

    #[test]
    fn audit_annotations_are_added_unless_null_or_empty() {
        let spec = |policy: &str| {
            json!({"failurePolicy": policy, "auditAnnotations": [
                {"key": "replicas", "valueExpression": "'is ' + string(object.n)"},
                {"key": "none", "valueExpression": "null"},
                {"key": "empty", "valueExpression": "' '"},
                {"key": "bad", "valueExpression": "string(object.missing)"}
            ]})
        };
        let check = |spec: Value| {
            let policy = Policy::read(&Object::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap());
            let mut variables = Variables::default();
            variables.set_owned("object", json!({"n": 3}));
            policy.check(&PolicyVariables { variables }, &Value::Null, &Allowance::unlimited())
        };
        let outcome = check(spec("Fail"));
        assert_eq!(outcome.annotations, [("replicas".to_owned(), "is 3".to_owned())]);
        let why = "expression 'string(object.missing)' resulted in error: no such key: missing";
        assert_eq!(outcome.failed_annotations, [why]);
        assert_eq!(check(spec("Ignore")).failed_annotations, Vec::<String>::new());
    }
}
