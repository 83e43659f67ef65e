use coracle_expression::{
    Allowance, COST_OF_ONE_EXPRESSION, COST_OF_ONE_OBJECT, Environment, Error, Expression, Session,
};
use coracle_meta::Object;
use coracle_meta::fields::Fields;
use serde_json::{Map, Value};

use crate::policies::{PolicyBasis, PolicyBudget, PolicyVariables, out_of_budget};

/// A policy, compiled.
pub(super) struct MutatingPolicy {
    pub(super) basis: PolicyBasis,
    /// Whether the policy runs again if the object changes after it: `reinvocationPolicy: IfNeeded`.
    pub(super) is_reinvoked: bool,
    mutations: Vec<Mutation>,
}

struct Mutation {
    form: PatchForm,
    text: String,
    expression: Result<Expression, Error>,
}

#[derive(Clone, Copy)]
enum PatchForm {
    ApplyConfiguration,
    JsonPatch,
}

/// The result of a mutation.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ComputedPatch {
    /// An apply configuration, without version and kind.
    Configuration(Value),
    /// The operations of a JSON patch.
    Operations(Vec<Map<String, Value>>),
}

impl MutatingPolicy {
    pub(super) fn read(policy: &Object) -> Self {
        let (basis, environments) = PolicyBasis::read(policy);
        let environment = environments.full.with_patch_types();
        let mutations = policy.list("spec.mutations").iter();
        Self {
            basis,
            is_reinvoked: policy.text("spec.reinvocationPolicy") == "IfNeeded",
            mutations: mutations.map(|mutation| Mutation::read(mutation, &environment)).collect(),
        }
    }

    /// The number of mutations.
    pub(super) fn len(&self) -> usize {
        self.mutations.len()
    }

    /// Evaluates a mutation within an allowance.
    ///
    /// # Errors
    /// Why it has no result.
    pub(super) fn evaluate(
        &self,
        mutation: usize,
        subject: &PolicyVariables,
        parameters: &Value,
        allowance: &Allowance,
    ) -> Result<ComputedPatch, String> {
        let Some(mutation) = self.mutations.get(mutation) else { return Err("policy evaluator is nil".to_owned()) };
        let variables = self.basis.variables_of_rules(subject, parameters);
        mutation.evaluate(&mut Session::within(&variables, allowance))
    }
}

impl Mutation {
    fn read(mutation: &Value, environment: &Environment) -> Self {
        let (form, field) = match mutation.text("patchType") {
            "JSONPatch" => (PatchForm::JsonPatch, "jsonPatch.expression"),
            _ => (PatchForm::ApplyConfiguration, "applyConfiguration.expression"),
        };
        let text = mutation.text(field).to_owned();
        Self { form, expression: Expression::compile_in(&text, environment), text }
    }

    fn evaluate(&self, session: &mut Session<'_>) -> Result<ComputedPatch, String> {
        let expression = self.expression.as_ref().map_err(|error| format!("compilation failed: {error}"))?;
        let mut budget = PolicyBudget::new(COST_OF_ONE_OBJECT);
        let evaluated = match self.form {
            PatchForm::ApplyConfiguration => budget
                .pay(session.apply_configuration(expression, COST_OF_ONE_EXPRESSION))
                .map(ComputedPatch::Configuration),
            PatchForm::JsonPatch => {
                budget.pay(session.json_patch(expression, COST_OF_ONE_EXPRESSION)).map(ComputedPatch::Operations)
            }
        };
        evaluated.map_err(|error| match error {
            Error::NotAPatch(why) => why,
            error if error == out_of_budget() => error.to_string(),
            error => format!("expression '{}' resulted in error: {error}", self.text),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn policy(spec: &Value) -> MutatingPolicy {
        MutatingPolicy::read(&Object::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap())
    }

    fn evaluated(spec: &Value, object: &Value) -> Vec<Result<ComputedPatch, String>> {
        let policy = policy(spec);
        let subject = PolicyVariables::of_object(object.clone());
        let evaluate = |at| policy.evaluate(at, &subject, &Value::Null, &Allowance::unlimited());
        (0..policy.len()).map(evaluate).collect()
    }

    #[test]
    fn mutations_use_the_variables_of_their_policy() {
        let spec = json!({
            "variables": [{"name": "n", "expression": "object.n + 1"}],
            "mutations": [
                {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{n: variables.n}"}},
                {"patchType": "JSONPatch", "jsonPatch": {
                    "expression": "[JSONPatch{op: 'add', path: '/n', value: variables.n}]"
                }}
            ]
        });
        let operation = json!({"op": "add", "path": "/n", "value": 4});
        let expected = [
            Ok(ComputedPatch::Configuration(json!({"n": 4}))),
            Ok(ComputedPatch::Operations(vec![operation.as_object().unwrap().clone()])),
        ];
        assert_eq!(evaluated(&spec, &json!({"n": 3})), expected);
    }

    #[test]
    fn an_error_names_the_expression_and_a_mismatch_does_not() {
        let mutation = |text: &str| {
            let spec = json!({"mutations": [
                {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}
            ]});
            evaluated(&spec, &json!({})).pop().unwrap().unwrap_err()
        };
        assert_eq!(
            mutation("Object{a: object.missing}"),
            "expression 'Object{a: object.missing}' resulted in error: no such key: missing"
        );
        assert!(mutation("Object{metadata: Object.spec{}}").starts_with("type mismatch: unexpected type name"));
        let text = "Object{a: lists.range(1000).map(a, lists.range(1000).map(b, lists.range(1000))).size()}";
        assert!(mutation(text).contains("operation cancelled: actual cost limit exceeded"));
    }
}
