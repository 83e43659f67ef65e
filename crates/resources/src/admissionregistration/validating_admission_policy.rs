use coracle_expression::Type;
use coracle_meta::fields::{Fields, FieldsMut, edit_spec};
use coracle_meta::{FieldError, Object};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::{Value, json};

use super::GROUP;
use super::expressions::wrong_expression;
use super::match_rules::{wrong_conditions, wrong_match};
use super::policy_parts::{Environments, checked_variables, columns, wrong_parameter_kind, wrong_text};
use super::reserved_names;
use crate::built_in::{SPEC_AND_METADATA, built_in};
use crate::conditions;
use crate::field_checks::{Wrong, one_of};

/// `validatingadmissionpolicies`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, _| edit_spec(object, |spec| spec.fill("matchConstraints", json!({}))),
        validate: |object, _| wrong(object),
        validate_status: |new, _, release| wrong_status(new.at("status"), release),
        reset_by_status: SPEC_AND_METADATA,
        columns: columns(rule_count()),
        takes_any_finalizer: true,
        validate_create: reserved_names::wrong_name,
        warnings: reserved_names::warnings,
        ..built_in(release, GROUP, "v1", "validatingadmissionpolicies")
    }
}

/// In Kubernetes: `validateValidatingAdmissionPolicyStatus`, without the syntax of `fieldRef`.
fn wrong_status(status: &Value, release: &Release) -> Wrong {
    let mut wrong = Wrong::new();
    for (at, warning) in status.list("typeChecking.expressionWarnings").iter().enumerate() {
        let path = |field: &str| format!("status.typeChecking.expressionWarnings[{at}].{field}");
        for field in ["warning", "fieldRef"] {
            let text = warning.text(field);
            if text.is_empty() || field == "fieldRef" && text.trim().is_empty() {
                wrong.push(FieldError::required(path(field), ""));
            }
        }
    }
    wrong.extend(conditions::wrong_conditions(status.list("conditions"), "status.conditions", release));
    wrong
}

/// The column that counts the rules.
fn rule_count() -> TableColumn {
    let what = "Validations indicates the number of validation rules defined in this configuration";
    TableColumn::integer("Validations", what, |object| object.list("spec.validations").len().into())
}

/// In Kubernetes: `validateValidatingAdmissionPolicySpec`.
fn wrong(object: &Object) -> Wrong {
    let spec = object.at("spec");
    let mut wrong = one_of(spec, "failurePolicy", "spec", &["Fail", "Ignore"]);
    wrong.extend(wrong_parameter_kind(spec.at("paramKind")));
    if spec.list("validations").is_empty() && spec.list("auditAnnotations").is_empty() {
        let what = "validations or auditAnnotations must contain at least one item";
        for field in ["spec.validations", "spec.auditAnnotations"] {
            wrong.push(FieldError::required(field, what));
        }
    }
    let constraints = spec.at("matchConstraints");
    let path = "spec.matchConstraints";
    let is_empty = |field: &str| constraints.at(field).as_object().is_none_or(|tree| tree.is_empty());
    if constraints.list("resourceRules").is_empty() {
        // Defaults alone count as empty.
        let says_nothing = is_empty("namespaceSelector") && is_empty("objectSelector");
        let missing = if says_nothing { path.to_owned() } else { format!("{path}.resourceRules") };
        wrong.push(FieldError::required(missing, ""));
    }
    wrong.extend(wrong_match(constraints, path));
    let (wrong_variables, Environments { full: environment, for_messages }) = checked_variables(spec);
    wrong.extend(wrong_variables);
    for (at, validation) in spec.list("validations").iter().enumerate() {
        let path = format!("spec.validations[{at}]");
        let text = validation.text("expression");
        wrong.extend(wrong_text(text, &environment, &[Type::Bool], format!("{path}.expression")));
        let (message, path) = (validation.text("messageExpression"), format!("{path}.messageExpression"));
        if !message.is_empty() && message.trim().is_empty() {
            wrong.push(FieldError::invalid(path, message, "must be non-empty if specified"));
        } else if !message.is_empty() {
            wrong.extend(wrong_expression(message, &for_messages, &[Type::String], path));
        }
        if validation.has("reason") {
            let known = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
            wrong.extend(one_of(validation, "reason", &format!("spec.validations[{at}]"), &known));
        }
    }
    for (at, annotation) in spec.list("auditAnnotations").iter().enumerate() {
        let text = annotation.text("valueExpression").trim();
        let path = format!("spec.auditAnnotations[{at}].valueExpression");
        if text.is_empty() {
            wrong.push(FieldError::required(path, "valueExpression is not specified"));
        } else {
            wrong.extend(wrong_expression(text, &environment, &[Type::String, Type::Null], path));
        }
    }
    wrong.extend(wrong_conditions(spec.list("matchConditions"), "spec.matchConditions", spec.has("paramKind")));
    wrong
}
