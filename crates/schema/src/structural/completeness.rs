use coracle_meta::FieldError;
use serde_json::Value;

use super::path::path_below;
use super::raw_schema::{self as raw, Raw};

/// Every value that a validation restricts must also be declared outside of validations.
/// In Kubernetes: `validateStructuralCompleteness`.
///
/// `validation` is at `path` and restricts `schema`, which is at `declared`.
pub(super) fn check(validation: &Value, schema: &Value, path: &str, declared: &str, errors: &mut Vec<FieldError>) {
    if let Some(not) = validation.key("not").filter(|not| not.is_object()) {
        check_nested(not, Some(schema), &format!("{path}.not"), declared, errors);
    }
    for (name, below, at) in raw::nested(validation) {
        check_nested(below, Some(schema), &format!("{path}.{name}[{at}]"), declared, errors);
    }
}

fn check_nested(validation: &Value, schema: Option<&Value>, path: &str, declared: &str, errors: &mut Vec<FieldError>) {
    let Some(schema) = schema else {
        errors.push(FieldError::required(declared, format!("because it is defined in {path}")));
        return;
    };
    check(validation, schema, path, declared, errors);
    if let Some(items) = validation.item_schema() {
        let of_items = format!("{declared}.items");
        check_nested(items, schema.item_schema(), &format!("{path}.items"), &of_items, errors);
    }
    for (name, below) in validation.fields("properties") {
        let of_field = format!("{declared}.properties[{name}]");
        let field = schema.key("properties").and_then(|properties| properties.get(name.as_str()));
        check_nested(below, field, &path_below(path, ".properties[", name, "]"), &of_field, errors);
    }
}
