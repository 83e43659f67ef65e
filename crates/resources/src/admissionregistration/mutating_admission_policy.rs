use coracle_expression::{Environment, Type};
use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use super::GROUP;
use super::expressions::wrong_expression;
use super::match_rules::{wrong_conditions, wrong_match, wrong_mutating_operations};
use super::policy_parts::{Environments, checked_variables, columns, wrong_parameter_kind};
use crate::built_in::built_in;
use crate::field_checks::{Wrong, one_of, required_one_of};

/// `mutatingadmissionpolicies`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        validate: |object, _| wrong(object),
        columns: columns(rule_count()),
        takes_any_finalizer: true,
        ..built_in(release, GROUP, "v1", "mutatingadmissionpolicies")
    }
}

/// The column that counts the rules.
fn rule_count() -> TableColumn {
    let what = "Mutation indicates the number of mutations rules defined in this configuration";
    TableColumn::integer("Mutations", what, |object| object.list("spec.mutations").len().into())
}

/// In Kubernetes: `validateMutatingAdmissionPolicySpec`.
fn wrong(object: &Object) -> Wrong {
    let spec = object.at("spec");
    let mut wrong = one_of(spec, "failurePolicy", "spec", &["Fail", "Ignore"]);
    wrong.extend(wrong_parameter_kind(spec.at("paramKind")));
    let (constraints, path) = (spec.at("matchConstraints"), "spec.matchConstraints");
    if constraints.is_null() {
        wrong.push(FieldError::required(path, ""));
    } else {
        wrong.extend(wrong_match(constraints, path));
        if constraints.list("resourceRules").is_empty() {
            wrong.push(FieldError::required(format!("{path}.resourceRules"), ""));
        }
        wrong.extend(wrong_mutating_operations(constraints, path));
    }
    wrong.extend(wrong_conditions(spec.list("matchConditions"), "spec.matchConditions", spec.has("paramKind")));
    let (wrong_variables, Environments { full, .. }) = checked_variables(spec);
    wrong.extend(wrong_variables);
    let environment = full.with_patch_types();
    let mutations = spec.list("mutations");
    if mutations.is_empty() {
        wrong.push(FieldError::required("spec.mutations", "mutations must contain at least one item"));
    }
    for (at, mutation) in mutations.iter().enumerate() {
        wrong.extend(wrong_mutation(mutation, &environment, &format!("spec.mutations[{at}]")));
    }
    wrong.extend(required_one_of(spec, "reinvocationPolicy", "spec", &["IfNeeded", "Never"]));
    wrong
}

/// The two types of patches: the word of each, its field, and the other field.
const PATCHES: [[&str; 3]; 2] =
    [["ApplyConfiguration", "applyConfiguration", "jsonPatch"], ["JSONPatch", "jsonPatch", "applyConfiguration"]];

/// In Kubernetes: `validateMutation`.
fn wrong_mutation(mutation: &Value, environment: &Environment, path: &str) -> Wrong {
    let mut wrong = required_one_of(mutation, "patchType", path, &["ApplyConfiguration", "JSONPatch"]);
    let Some([word, own, other]) = PATCHES.iter().find(|[word, ..]| *word == mutation.text("patchType")) else {
        return wrong;
    };
    if mutation.has(own) {
        let result = if *word == "JSONPatch" { Type::json_patch() } else { Type::apply_configuration() };
        let (text, path) = (mutation.at(own).text("expression").trim(), format!("{path}.{own}.expression"));
        if text.is_empty() {
            wrong.push(FieldError::required(path, ""));
        } else {
            wrong.extend(wrong_expression(text, environment, &[result], path));
        }
    } else {
        let what = format!("must be specified when patchType is {word}");
        wrong.push(FieldError::required(format!("{path}.{own}"), what));
    }
    if mutation.has(other) {
        let what = format!("must not be specified when patchType is {word}");
        wrong.push(FieldError::invalid(format!("{path}.{other}"), format!("{{{other}}}"), what));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(spec: Value) -> Vec<String> {
        wrong(&Object::from_value(json!({"spec": spec})).unwrap()).iter().map(FieldError::message).collect()
    }

    fn of_mutation(mutation: Value) -> Vec<String> {
        let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]});
        messages(json!({
            "failurePolicy": "Fail", "reinvocationPolicy": "Never", "mutations": [mutation],
            "matchConstraints": {"matchPolicy": "Exact", "resourceRules": [rule]}
        }))
    }

    #[test]
    fn a_policy_has_constraints_mutations_and_a_reinvocation_policy() {
        assert_eq!(
            messages(json!({"failurePolicy": "Fail"})),
            [
                "spec.matchConstraints: Required value",
                "spec.mutations: Required value: mutations must contain at least one item",
                "spec.reinvocationPolicy: Required value",
            ]
        );
    }

    #[test]
    fn a_mutation_has_the_patch_of_its_type_alone() {
        let good = json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}});
        assert!(of_mutation(good).is_empty());
        let path = "spec.mutations[0]";
        assert_eq!(of_mutation(json!({})), [format!("{path}.patchType: Required value")]);
        assert_eq!(
            of_mutation(json!({"patchType": "JSONPatch", "applyConfiguration": {"expression": "Object{}"}})),
            [
                format!("{path}.jsonPatch: Required value: must be specified when patchType is JSONPatch"),
                format!(
                    "{path}.applyConfiguration: Invalid value: \"{{applyConfiguration}}\": \
                     must not be specified when patchType is JSONPatch"
                ),
            ]
        );
    }

    #[test]
    fn an_expression_has_the_type_of_its_patch() {
        let wrong =
            |word: &str, field: &str, text: &str| of_mutation(json!({"patchType": word, field: {"expression": text}}));
        let path = "spec.mutations[0]";
        assert_eq!(
            wrong("ApplyConfiguration", "applyConfiguration", " 'text' "),
            [format!(
                "{path}.applyConfiguration.expression: Invalid value: \"'text'\": must evaluate to Object but got string"
            )]
        );
        assert_eq!(
            wrong("JSONPatch", "jsonPatch", "JSONPatch{}"),
            [format!(
                "{path}.jsonPatch.expression: Invalid value: \"JSONPatch{{}}\": \
                 must evaluate to list(JSONPatch) but got JSONPatch"
            )]
        );
        assert_eq!(wrong("JSONPatch", "jsonPatch", " "), [format!("{path}.jsonPatch.expression: Required value")]);
    }
}
