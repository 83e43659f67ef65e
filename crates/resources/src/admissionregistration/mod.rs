//! `admissionregistration.k8s.io/v1`.

mod match_rules;
mod webhook;

use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, Object, names};
use coracle_registry::Generation;
use serde_json::{Value, json};

use crate::cells::age;
use crate::checks::{Wrong, each_invalid, label_selector, one_of, required, required_one_of};
use crate::columns;
use crate::rules::{BY_SPEC, Rules, SPEC_AND_METADATA};
use coracle_meta::fields::{Fields, FieldsMut, edit_spec};

use match_rules::{wrong_conditions, wrong_match};

const GROUP: &str = "admissionregistration.k8s.io";

/// `mutatingwebhookconfigurations`.
pub(crate) const MUTATING_WEBHOOK_CONFIGURATION: Rules = webhooks("mutatingwebhookconfigurations");

/// `validatingwebhookconfigurations`.
pub(crate) const VALIDATING_WEBHOOK_CONFIGURATION: Rules = webhooks("validatingwebhookconfigurations");

/// `validatingadmissionpolicies`.
pub(crate) const VALIDATING_ADMISSION_POLICY: Rules = Rules {
    set_defaults: |object| edit_spec(object, |spec| spec.fill("matchConstraints", json!({}))),
    generation: BY_SPEC,
    validate: wrong_policy,
    kept_by_status: SPEC_AND_METADATA,
    columns: columns::VALIDATING_ADMISSION_POLICY,
    cells: policy_cells,
    ..Rules::of(GROUP, "v1", "validatingadmissionpolicies")
};

/// `validatingadmissionpolicybindings`.
pub(crate) const VALIDATING_ADMISSION_POLICY_BINDING: Rules = Rules {
    generation: BY_SPEC,
    validate: wrong_binding,
    columns: columns::VALIDATING_ADMISSION_POLICY_BINDING,
    cells: binding_cells,
    ..Rules::of(GROUP, "v1", "validatingadmissionpolicybindings")
};

const fn webhooks(plural: &'static str) -> Rules {
    Rules {
        generation: Generation::Fields(&["webhooks"]),
        validate: webhook::wrong_webhooks,
        columns: columns::WEBHOOK_CONFIGURATION,
        cells: |object: &Object, now: Timestamp| -> Vec<Value> {
            vec![object.name().into(), object.list("webhooks").len().into(), age(object, now)]
        },
        ..Rules::of(GROUP, "v1", plural)
    }
}

fn policy_cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let kind = object.at("spec.paramKind");
    let kind = match kind {
        Value::Null => "<unset>".to_owned(),
        kind => format!("{}/{}", kind.text("apiVersion"), kind.text("kind")),
    };
    vec![object.name().into(), object.list("spec.validations").len().into(), kind.into(), age(object, now)]
}

fn binding_cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let parameter = object.at("spec.paramRef");
    let parameter = match (parameter.text("name"), parameter.text("namespace")) {
        ("", _) => "<unset>".to_owned(),
        // Whether the parameter lives in a namespace cannot be told from here.
        (name, "") => format!("*/{name}"),
        (name, namespace) => format!("{namespace}/{name}"),
    };
    vec![object.name().into(), object.text(&["spec", "policyName"]).into(), parameter.into(), age(object, now)]
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
