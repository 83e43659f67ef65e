use coracle_meta::FieldError;
use serde_json::{Value, json};

use super::node::{Additional, Structural, ValueType};

/// Where in a schema a node stands, which decides what it must not leave out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

impl Level {
    fn of_missing_type(self) -> &'static str {
        match self {
            Self::Root => "must not be empty at the root",
            Self::Item => "must not be empty for specified array items",
            Self::Field => "must not be empty for specified object fields",
        }
    }
}

impl Structural {
    /// What is wrong with the schema itself, which stands at `path` in a definition.
    /// In Kubernetes: `schema.ValidateStructural` and `ValidateCustomResourceDefinitionOpenAPISchema`.
    pub fn check(&self, path: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        check_node(self, Level::Root, path, &mut errors);
        if errors.is_empty() {
            check_defaults(self, path, &mut errors);
        }
        errors.sort_by_key(FieldError::message);
        errors
    }
}

fn check_node(schema: &Structural, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    check_types(schema, level, path, errors);
    check_lists(schema, path, errors);
    check_maps(schema, level, path, errors);
    check_constraints(schema, path, errors);
    check_metadata(schema, level, path, errors);
    if let Some(items) = &schema.items {
        check_node(items, Level::Item, &format!("{path}.items"), errors);
    }
    for (name, below) in &schema.properties {
        check_node(below, Level::Field, &format!("{path}.properties[{name}]"), errors);
    }
    if let Additional::Schema(below) = &schema.additional {
        check_node(below, Level::Field, &format!("{path}.additionalProperties"), errors);
    }
}

fn check_types(schema: &Structural, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let type_path = format!("{path}.type");
    let name = schema.value_type.map_or("", ValueType::as_str);
    if schema.embedded_resource && schema.value_type != Some(ValueType::Object) {
        let what = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match schema.value_type {
            None => FieldError::required(type_path, what),
            Some(_) => FieldError::invalid(type_path, name, what),
        });
    } else if schema.value_type.is_none() && !schema.int_or_string && !schema.preserves_unknown {
        errors.push(FieldError::required(type_path, level.of_missing_type()));
    } else if level == Level::Root && schema.value_type.is_some_and(|value_type| value_type != ValueType::Object) {
        errors.push(FieldError::invalid(type_path, name, "must be object at the root"));
    }
    if schema.int_or_string && schema.preserves_unknown {
        let field = format!("{path}.x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::invalid(field, true, "must be false if x-kubernetes-int-or-string is true"));
    }
    if schema.int_or_string && schema.embedded_resource {
        let field = format!("{path}.x-kubernetes-embedded-resource");
        errors.push(FieldError::invalid(field, true, "must be false if x-kubernetes-int-or-string is true"));
    }
}

fn check_lists(schema: &Structural, path: &str, errors: &mut Vec<FieldError>) {
    let is_list = schema.value_type == Some(ValueType::Array);
    let list_type = schema.list_type.as_str();
    if is_list && schema.items.is_none() {
        errors.push(FieldError::required(format!("{path}.items"), "must be specified"));
    }
    if !list_type.is_empty() && !is_list {
        let what = "must be array if x-kubernetes-list-type is specified";
        let field = format!("{path}.type");
        errors.push(match schema.value_type {
            None => FieldError::required(field, what),
            Some(value_type) => FieldError::invalid(field, value_type.as_str(), what),
        });
    }
    let of_type = format!("{path}.x-kubernetes-list-type");
    if !["", "atomic", "set", "map"].contains(&list_type) {
        errors.push(FieldError::not_supported(of_type.clone(), list_type, &["atomic", "set", "map"]));
    }
    if !schema.list_map_keys.is_empty() && list_type != "map" {
        let what = "must be map if x-kubernetes-list-map-keys is non-empty";
        errors.push(match list_type {
            "" => FieldError::required(of_type, what),
            other => FieldError::invalid(of_type, other, what),
        });
    }
    match (list_type, &schema.items) {
        ("map", Some(items)) => check_list_map(schema, items, path, errors),
        ("set", Some(items)) => check_set(items, path, errors),
        _ => {}
    }
}

fn check_set(items: &Structural, path: &str, errors: &mut Vec<FieldError>) {
    let what = "must be atomic as item of a list with x-kubernetes-list-type=set";
    match items.value_type {
        Some(ValueType::Array) if !["", "atomic"].contains(&items.list_type.as_str()) => {
            let field = format!("{path}.items.x-kubernetes-list-type");
            errors.push(FieldError::invalid(field, items.list_type.as_str(), what));
        }
        Some(ValueType::Object) if items.map_type != "atomic" => {
            let field = format!("{path}.items.x-kubernetes-map-type");
            errors.push(FieldError::invalid(field, Value::Null, what));
        }
        _ => {}
    }
    check_not_null(items, path, errors);
}

fn check_not_null(items: &Structural, path: &str, errors: &mut Vec<FieldError>) {
    if items.nullable {
        let what = "cannot be nullable when x-kubernetes-list-type is set or map";
        errors.push(FieldError::forbidden(format!("{path}.items.nullable"), what));
    }
}

fn check_list_map(schema: &Structural, items: &Structural, path: &str, errors: &mut Vec<FieldError>) {
    let of_keys = format!("{path}.x-kubernetes-list-map-keys");
    if schema.list_map_keys.is_empty() {
        let what = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(of_keys.clone(), what));
    }
    if items.value_type != Some(ValueType::Object) {
        let what = "must be object if parent array's x-kubernetes-list-type is map";
        let name = items.value_type.map_or("", ValueType::as_str);
        errors.push(FieldError::invalid(format!("{path}.items.type"), name, what));
        return;
    }
    for (index, key) in schema.list_map_keys.iter().enumerate() {
        if schema.list_map_keys[..index].contains(key) {
            errors.push(FieldError::invalid(
                of_keys.clone(),
                json!(schema.list_map_keys),
                "must not contain duplicate entries",
            ));
        }
        let Some(of_key) = items.properties.get(key) else {
            let what = "entries must all be names of item properties";
            errors.push(FieldError::invalid(of_keys.clone(), json!(schema.list_map_keys), what));
            continue;
        };
        if matches!(of_key.value_type, Some(ValueType::Array | ValueType::Object)) {
            let what = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            errors.push(FieldError::invalid(format!("{path}.items.properties[{key}].type"), "object", what));
        }
        if of_key.default.is_none() && !items.constraints.required.contains(key) {
            let what =
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(FieldError::required(format!("{path}.items.properties[{key}].default"), what));
        }
        if of_key.nullable {
            let what = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(format!("{path}.items.properties[{key}].nullable"), what));
        }
    }
    check_not_null(items, path, errors);
}

fn check_maps(schema: &Structural, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let map_type = schema.map_type.as_str();
    if !map_type.is_empty() && schema.value_type != Some(ValueType::Object) {
        let what = "must be object if x-kubernetes-map-type is specified";
        let field = format!("{path}.type");
        errors.push(match schema.value_type {
            None => FieldError::required(field, what),
            Some(value_type) => FieldError::invalid(field, value_type.as_str(), what),
        });
    }
    if !["", "atomic", "granular"].contains(&map_type) {
        let field = format!("{path}.x-kubernetes-map-type");
        errors.push(FieldError::not_supported(field, map_type, &["atomic", "granular"]));
    }
    let field = format!("{path}.additionalProperties");
    if matches!(schema.additional, Additional::Unsaid) {
        return;
    }
    if level == Level::Root {
        errors.push(FieldError::forbidden(field.clone(), "must not be used at the root"));
    }
    if schema.embedded_resource {
        errors.push(FieldError::forbidden(field.clone(), "must not be used if x-kubernetes-embedded-resource is set"));
    }
    if !schema.properties.is_empty() && !matches!(schema.additional, Additional::Allowed(true)) {
        errors.push(FieldError::forbidden(field, "additionalProperties and properties are mutual exclusive"));
    }
}

fn check_constraints(schema: &Structural, path: &str, errors: &mut Vec<FieldError>) {
    let constraints = &schema.constraints;
    if constraints.unique_items {
        let what = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(format!("{path}.uniqueItems"), what));
    }
    if let Some(pattern) = &constraints.pattern
        && let Err(why) = &pattern.compiled
    {
        let what = format!("must be a valid regular expression, but isn't: {why}");
        errors.push(FieldError::invalid(format!("{path}.pattern"), pattern.text.as_str(), what));
    }
    let nested = [("allOf", &constraints.all_of), ("anyOf", &constraints.any_of), ("oneOf", &constraints.one_of)];
    for (name, schemas) in nested {
        // The alternatives of an int-or-string say what it is already.
        if schema.int_or_string && name != "oneOf" {
            continue;
        }
        for (index, below) in schemas.iter().enumerate() {
            check_nested(below, &format!("{path}.{name}[{index}]"), errors);
        }
    }
    if let Some(not) = &constraints.not {
        check_nested(not, &format!("{path}.not"), errors);
    }
}

/// Checks a schema that only restricts: it must not say what the value is.
fn check_nested(schema: &Structural, path: &str, errors: &mut Vec<FieldError>) {
    let mut forbid = |is_there: bool, name: &str, what: &str| {
        if is_there {
            errors.push(FieldError::forbidden(format!("{path}.{name}"), what));
        }
    };
    forbid(schema.value_type.is_some(), "type", "must be empty to be structural");
    let has_additional = !matches!(schema.additional, Additional::Unsaid);
    forbid(has_additional, "additionalProperties", "must be undefined to be structural");
    forbid(schema.default.is_some(), "default", "must be undefined to be structural");
    forbid(schema.nullable, "nullable", "must be false to be structural");
    let keeps = schema.preserves_unknown;
    forbid(keeps, "x-kubernetes-preserve-unknown-fields", "must be false to be structural");
    forbid(schema.embedded_resource, "x-kubernetes-embedded-resource", "must be false to be structural");
    forbid(schema.int_or_string, "x-kubernetes-int-or-string", "must be false to be structural");
    forbid(!schema.list_map_keys.is_empty(), "x-kubernetes-list-map-keys", "must be empty to be structural");
    forbid(!schema.list_type.is_empty(), "x-kubernetes-list-type", "must be undefined to be structural");
    forbid(!schema.map_type.is_empty(), "x-kubernetes-map-type", "must be undefined to be structural");
    forbid(!schema.rules.is_empty(), "x-kubernetes-validations", "must be empty to be structural");
    let has_metadata = schema.properties.contains_key("metadata");
    forbid(has_metadata, "properties[metadata]", "must not be specified in a nested context");
    check_constraints(schema, path, errors);
    for (name, below) in &schema.properties {
        check_nested(below, &format!("{path}.properties[{name}]"), errors);
    }
    if let Some(items) = &schema.items {
        check_nested(items, &format!("{path}.items"), errors);
    }
}

fn check_metadata(schema: &Structural, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    if level != Level::Root && !schema.embedded_resource {
        return;
    }
    for name in ["kind", "apiVersion"] {
        if let Some(below) = schema.properties.get(name)
            && below.value_type != Some(ValueType::String)
        {
            let found = below.value_type.map_or("", ValueType::as_str);
            errors.push(FieldError::invalid(format!("{path}.properties[{name}].type"), found, "must be string"));
        }
    }
    let Some(metadata) = schema.properties.get("metadata") else { return };
    let field = format!("{path}.properties[metadata]");
    if metadata.value_type != Some(ValueType::Object) {
        let found = metadata.value_type.map_or("", ValueType::as_str);
        errors.push(FieldError::invalid(format!("{field}.type"), found, "must be object"));
    }
    let names_only = metadata.properties.keys().all(|name| name == "name" || name == "generateName");
    if level == Level::Root && !names_only {
        let what = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(field, what));
    }
}

/// Defaults have to fit the place that they fill in, and to survive pruning.
fn check_defaults(schema: &Structural, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(default) = &schema.default {
        let field = format!("{path}.default");
        let mut pruned = json!({"default": default});
        let root = Structural {
            properties: [("default".to_owned(), schema.clone())].into(),
            value_type: Some(ValueType::Object),
            ..Structural::default()
        };
        let unknown = pruned.as_object_mut().map(|fields| root.prune(fields)).unwrap_or_default();
        if !unknown.is_empty() {
            errors.push(FieldError::invalid(field.clone(), default.clone(), "must not have unknown fields"));
        }
        let of_default = schema.validate(default, "");
        errors.extend(of_default.into_iter().map(|error| {
            let below = if error.field.is_empty() { field.clone() } else { format!("{field}.{}", error.field) };
            FieldError { field: below, ..error }
        }));
    }
    if let Some(items) = &schema.items {
        check_defaults(items, &format!("{path}.items"), errors);
    }
    for (name, below) in &schema.properties {
        check_defaults(below, &format!("{path}.properties[{name}]"), errors);
    }
}
