use std::sync::Arc;

use coracle_expression::{Variables, namespace_schema, request_schema};
use coracle_meta::Object;
use coracle_registry::Review;
use serde_json::Value;

use crate::authorization::Answers;
use crate::shown::Shown;

/// The variables of a policy's expressions for one request. Copies share the values.
#[derive(Clone)]
pub(crate) struct PolicyVariables {
    /// Match conditions do not see the namespace.
    of_conditions: Variables<'static>,
    of_rules: Variables<'static>,
}

impl PolicyVariables {
    pub(crate) fn new(review: &Review<'_>, shown: Shown, namespace: Option<&Object>, answers: &Arc<Answers>) -> Self {
        let mut variables = Variables::default();
        variables.set_owned("object", shown.object);
        variables.set_owned("oldObject", shown.old);
        variables.set_owned_typed("request", shown.request, request_schema());
        answers.show(review, &mut variables);
        // A Namespace is in no namespace.
        let namespace = namespace.filter(|_| !review.is_about_any_part("", "namespaces"));
        Self::with_namespace(variables, namespace.map_or(Value::Null, Object::to_value))
    }

    fn with_namespace(variables: Variables<'static>, namespace: Value) -> Self {
        let with = |namespace: Value| {
            let mut variables = variables.clone();
            variables.set_owned_typed("namespaceObject", namespace, namespace_schema());
            variables
        };
        Self { of_conditions: with(Value::Null), of_rules: with(namespace) }
    }

    #[cfg(test)]
    pub(crate) fn of_object(object: Value) -> Self {
        let mut variables = Variables::default();
        variables.set_owned("object", object);
        Self::with_namespace(variables, Value::Null)
    }

    /// Replaces the object, which a mutation has changed.
    pub(crate) fn set_object(&mut self, object: Value) {
        self.of_rules.set_owned("object", object);
    }

    /// The variables of match conditions.
    pub(super) fn for_conditions(&self, parameters: &Value) -> Variables<'static> {
        let mut variables = self.of_conditions.clone();
        variables.set_owned("params", parameters.clone());
        variables
    }

    /// The variables of all other expressions, without those of the policy.
    pub(super) fn for_rules(&self, parameters: &Value) -> Variables<'static> {
        let mut variables = self.of_rules.clone();
        variables.set_owned("params", parameters.clone());
        variables
    }
}
