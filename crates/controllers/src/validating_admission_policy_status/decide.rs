use std::collections::BTreeSet;
use std::sync::Arc;

use coracle_api::admissionregistration_v1::{NamedRuleWithOperations, ValidatingAdmissionPolicy};
use coracle_client::ApiResource;
use coracle_expression::{
    Environment, Error, Expression, Schema, Type, namespace_schema, request_schema, with_computed,
    with_one_more_computed,
};
use coracle_meta::{GroupVersion, GroupVersionKind};

/// The maximum number of kinds that a policy is checked for.
const MOST_KINDS: usize = 10;

/// The kinds that a policy's rules match, as far as they name them. In Kubernetes: `TypeChecker.typesToCheck`.
pub(super) fn kinds(policy: &ValidatingAdmissionPolicy, served: &[ApiResource]) -> Vec<GroupVersionKind> {
    let rules = policy.spec.match_constraints.iter().flat_map(|constraints| &constraints.resource_rules);
    let mut kinds = BTreeSet::new();
    for rule in rules {
        let found = of_rule(rule, served);
        let is_full = found.len() == MOST_KINDS;
        kinds.extend(found);
        if is_full {
            break;
        }
    }
    kinds.into_iter().collect()
}

fn of_rule(rule: &NamedRuleWithOperations, served: &[ApiResource]) -> Vec<GroupVersionKind> {
    let is_open = |words: &[String]| words.iter().any(|word| word.contains('*'));
    if is_open(&rule.api_groups) || is_open(&rule.api_versions) {
        return Vec::new();
    }
    let is_meant = |one: &&ApiResource| {
        rule.api_groups.contains(&one.resource.group)
            && rule.api_versions.contains(&one.resource.version)
            && rule.resources.contains(&one.resource.resource)
    };
    let mut found: Vec<&ApiResource> = served.iter().filter(is_meant).collect();
    found.sort_by_key(|one| &one.resource);
    found.into_iter().take(MOST_KINDS).map(|one| one.kind.clone()).collect()
}

/// The kind of a policy's parameters.
pub(super) fn parameter_kind(policy: &ValidatingAdmissionPolicy) -> Option<GroupVersionKind> {
    let kind = policy.spec.param_kind.as_ref()?;
    Some(GroupVersion::parse(&kind.api_version)?.kind(&kind.kind))
}

/// Type errors in the expressions of a policy, by field. In Kubernetes: `TypeChecker.Check`.
pub(super) fn warnings(
    policy: &ValidatingAdmissionPolicy,
    types: &[(GroupVersionKind, Arc<Schema>)],
    parameters: Option<&Arc<Schema>>,
) -> Vec<(String, String)> {
    let environments: Vec<_> =
        types.iter().map(|(kind, schema)| (kind, environment(policy, schema, parameters))).collect();
    let check = |text: &str| -> String {
        let wrong = environments.iter().filter_map(|(kind, environment)| {
            let report = match Expression::compile_in(text, environment) {
                Err(Error::Refused(report)) => report,
                _ => return None,
            };
            Some(format!("{}/{}, Kind={}: {report}\n", kind.group, kind.version, kind.kind))
        });
        wrong.collect::<Vec<_>>().join("\n")
    };
    let mut warnings = Vec::new();
    for (at, validation) in policy.spec.validations.iter().enumerate() {
        let message = validation.message_expression.as_str();
        for (field, text) in [("expression", validation.expression.as_str()), ("messageExpression", message)] {
            let warning = if text.is_empty() { String::new() } else { check(text) };
            if !warning.is_empty() {
                warnings.push((format!("spec.validations[{at}].{field}"), warning));
            }
        }
    }
    warnings
}

/// The variables that expressions see for an object of a kind.
fn environment(
    policy: &ValidatingAdmissionPolicy,
    object: &Arc<Schema>,
    parameters: Option<&Arc<Schema>>,
) -> Environment {
    let mut environment = Environment::new()
        .with("object", object.as_type())
        .with("oldObject", object.as_type())
        .with("namespaceObject", namespace_schema().as_type())
        .with("request", request_schema().as_type())
        .with("authorizer", Type::Named("kubernetes.authorization.Authorizer"))
        .with("authorizer.requestResource", Type::Named("kubernetes.authorization.ResourceCheck"));
    if let Some(parameters) = parameters {
        environment = environment.with("params", parameters.as_type());
    }
    let mut environment = with_computed(environment, &[]);
    for variable in &policy.spec.variables {
        let expression = Expression::compile_in(&variable.expression, &environment);
        let of = expression.map_or(Type::Dyn, |expression| expression.output_type().clone());
        environment = with_one_more_computed(environment, &variable.name, &of);
    }
    environment
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validating_admission_policy_status::schemas::schema_in;
    use coracle_meta::{GroupVersionResource, Scope};
    use serde_json::{Value, json};

    fn policy(spec: Value) -> ValidatingAdmissionPolicy {
        serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap()
    }

    fn served(plural: &str, kind: &str) -> ApiResource {
        ApiResource {
            resource: GroupVersionResource::new("apps", "v1", plural),
            kind: GroupVersionKind::new("apps", "v1", kind),
            scope: Scope::Namespaced,
            verbs: Vec::new(),
            subresources: Vec::new(),
            preferred: true,
        }
    }

    fn rule(groups: &[&str], resources: &[&str]) -> Value {
        json!({"apiGroups": groups, "apiVersions": ["v1"], "operations": ["*"], "resources": resources})
    }

    #[test]
    fn only_kinds_that_are_named_are_checked() {
        let all = [served("deployments", "Deployment"), served("daemonsets", "DaemonSet")];
        let of = |rule: Value| {
            let kinds = kinds(&policy(json!({"matchConstraints": {"resourceRules": [rule]}})), &all);
            kinds.iter().map(|kind| kind.kind.clone()).collect::<Vec<_>>()
        };
        assert_eq!(of(rule(&["apps"], &["deployments", "daemonsets/status", "*"])), ["Deployment"]);
        assert_eq!(of(rule(&["apps"], &["deployments", "daemonsets"])), ["DaemonSet", "Deployment"]);
        assert!(of(rule(&["*"], &["deployments"])).is_empty());
    }

    #[test]
    fn an_undefined_field_of_a_kind_is_reported() {
        let kind = GroupVersionKind::new("apps", "v1", "Deployment");
        let document = json!({"components": {"schemas": {"d": {
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}}},
            "x-kubernetes-group-version-kind": [{"group": "apps", "version": "v1", "kind": "Deployment"}]
        }}}});
        let schema = Arc::new(schema_in(&document, &kind).unwrap());
        let policy = policy(json!({
            "variables": [{"name": "n", "expression": "object.spec.replicas"}],
            "validations": [
                {"expression": "variables.n > 1", "messageExpression": "'n: ' + variables.n"},
                {"expression": "object.spec.replicaz > 1"},
                {"expression": "params.x == 1"}
            ]
        }));
        let found = warnings(&policy, &[(kind, schema)], None);
        let fields: Vec<_> = found.iter().map(|(field, _)| field.as_str()).collect();
        let expected = [
            "spec.validations[0].messageExpression",
            "spec.validations[1].expression",
            "spec.validations[2].expression",
        ];
        assert_eq!(fields, expected);
        let text = "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replicaz'\n | object.spec.replicaz > 1\n | ...........^\n";
        assert_eq!(found[1].1, text);
    }
}
