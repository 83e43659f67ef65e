//! Unsupported keywords and combinations of keywords in a schema.
//! In Kubernetes: `ValidateCustomResourceDefinitionOpenAPISchema`, except for rules.

use std::collections::BTreeSet;
use std::sync::Arc;

use coracle_meta::{FieldError, JsonKey};
use serde_json::{Value, json};

use super::path::path_below;
use super::raw_schema::Raw;

/// The context of a node.
#[derive(Clone, Copy)]
struct Around<'a> {
    is_root: bool,
    /// Why a default is not allowed here.
    without_defaults: Option<&'a str>,
    is_meta: bool,
}

/// The errors of the keywords of a schema, which is at `path` in a definition.
pub(super) fn errors(schema: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    visit(schema, path, Around { is_root: true, without_defaults: None, is_meta: false }, &mut errors);
    errors
}

fn visit(schema: &Value, path: &str, around: Around<'_>, errors: &mut Vec<FieldError>) {
    if !schema.is_object() {
        return;
    }
    unsupported(schema, path, around, errors);
    if schema.flag("uniqueItems") {
        let what = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(format!("{path}.uniqueItems"), what));
    }
    below(schema, path, around, errors);
    if schema.key("x-kubernetes-preserve-unknown-fields").is_some_and(|value| value == false) {
        let field = format!("{path}.x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::invalid(field, false, "must be true or undefined"));
    }
    map_type(schema, path, errors);
    list_type(schema, path, errors);
    if schema.text("x-kubernetes-list-type") == "map" {
        map_list(schema, path, errors);
    }
    nulls(schema, path, errors);
    for (at, rule) in schema.list("x-kubernetes-validations").iter().enumerate() {
        if rule.key("reason").is_some_and(|reason| reason == "") {
            let reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
            let field = format!("{path}.x-kubernetes-validations[{at}].reason");
            errors.push(FieldError::not_supported(field, "", &reasons));
        }
    }
}

/// The schemas below.
fn below(schema: &Value, path: &str, around: Around<'_>, errors: &mut Vec<FieldError>) {
    let inner = Around { is_root: false, ..around };
    if let Some(additional) = schema.key("additionalProperties") {
        let field = format!("{path}.additionalProperties");
        if schema.fields("properties").next().is_some() && *additional != true {
            let what = "additionalProperties and properties are mutual exclusive";
            errors.push(FieldError::forbidden(field.as_str(), what));
        }
        let without_defaults = if around.is_meta {
            Some("inside additionalProperties applying to object metadata")
        } else {
            inner.without_defaults
        };
        visit(additional, &field, Around { without_defaults, ..inner }, errors);
    }
    let is_resource = around.is_root || schema.flag("x-kubernetes-embedded-resource");
    for (name, property) in schema.fields("properties") {
        let is_meta = is_resource && ["metadata", "kind", "apiVersion"].contains(&name.as_str());
        let reason = format!("in top-level {name}");
        let without_defaults = if is_meta && around.is_root { Some(reason.as_str()) } else { around.without_defaults };
        let of_property = Around { is_root: false, without_defaults, is_meta: is_meta || around.is_meta };
        visit(property, &path_below(path, ".properties[", name, "]"), of_property, errors);
    }
    if let Some(not) = schema.key("not") {
        visit(not, &format!("{path}.not"), inner, errors);
    }
    for name in ["allOf", "oneOf", "anyOf"] {
        for (at, nested) in schema.list(name).iter().enumerate() {
            visit(nested, &format!("{path}.{name}[{at}]"), inner, errors);
        }
    }
    for name in ["definitions", "dependencies"] {
        for (key, nested) in schema.fields(name) {
            visit(nested, &format!("{path}.{name}[{key}]"), inner, errors);
        }
    }
    match schema.key("items") {
        Some(Value::Array(items)) => {
            for (at, item) in items.iter().enumerate() {
                visit(item, &format!("{path}.items[{at}]"), inner, errors);
            }
        }
        Some(items) => visit(items, &format!("{path}.items"), inner, errors),
        None => {}
    }
}

/// In Kubernetes: `specStandardValidatorV3`.
fn unsupported(schema: &Value, path: &str, around: Around<'_>, errors: &mut Vec<FieldError>) {
    const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
    let name = schema.type_name();
    if !name.is_empty() && !TYPES.contains(&name) {
        errors.push(FieldError::not_supported(format!("{path}.type"), name, &TYPES));
    }
    if let (Some(reason), true) = (around.without_defaults, schema.key("default").is_some()) {
        errors.push(FieldError::forbidden(format!("{path}.default"), format!("must not be set {reason}")));
    }
    let is_filled = |name: &str| match schema.key(name) {
        Some(Value::Object(fields)) => !fields.is_empty(),
        Some(Value::String(text)) => !text.is_empty(),
        found => found.is_some(),
    };
    let mut forbid = |is_there: bool, name: &str, what: &str| {
        if is_there {
            errors.push(FieldError::forbidden(format!("{path}.{name}"), what));
        }
    };
    forbid(is_filled("id"), "id", "id is not supported");
    forbid(schema.key("additionalItems").is_some(), "additionalItems", "additionalItems is not supported");
    forbid(is_filled("patternProperties"), "patternProperties", "patternProperties is not supported");
    forbid(is_filled("definitions"), "definitions", "definitions is not supported");
    forbid(schema.key("dependencies").is_some(), "dependencies", "dependencies is not supported");
    forbid(schema.key("$ref").is_some(), "$ref", "$ref is not supported");
    forbid(name == "null", "type", "type cannot be set to null, use nullable as an alternative");
    let is_list = schema.key("items").and_then(Value::as_array).is_some_and(|items| !items.is_empty());
    forbid(is_list, "items", "items must be a schema object and not an array");
    let is_inside = around.is_meta && schema.flag("x-kubernetes-embedded-resource");
    forbid(is_inside, "x-kubernetes-embedded-resource", "must not be used inside of resource meta");
}

/// An error about the type that a keyword needs.
fn needs_type(schema: &Value, path: &str, what: &str) -> FieldError {
    let field = format!("{path}.type");
    match schema.type_name() {
        "" => FieldError::required(field, what),
        name => FieldError::invalid(field, name, what),
    }
}

fn map_type(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Some(map_type) = schema.key("x-kubernetes-map-type").and_then(Value::as_str) else { return };
    if schema.type_name() != "object" {
        errors.push(needs_type(schema, path, "must be object if x-kubernetes-map-type is specified"));
    }
    if !["atomic", "granular"].contains(&map_type) {
        let field = format!("{path}.x-kubernetes-map-type");
        errors.push(FieldError::not_supported(field, map_type, &["atomic", "granular"]));
    }
}

fn list_type(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let field = format!("{path}.x-kubernetes-list-type");
    let list_type = schema.key("x-kubernetes-list-type").and_then(Value::as_str);
    if list_type.is_some() && schema.type_name() != "array" {
        errors.push(needs_type(schema, path, "must be array if x-kubernetes-list-type is specified"));
    } else if let (Some("set"), Some(items)) = (list_type, schema.item_schema()) {
        set_items(items, path, errors);
    }
    if let Some(other) = list_type.filter(|name| !["atomic", "set", "map"].contains(name)) {
        errors.push(FieldError::not_supported(field.as_str(), other, &["atomic", "set", "map"]));
    }
    if !schema.list("x-kubernetes-list-map-keys").is_empty() {
        let what = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type {
            None => errors.push(FieldError::required(field, what)),
            Some("map") => {}
            Some(other) => errors.push(FieldError::invalid(field, other, what)),
        }
    }
}

fn set_items(items: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let what = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let list_type = items.key("x-kubernetes-list-type");
    let printed = || list_type.cloned().unwrap_or_default();
    match items.type_name() {
        "array" if list_type.is_some_and(|name| name != "atomic") => {
            errors.push(FieldError::invalid(format!("{path}.items.x-kubernetes-list-type"), printed(), what));
        }
        "object" if items.text("x-kubernetes-map-type") != "atomic" => {
            errors.push(FieldError::invalid(format!("{path}.items.x-kubernetes-map-type"), printed(), what));
        }
        _ => {}
    }
}

fn map_list(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let of_keys = format!("{path}.x-kubernetes-list-map-keys");
    let keys = schema.list("x-kubernetes-list-map-keys");
    if keys.is_empty() {
        let what = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(of_keys.as_str(), what));
    }
    if schema.key("items").is_none() {
        let what = "must have a schema if x-kubernetes-list-type is map";
        errors.push(FieldError::required(format!("{path}.items"), what));
    }
    let Some(items) = schema.item_schema() else { return };
    if items.type_name() != "object" {
        let what = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(format!("{path}.items.type"), items.type_name(), what));
        return;
    }
    // Each error repeats all keys.
    let printed: Arc<str> = json!(keys).to_string().into();
    let about_keys =
        |what: &str| FieldError::invalid(of_keys.as_str(), Value::Null, what).printed_as(Arc::clone(&printed));
    let mut seen = BTreeSet::new();
    for key in keys {
        let name = key.as_str().unwrap_or("");
        match items.key("properties").and_then(|properties| properties.get(name)) {
            Some(of_key) if ["array", "object"].contains(&of_key.type_name()) => {
                let what = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.push(FieldError::invalid(format!("{path}.items.properties[{name}].type"), "object", what));
            }
            Some(_) => {}
            None => {
                let what = "entries must all be names of item properties";
                errors.push(about_keys(what));
            }
        }
        if !seen.insert(JsonKey(key)) {
            errors.push(about_keys("must not contain duplicate entries"));
        }
    }
}

/// Items of sets and maps must not be nullable, and the keys of maps must be required or have defaults.
/// In Kubernetes: `validateMapListKeysMapSet`.
fn nulls(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let list_type = schema.text("x-kubernetes-list-type");
    let Some(items) = schema.item_schema().filter(|_| ["set", "map"].contains(&list_type)) else { return };
    if items.flag("nullable") {
        let what = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(format!("{path}.items.nullable"), what));
    }
    if list_type != "map" {
        return;
    }
    let required: BTreeSet<&str> = items.list("required").iter().filter_map(Value::as_str).collect();
    for key in schema.list("x-kubernetes-list-map-keys").iter().filter_map(Value::as_str) {
        let Some(of_key) = items.key("properties").and_then(|properties| properties.get(key)) else { continue };
        let field = format!("{path}.items.properties[{key}]");
        if of_key.key("default").is_none() && !required.contains(key) {
            let what =
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(FieldError::required(format!("{field}.default"), what));
        }
        if of_key.flag("nullable") {
            let what = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(format!("{field}.nullable"), what));
        }
    }
}
