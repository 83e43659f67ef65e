use coracle_expression::{Allowance, COST_OF_ONE_OBJECT, Environment, Error, Expression, Session, Variables};
use coracle_meta::Object;
use coracle_meta::fields::Fields;
use serde_json::Value;

use crate::policies::{Environments, NamedExpression, PolicyBasis, PolicyBudget, PolicyVariables, out_of_budget};

/// The maximum length of a computed message, in bytes.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// A policy, compiled.
pub(super) struct Policy {
    pub(super) basis: PolicyBasis,
    validations: Vec<Validation>,
    annotations: Vec<NamedExpression>,
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

impl Policy {
    pub(super) fn read(policy: &Object) -> Self {
        let (basis, Environments { full, without_authorizer }) = PolicyBasis::read(policy);
        let annotations = policy.list("spec.auditAnnotations").iter();
        let validations = policy.list("spec.validations").iter();
        Self {
            annotations: annotations
                .map(|value| NamedExpression::read(value.text("key"), value.text("valueExpression"), &full))
                .collect(),
            validations: validations.map(|value| Validation::read(value, &full, &without_authorizer)).collect(),
            basis,
        }
    }

    /// Evaluates the policy within an allowance.
    /// In Kubernetes: `validator.Validate`.
    pub(super) fn check(&self, subject: &PolicyVariables, parameters: &Value, allowance: &Allowance) -> PolicyOutcome {
        match self.basis.meets_conditions(subject, parameters, allowance) {
            Ok(true) => {}
            Ok(false) => return PolicyOutcome::default(),
            Err(message) => return PolicyOutcome { findings: self.failed(message, 0), ..PolicyOutcome::default() },
        }
        let variables = self.basis.variables_of_rules(subject, parameters);
        let findings = self.findings(&variables, allowance);
        let mut outcome = PolicyOutcome { findings, ..PolicyOutcome::default() };
        self.annotate(&variables, allowance, &mut outcome);
        outcome
    }

    fn findings(&self, variables: &Variables<'_>, allowance: &Allowance) -> Vec<Finding> {
        let mut session = Session::within(variables, allowance);
        let mut budget = PolicyBudget::new(COST_OF_ONE_OBJECT);
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
        let mut budget = PolicyBudget::new(COST_OF_ONE_OBJECT);
        for annotation in &self.annotations {
            let value = annotation.expression.as_ref().map_err(Error::clone);
            match value.and_then(|expression| budget.value(&mut session, expression)) {
                Ok(Value::String(text)) if !text.trim().is_empty() => {
                    outcome.annotations.push((annotation.name.clone(), text.trim().to_owned()));
                }
                Ok(Value::String(_) | Value::Null) => {}
                Ok(other) if self.basis.fails_closed => outcome.failed_annotations.push(format!(
                    "valueExpression '{}' resulted in unsupported return type: {other}. Return type must be either string \
                     or null.",
                    annotation.text
                )),
                Err(error) if error == out_of_budget() => {
                    outcome.findings.extend(self.failed(error.to_string(), 0));
                    return;
                }
                Err(error) if self.basis.fails_closed => {
                    let why = format!("expression '{}' resulted in error: {error}", annotation.text);
                    outcome.failed_annotations.push(why);
                }
                Ok(_) | Err(_) => {}
            }
        }
    }

    fn failed(&self, message: String, index: usize) -> Vec<Finding> {
        if self.basis.fails_closed { vec![Finding::failure(message, index)] } else { Vec::new() }
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

    fn message(&self, session: &mut Session<'_>, budget: &mut PolicyBudget) -> String {
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
        let outcome = policy.check(&PolicyVariables::of_object(object), &Value::Null, &Allowance::unlimited());
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
            policy.check(&PolicyVariables::of_object(json!({"n": 3})), &Value::Null, &Allowance::unlimited())
        };
        let outcome = check(spec("Fail"));
        assert_eq!(outcome.annotations, [("replicas".to_owned(), "is 3".to_owned())]);
        let why = "expression 'string(object.missing)' resulted in error: no such key: missing";
        assert_eq!(outcome.failed_annotations, [why]);
        assert_eq!(check(spec("Ignore")).failed_annotations, Vec::<String>::new());
    }
}
