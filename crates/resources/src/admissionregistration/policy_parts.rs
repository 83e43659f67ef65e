//! What validating and mutating policies have in common.

use coracle_expression::{Environment, Expression, Type, admission_environment, with_one_more_computed};
use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names};
use coracle_registry::TableColumn;
use serde_json::Value;

use super::expressions::wrong_expression;
use crate::field_checks::Wrong;

/// The columns of a kind of policies, of which one counts its rules.
pub(super) fn columns(count: TableColumn) -> Vec<TableColumn> {
    let parameter_kind = TableColumn::text(
        "ParamKind",
        "ParamKind specifies the kind of resources used to parameterize this policy",
        |object| parameter_kind(object).into(),
    );
    vec![TableColumn::name(), count, parameter_kind, TableColumn::age()]
}

fn parameter_kind(object: &Object) -> String {
    match object.at("spec.paramKind") {
        Value::Null => "<unset>".to_owned(),
        kind => format!("{}/{}", kind.text("apiVersion"), kind.text("kind")),
    }
}

/// The environments of a policy's expressions, with its variables.
pub(super) struct Environments {
    pub(super) full: Environment,
    /// Without an authorizer.
    pub(super) for_messages: Environment,
}

/// The errors of `spec.variables`, and the environments of the other expressions.
/// In Kubernetes: `validateVariable`.
pub(super) fn checked_variables(spec: &Value) -> (Wrong, Environments) {
    let has_parameters = spec.has("paramKind");
    let mut full = admission_environment(has_parameters, true, Some(&[]));
    let mut for_messages = admission_environment(has_parameters, false, Some(&[]));
    let mut wrong = Wrong::new();
    for (at, variable) in spec.list("variables").iter().enumerate() {
        let (name, text) = (variable.text("name"), variable.text("expression"));
        let path = |field: &str| format!("spec.variables[{at}].{field}");
        if name.trim().is_empty() {
            wrong.push(FieldError::required(path("name"), "name is not specified"));
        } else if !is_identifier(name) {
            wrong.push(FieldError::invalid(path("name"), name, "must be a valid CEL identifier"));
        }
        wrong.extend(wrong_text(text, &full, &[], path("expression")));
        let of = Expression::compile_in(text, &full).map_or(Type::Dyn, |expression| expression.output_type().clone());
        full = with_one_more_computed(full, name, &of);
        for_messages = with_one_more_computed(for_messages, name, &of);
    }
    (wrong, Environments { full, for_messages })
}

/// Words that are no names in CEL. In Kubernetes: `celReserved`.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Whether a text is a name in CEL. In Kubernetes: `isCELIdentifier`.
fn is_identifier(name: &str) -> bool {
    let is_sign = |sign: char| sign == '_' || sign.is_ascii_alphanumeric();
    name.chars().all(is_sign) && !name.starts_with(|sign: char| sign.is_ascii_digit()) && !RESERVED.contains(&name)
}

/// The errors of `spec.paramKind`. In Kubernetes: `validateParamKind`.
pub(super) fn wrong_parameter_kind(kind: &Value) -> Wrong {
    let mut wrong = Wrong::new();
    if kind.is_null() {
        return wrong;
    }
    wrong.extend(wrong_api_version(kind.text("apiVersion"), "spec.paramKind.apiVersion"));
    let (name, path) = (kind.text("kind"), "spec.paramKind.kind");
    if name.is_empty() {
        wrong.push(FieldError::required(path, ""));
    } else {
        let sentences = names::dns1035_label(&name.to_lowercase());
        if !sentences.is_empty() {
            let what = format!("may have mixed case, but should otherwise match: {}", sentences.join(","));
            wrong.push(FieldError::invalid(path, name, what));
        }
    }
    wrong
}

fn wrong_api_version(api_version: &str, path: &str) -> Wrong {
    if api_version.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let (group, version) = match api_version.matches('/').count() {
        _ if api_version == "/" => ("", ""),
        0 => ("", api_version),
        1 => api_version.split_once('/').unwrap_or_default(),
        _ => {
            let what = format!("unexpected GroupVersion string: {api_version}");
            return vec![FieldError::invalid(path, api_version, what)];
        }
    };
    let mut wrong = Wrong::new();
    let sentences = if group.is_empty() { Vec::new() } else { names::dns1123_subdomain(group) };
    if !sentences.is_empty() {
        wrong.push(FieldError::invalid(path, group, sentences.join(",")));
    }
    if version.is_empty() {
        wrong.push(FieldError::invalid(path, api_version, "version must be specified"));
    } else {
        let sentences = names::dns1035_label(version);
        if !sentences.is_empty() {
            wrong.push(FieldError::invalid(path, version, sentences.join(",")));
        }
    }
    wrong
}

/// The errors of a required expression.
pub(super) fn wrong_text(text: &str, environment: &Environment, types: &[Type], path: String) -> Option<FieldError> {
    if text.trim().is_empty() {
        return Some(FieldError::required(path, "expression is not specified"));
    }
    wrong_expression(text, environment, types, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(wrong: Wrong) -> Vec<String> {
        wrong.iter().map(FieldError::message).collect()
    }

    #[test]
    fn a_variable_has_a_name_of_the_language() {
        let variables =
            |name: &str| messages(checked_variables(&json!({"variables": [{"name": name, "expression": "true"}]})).0);
        assert!(variables("_a1").is_empty());
        for name in ["1a", "a-b", "for"] {
            let expected = format!("spec.variables[0].name: Invalid value: {name:?}: must be a valid CEL identifier");
            assert_eq!(variables(name), [expected]);
        }
        assert_eq!(variables(" "), ["spec.variables[0].name: Required value: name is not specified"]);
    }

    #[test]
    fn the_kind_of_parameters_has_a_group_and_a_version() {
        let wrong =
            |version: &str, kind: &str| messages(wrong_parameter_kind(&json!({"apiVersion": version, "kind": kind})));
        assert!(wrong("v1", "ConfigMap").is_empty());
        assert!(wrong("example.com/v1", "Limit").is_empty());
        assert_eq!(wrong("", ""), ["spec.paramKind.apiVersion: Required value", "spec.paramKind.kind: Required value"]);
        let path = "spec.paramKind.apiVersion: Invalid value";
        assert_eq!(wrong("a/b/c", "A"), [format!("{path}: \"a/b/c\": unexpected GroupVersion string: a/b/c")]);
        assert_eq!(wrong("a/", "A"), [format!("{path}: \"a/\": version must be specified")]);
        assert!(wrong("v1", "x y")[0].contains("may have mixed case, but should otherwise match: "));
    }
}
