use coracle_meta::{FieldError, names};
use serde_json::Value;

use super::definition::{Names, list};

/// The names that a definition must have.
pub(super) fn check_required_names(names: &Names, errors: &mut Vec<FieldError>) {
    let required = [
        ("plural", &names.plural),
        ("singular", &names.singular),
        ("kind", &names.kind),
        ("listKind", &names.list_kind),
    ];
    for (field, _) in required.into_iter().filter(|(_, name)| name.is_empty()) {
        errors.push(FieldError::required(format!("spec.names.{field}"), ""));
    }
}

/// The errors of existing names. In Kubernetes: `ValidateCustomResourceDefinitionNames`.
pub(super) fn check_names(found: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let text = |field: &str| found.get(field).and_then(Value::as_str).unwrap_or("");
    for field in ["plural", "singular"] {
        let wrong = names::dns1035_label(text(field));
        if !text(field).is_empty() && !wrong.is_empty() {
            errors.push(FieldError::invalid(format!("{path}.{field}"), text(field), wrong.join(",")));
        }
    }
    for field in ["kind", "listKind"] {
        let wrong = names::dns1035_label(&text(field).to_lowercase());
        if !text(field).is_empty() && !wrong.is_empty() {
            let what = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
            errors.push(FieldError::invalid(format!("{path}.{field}"), text(field), what));
        }
    }
    check_words(found, "shortNames", path, errors);
    if !text("kind").is_empty() && text("kind") == text("listKind") {
        let what = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(format!("{path}.listKind"), text("listKind"), what));
    }
    check_words(found, "categories", path, errors);
}

fn check_words(found: &Value, field: &str, path: &str, errors: &mut Vec<FieldError>) {
    for (at, word) in list(found, &format!("/{field}")).iter().enumerate() {
        let word = word.as_str().unwrap_or("");
        let wrong = names::dns1035_label(word);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(format!("{path}.{field}[{at}]"), word, wrong.join(",")));
        }
    }
}
