use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, JsonKey, Object, names};
use coracle_registry::{KindSpec, TableColumn};
use serde_json::Value;

use super::GROUP;
use super::match_rules::wrong_match;
use crate::built_in::built_in;
use crate::field_checks::{Wrong, each_invalid, label_selector, required, required_one_of};

/// `validatingadmissionpolicybindings`.
pub(crate) fn kind() -> KindSpec {
    KindSpec {
        validate: wrong,
        columns: columns(),
        takes_any_finalizer: true,
        ..built_in(GROUP, "v1", "validatingadmissionpolicybindings")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "PolicyName",
            "PolicyName indicates the policy definition which the policy binding binded to",
            |object| object.text("spec.policyName").into(),
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
        // Whether the parameter is namespaced is unknown here.
        (name, "") => format!("*/{name}"),
        (name, namespace) => format!("{namespace}/{name}"),
    }
}

/// In Kubernetes: `validateValidatingAdmissionPolicyBindingSpec`.
fn wrong(object: &Object) -> Wrong {
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
    let mut seen = BTreeSet::new();
    for (at, action) in actions.iter().enumerate() {
        let path = format!("spec.validationActions[{at}]");
        if !["Audit", "Deny", "Warn"].iter().any(|known| known == action) {
            wrong.push(FieldError::not_supported(&path, action.clone(), &["Audit", "Deny", "Warn"]));
        }
        if !seen.insert(JsonKey(action)) {
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
