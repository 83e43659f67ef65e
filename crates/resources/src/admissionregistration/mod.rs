//! `admissionregistration.k8s.io/v1`.

mod match_rules;
mod webhook;

use coracle_meta::fields::{Fields, FieldsMut, edit_spec};
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{Generation, KindSpec, TableColumn};
use serde_json::{Value, json};

use crate::built_in::{SPEC_AND_METADATA, built_in};
use crate::checks::{Wrong, each_invalid, label_selector, one_of, required, required_one_of};

use match_rules::{wrong_conditions, wrong_match};

const GROUP: &str = "admissionregistration.k8s.io";

/// `mutatingwebhookconfigurations`.
pub(crate) fn mutating_webhook_configuration() -> KindSpec {
    webhooks("mutatingwebhookconfigurations")
}

/// `validatingwebhookconfigurations`.
pub(crate) fn validating_webhook_configuration() -> KindSpec {
    webhooks("validatingwebhookconfigurations")
}

/// `validatingadmissionpolicies`.
pub(crate) fn validating_admission_policy() -> KindSpec {
    KindSpec {
        set_defaults: |object| edit_spec(object, |spec| spec.fill("matchConstraints", json!({}))),
        validate: wrong_policy,
        kept_by_status: SPEC_AND_METADATA,
        columns: policy_columns(),
        takes_any_finalizer: true,
        ..built_in(GROUP, "v1", "validatingadmissionpolicies")
    }
}

/// `validatingadmissionpolicybindings`.
pub(crate) fn validating_admission_policy_binding() -> KindSpec {
    KindSpec {
        validate: wrong_binding,
        columns: binding_columns(),
        takes_any_finalizer: true,
        ..built_in(GROUP, "v1", "validatingadmissionpolicybindings")
    }
}

fn webhooks(plural: &str) -> KindSpec {
    KindSpec {
        generation: Generation::Fields(&["webhooks"]),
        validate: webhook::wrong_webhooks,
        columns: webhook_columns(),
        takes_any_finalizer: true,
        ..built_in(GROUP, "v1", plural)
    }
}

fn webhook_columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::integer(
            "Webhooks",
            "Webhooks indicates the number of webhooks registered in this configuration",
            |object| object.list("webhooks").len().into(),
        ),
        TableColumn::age(),
    ]
}

fn policy_columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::integer(
            "Validations",
            "Validations indicates the number of validation rules defined in this configuration",
            |object| object.list("spec.validations").len().into(),
        ),
        TableColumn::text(
            "ParamKind",
            "ParamKind specifies the kind of resources used to parameterize this policy",
            |object| parameter_kind(object).into(),
        ),
        TableColumn::age(),
    ]
}

fn parameter_kind(object: &Object) -> String {
    match object.at("spec.paramKind") {
        Value::Null => "<unset>".to_owned(),
        kind => format!("{}/{}", kind.text("apiVersion"), kind.text("kind")),
    }
}

fn binding_columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "PolicyName",
            "PolicyName indicates the policy definition which the policy binding binded to",
            |object| object.text(&["spec", "policyName"]).into(),
        ),
        TableColumn::text(
            "ParamRef",
            "ParamRef indicates the param resource which sets the configuration param",
            |object| parameter(object).into(),
        ),
        TableColumn::age(),
    ]
}

fn parameter(object: &Object) -> String {
    let parameter = object.at("spec.paramRef");
    match (parameter.text("name"), parameter.text("namespace")) {
        ("", _) => "<unset>".to_owned(),
        // Whether the parameter lives in a namespace cannot be told from here.
        (name, "") => format!("*/{name}"),
        (name, namespace) => format!("{namespace}/{name}"),
    }
}

/// In Kubernetes: `validateValidatingAdmissionPolicySpec`. Expressions are compiled by the plug-in that asks them.
fn wrong_policy(object: &Object) -> Wrong {
    let spec = object.at("spec");
    let mut wrong = one_of(spec, "failurePolicy", "spec", &["Fail", "Ignore"]);
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
        // The defaults alone are as good as nothing.
        let says_nothing = is_empty("namespaceSelector") && is_empty("objectSelector");
        let missing = if says_nothing { path.to_owned() } else { format!("{path}.resourceRules") };
        wrong.push(FieldError::required(missing, ""));
    }
    wrong.extend(wrong_match(constraints, path));
    for (at, validation) in spec.list("validations").iter().enumerate() {
        if validation.text("expression").trim().is_empty() {
            let path = format!("spec.validations[{at}].expression");
            wrong.push(FieldError::required(path, "expression is not specified"));
        }
        if validation.has("reason") {
            let known = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
            wrong.extend(one_of(validation, "reason", &format!("spec.validations[{at}]"), &known));
        }
    }
    wrong.extend(wrong_conditions(spec.list("matchConditions"), "spec.matchConditions"));
    wrong
}

/// In Kubernetes: `validateValidatingAdmissionPolicyBindingSpec`.
fn wrong_binding(object: &Object) -> Wrong {
    let spec = object.at("spec");
    let mut wrong = required(spec, "policyName", "spec");
    let policy = spec.text("policyName");
    if !policy.is_empty() {
        wrong.extend(each_invalid("spec.policyName", policy, names::dns1123_subdomain(policy)));
    }
    wrong.extend(wrong_parameter(spec.at("paramRef")));
    let actions = spec.list("validationActions");
    if actions.is_empty() {
        wrong.push(FieldError::required("spec.validationActions", "at least one validation action is required"));
    }
    for (at, action) in actions.iter().enumerate() {
        let path = format!("spec.validationActions[{at}]");
        if !["Audit", "Deny", "Warn"].iter().any(|known| known == action) {
            wrong.push(FieldError::not_supported(&path, action.clone(), &["Audit", "Deny", "Warn"]));
        }
        if actions[..at].contains(action) {
            wrong.push(FieldError::duplicate(path, action.clone()));
        }
    }
    let has = |action: &str| actions.iter().any(|own| own == action);
    if has("Deny") && has("Warn") {
        let what = "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
        wrong.push(FieldError::invalid("spec.validationActions", actions, what));
    }
    if spec.has("matchResources") {
        wrong.extend(wrong_match(spec.at("matchResources"), "spec.matchResources"));
    }
    wrong
}

/// In Kubernetes: `validateParamRef`.
fn wrong_parameter(parameter: &Value) -> Wrong {
    const EITHER: &str = "name and selector are mutually exclusive";
    if parameter.is_null() {
        return Wrong::new();
    }
    let mut wrong = Wrong::new();
    let (name, has_selector) = (parameter.text("name"), parameter.has("selector"));
    if !name.is_empty() {
        wrong.extend(each_invalid("spec.paramRef.name", name, names::path_segment(name)));
    }
    wrong.extend(label_selector(parameter.at("selector"), "spec.paramRef.selector"));
    match (name.is_empty(), has_selector) {
        (true, false) => wrong.push(FieldError::required("spec.paramRef", "one of name or selector must be specified")),
        (false, true) => {
            for field in ["spec.paramRef.name", "spec.paramRef.selector"] {
                wrong.push(FieldError::forbidden(field, EITHER));
            }
        }
        _ => {}
    }
    wrong.extend(required_one_of(parameter, "parameterNotFoundAction", "spec.paramRef", &["Deny", "Allow"]));
    wrong
}
