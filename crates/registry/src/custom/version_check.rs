use std::collections::BTreeSet;

use coracle_expression::Allowance;
use coracle_meta::FieldError;
use coracle_schema::structural::{SchemaErrors, Structural, ValueType};
use serde_json::Value;

use super::definition::list;
use super::field_path;
use super::go_schema;
use super::rule_check::check_rules;
use super::rules::ValidationRules;

/// The maximum number of selectable fields of a version.
const MOST_SELECTABLE: usize = 8;
const COLUMN_TYPES: &str = "boolean,date,integer,number,string";
const COLUMN_FORMATS: &str = "byte,date,date-time,double,float,int32,int64,password";

/// The errors of the warning of a version. In Kubernetes: `validateDeprecationWarning`.
pub(super) fn deprecation_problem(version: &Value) -> Vec<String> {
    let Some(warning) = version["deprecationWarning"].as_str() else { return Vec::new() };
    if version["deprecated"] != true {
        return vec!["can only be set for deprecated versions".to_owned()];
    }
    let mut problems = Vec::new();
    if warning.len() > 256 {
        problems.push("must be <= 256 characters long".to_owned());
    }
    if warning.is_empty() {
        problems.push("must not be an empty string".to_owned());
    }
    let is_printed = |sign: char| sign == ' ' || !sign.is_control() && !sign.is_whitespace();
    if let Some((at, _)) = warning.char_indices().find(|(_, sign)| !is_printed(*sign)) {
        problems
            .push(format!("must only contain printable UTF-8 characters; non-printable character found at index {at}"));
    }
    problems
}

/// The errors of the schema in `holder`. In Kubernetes: `validateCustomResourceDefinitionValidation`.
pub(super) fn check_schema(
    schema: &Value,
    holder: &str,
    has_status: bool,
    is_unchanged: bool,
    errors: &mut Vec<FieldError>,
) {
    if schema.is_null() {
        return;
    }
    let path = format!("{holder}.openAPIV3Schema");
    if has_status {
        errors.extend(wrong_root(schema, &path));
    }
    if schema["nullable"] == true {
        errors.push(FieldError::forbidden(format!("{path}.nullable"), "nullable cannot be true at the root"));
    }
    let found = SchemaErrors::of(schema, &path, |structural, path| {
        structural.wrong_defaults(path, &mut |schema, default, is_resource| {
            let rules = ValidationRules::compile_for(schema, is_resource);
            let run = |old| rules.check(schema, default, old, &Allowance::unlimited());
            let wrong = run(Some(default));
            if wrong.is_empty() { run(None) } else { wrong }
        })
    });
    let is_structural = found.structural.is_empty();
    errors.extend(found.structural);
    let mut of_rules = Vec::new();
    check_rules(
        &Structural::from_json(schema),
        &path,
        is_structural.then_some(found.keywords.as_slice()),
        is_unchanged,
        &mut of_rules,
    );
    errors.extend(found.keywords);
    errors.extend(of_rules);
}

/// The allowed keywords at the root of a kind with a status.
const AT_ROOT: [&str; 22] = [
    "description",
    "type",
    "format",
    "title",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "required",
    "items",
    "properties",
    "externalDocs",
    "example",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

/// The status of objects is validated separately, which keywords at the root must not prevent.
fn wrong_root(schema: &Value, path: &str) -> Option<FieldError> {
    let name = schema["type"].as_str().unwrap_or("");
    if !["", "object"].contains(&name) {
        let what =
            "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        return Some(FieldError::invalid(format!("{path}.type"), name, what));
    }
    let is_allowed = |name: &str| AT_ROOT.contains(&name);
    let mut fields = schema.as_object().into_iter().flatten();
    let is_wrong = fields.any(|(name, value)| !is_allowed(name) && !value.is_null() && *value != false);
    let what = "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength \
        MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example \
        XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the status subresource is \
        enabled";
    is_wrong.then(|| FieldError::invalid(path, schema.clone(), what).printed_as(go_schema::printed(schema)))
}

pub(super) fn check_subresources(version: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Some(scale) = version.pointer("/subresources/scale").filter(|scale| scale.is_object()) else { return };
    let mut check = |name: &str, roots: &[&str], place: &str| {
        let found = scale.get(name).and_then(Value::as_str).unwrap_or("");
        let field = format!("{path}.subresources.scale.{name}");
        if found.is_empty() {
            if name != "labelSelectorPath" {
                errors.push(FieldError::required(field, ""));
            }
        } else if let Some(what) = path_problem(found) {
            errors.push(FieldError::invalid(field, found, what));
        } else if !roots.iter().any(|root| found.starts_with(root)) {
            errors.push(FieldError::invalid(field, found, format!("should be a json path under {place}")));
        }
    };
    check("specReplicasPath", &[".spec."], ".spec");
    check("statusReplicasPath", &[".status."], ".status");
    check("labelSelectorPath", &[".spec.", ".status."], "either .spec or .status");
}

/// In Kubernetes: `validateSimpleJSONPath`.
fn path_problem(path: &str) -> Option<&'static str> {
    (!path.starts_with('.')).then_some("must be a simple json path starting with .")
}

pub(super) fn check_columns(version: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (at, column) in list(version, "/additionalPrinterColumns").iter().enumerate() {
        let text = |name: &str| column.get(name).and_then(Value::as_str).unwrap_or("");
        let path = format!("{path}.additionalPrinterColumns[{at}]");
        if text("name").is_empty() {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        }
        let what = format!("must be one of {COLUMN_TYPES}");
        if text("type").is_empty() {
            errors.push(FieldError::required(format!("{path}.type"), what));
        } else if !COLUMN_TYPES.split(',').any(|kind| kind == text("type")) {
            errors.push(FieldError::invalid(format!("{path}.type"), text("type"), what));
        }
        let format = text("format");
        if !format.is_empty() && !COLUMN_FORMATS.split(',').any(|known| known == format) {
            let what = format!("must be one of {COLUMN_FORMATS}");
            errors.push(FieldError::invalid(format!("{path}.format"), format, what));
        }
        let (field, found) = (format!("{path}.JSONPath"), text("jsonPath"));
        if found.is_empty() {
            errors.push(FieldError::required(field, ""));
        } else if let Some(what) = path_problem(found) {
            errors.push(FieldError::invalid(field, found, what));
        }
    }
}

pub(super) fn check_selectable(
    version: &Value,
    schema: &Value,
    path: &str,
    may_be_many: bool,
    errors: &mut Vec<FieldError>,
) {
    let schema = Structural::from_json(schema);
    let mut known = BTreeSet::new();
    for (at, field) in list(version, "/selectableFields").iter().enumerate() {
        let (place, text) =
            (format!("{path}.selectableFields[{at}].jsonPath"), field["jsonPath"].as_str().unwrap_or(""));
        if text.is_empty() {
            errors.push(FieldError::required(place, ""));
            continue;
        }
        let (steps, found) = match field_path::named_field(text, &schema) {
            Ok(found) => found,
            Err(why) => {
                errors.push(FieldError::invalid(place, text, format!("is an invalid path: {why}")));
                continue;
            }
        };
        if steps.starts_with("metadata.") || steps == "metadata" {
            errors.push(FieldError::invalid(&place, text, "must not point to fields in metadata"));
        }
        if !matches!(found.value_type, Some(ValueType::String | ValueType::Boolean | ValueType::Integer)) {
            let what = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                with formats are allowed.";
            errors.push(FieldError::invalid(&place, text, what));
        }
        if !known.insert(steps) {
            errors.push(FieldError::duplicate(place, text));
        }
    }
    if known.len() > MOST_SELECTABLE && !may_be_many {
        errors.push(FieldError::too_many(format!("{path}.selectableFields"), known.len(), MOST_SELECTABLE));
    }
}
