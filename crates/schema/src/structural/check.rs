use coracle_meta::FieldError;
use serde_json::{Map, Value, json};

use super::node::Structural;
use super::path::path_below;
use super::pattern::Pattern;
use super::raw_schema::{self as raw, Raw};
use super::{completeness, keywords};

/// The position of a node in a schema, which decides the required keywords.
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

/// The errors of the schema of a kind, in the order of Kubernetes.
#[derive(Debug, Default)]
pub struct SchemaErrors {
    /// Why the schema is not structural, or the errors of its defaults if it is.
    pub structural: Vec<FieldError>,
    /// Unsupported keywords and combinations of keywords.
    pub keywords: Vec<FieldError>,
}

impl SchemaErrors {
    /// Validates the schema `openAPIV3Schema`, which is at `path` in a definition. `wrong_defaults` returns further
    /// errors of defaults, such as those of rules; it is called only for structural schemas.
    ///
    /// In Kubernetes: `validateCustomResourceDefinitionValidation`.
    pub fn of(schema: &Value, path: &str, wrong_defaults: impl FnOnce(&Structural, &str) -> Vec<FieldError>) -> Self {
        let mut found = Self::default();
        let unreadable = raw::unsupported(schema);
        if unreadable.is_none() {
            found.structural = invariants(schema, path);
            if found.structural.is_empty() {
                found.structural = wrong_defaults(&Structural::from_json(schema), path);
            }
        }
        found.keywords = keywords::errors(schema, path);
        if let (true, true, Some(what)) = (found.structural.is_empty(), found.keywords.is_empty(), unreadable) {
            found.structural.push(FieldError::invalid(path, "", what));
        }
        found
    }
}

/// Why a schema is not structural, sorted. In Kubernetes: `ValidateStructural`.
fn invariants(schema: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check_node(schema, Level::Root, path, &mut errors);
    completeness::check(schema, schema, path, path, &mut errors);
    errors.sort_by_key(FieldError::message);
    errors
}

fn check_node(schema: &Value, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    if schema.type_name() == "array" && schema.item_schema().is_none() {
        errors.push(FieldError::required(format!("{path}.items"), "must be specified"));
    }
    if let Some(items) = schema.item_schema() {
        check_node(items, Level::Item, &format!("{path}.items"), errors);
    }
    for (name, below) in schema.fields("properties") {
        check_node(below, Level::Field, &path_below(path, ".properties[", name, "]"), errors);
    }
    if let Some(additional) = schema.key("additionalProperties") {
        let field = format!("{path}.additionalProperties");
        if level == Level::Root {
            errors.push(FieldError::forbidden(field.clone(), "must not be used at the root"));
        }
        if schema.flag("x-kubernetes-embedded-resource") {
            let what = "must not be used if x-kubernetes-embedded-resource is set";
            errors.push(FieldError::forbidden(field.clone(), what));
        }
        if additional.is_object() {
            check_node(additional, Level::Field, &field, errors);
        }
    }
    check_type(schema, level, path, errors);
    let form = IntOrStringForm {
        any_of: raw::is_int_or_string(schema),
        first_all_of: schema.list("allOf").first().is_some_and(raw::is_int_or_string),
    };
    check_validations(schema, form, path, errors);
    check_metadata(schema, level, path, errors);
}

fn check_type(schema: &Value, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let type_path = format!("{path}.type");
    let name = schema.type_name();
    let is_embedded = schema.flag("x-kubernetes-embedded-resource");
    let preserves = schema.flag("x-kubernetes-preserve-unknown-fields");
    let int_or_string = schema.flag("x-kubernetes-int-or-string");
    if is_embedded && name != "object" {
        let what = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match name {
            "" => FieldError::required(type_path.clone(), what),
            name => FieldError::invalid(type_path.clone(), name, what),
        });
    } else if name.is_empty() && !int_or_string && !preserves {
        errors.push(FieldError::required(type_path.clone(), level.of_missing_type()));
    }
    if level == Level::Root && !["", "object"].contains(&name) {
        errors.push(FieldError::invalid(type_path, name, "must be object at the root"));
    }
    let what = "must be false if x-kubernetes-int-or-string is true";
    if int_or_string && preserves {
        let field = format!("{path}.x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::invalid(field, true, what));
    }
    if int_or_string && is_embedded {
        let field = format!("{path}.x-kubernetes-embedded-resource");
        errors.push(FieldError::invalid(field, true, what));
    }
    if is_embedded && !preserves && schema.fields("properties").next().is_none() {
        let what =
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(format!("{path}.properties"), what));
    }
}

/// Whether the `anyOf` of a node, and that of its first `allOf`, only describe an int-or-string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IntOrStringForm {
    any_of: bool,
    first_all_of: bool,
}

/// The validations of a node, without those that only describe an int-or-string.
fn check_validations(schema: &Value, form: IntOrStringForm, path: &str, errors: &mut Vec<FieldError>) {
    for (name, below, at) in raw::nested(schema) {
        if name == "anyOf" && form.any_of {
            continue;
        }
        let of_int_or_string = name == "allOf" && at == 0 && form.first_all_of;
        check_nested(below, of_int_or_string, &format!("{path}.{name}[{at}]"), errors);
    }
    if let Some(not) = schema.key("not").filter(|not| not.is_object()) {
        check_nested(not, false, &format!("{path}.not"), errors);
    }
    let pattern = schema.text("pattern");
    if !pattern.is_empty()
        && let Some(why) = Pattern::new(pattern).error()
    {
        let what = format!("must be a valid regular expression, but isn't: {why}");
        errors.push(FieldError::invalid(format!("{path}.pattern"), pattern, what));
    }
}

/// Validates a schema that only restricts: it must not define the type of the value.
fn check_nested(schema: &Value, of_int_or_string: bool, path: &str, errors: &mut Vec<FieldError>) {
    const EMPTY: &str = "must be empty to be structural";
    const UNDEFINED: &str = "must be undefined to be structural";
    const FALSE: &str = "must be false to be structural";
    check_validations(schema, IntOrStringForm { any_of: of_int_or_string, first_all_of: false }, path, errors);
    if let Some(items) = schema.item_schema() {
        check_nested(items, false, &format!("{path}.items"), errors);
    }
    for (name, below) in schema.fields("properties") {
        check_nested(below, false, &path_below(path, ".properties[", name, "]"), errors);
    }
    let mut forbid = |is_there: bool, name: &str, what: &str| {
        if is_there {
            errors.push(FieldError::forbidden(format!("{path}.{name}"), what));
        }
    };
    for name in ["type", "title", "description"] {
        forbid(!schema.text(name).is_empty(), name, EMPTY);
    }
    for name in ["additionalProperties", "default", "x-kubernetes-list-type", "x-kubernetes-map-type"] {
        forbid(schema.key(name).is_some(), name, UNDEFINED);
    }
    for name in [
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ] {
        forbid(schema.flag(name), name, FALSE);
    }
    for name in ["x-kubernetes-list-map-keys", "x-kubernetes-validations"] {
        forbid(!schema.list(name).is_empty(), name, EMPTY);
    }
    let has_metadata = schema.fields("properties").any(|(name, _)| name == "metadata");
    forbid(has_metadata, "properties[metadata]", "must not be specified in a nested context");
}

fn check_metadata(schema: &Value, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let is_checked = level == Level::Root || schema.flag("x-kubernetes-embedded-resource");
    let property = |name: &str| schema.key("properties").and_then(|properties| properties.key(name));
    if !is_checked {
        return;
    }
    for name in ["kind", "apiVersion"] {
        if let Some(below) = property(name)
            && below.type_name() != "string"
        {
            let field = format!("{path}.properties[{name}].type");
            errors.push(FieldError::invalid(field, below.type_name(), "must be string"));
        }
    }
    let Some(metadata) = property("metadata") else { return };
    let field = format!("{path}.properties[metadata]");
    if metadata.type_name() != "object" {
        errors.push(FieldError::invalid(format!("{field}.type"), metadata.type_name(), "must be object"));
    }
    let says_more = metadata.as_object().into_iter().flatten().any(|(name, value)| match name.as_str() {
        "type" | "default" | "externalDocs" | "example" => false,
        "properties" => value.as_object().is_some_and(has_other_names),
        _ => true,
    });
    if level == Level::Root && says_more {
        let what = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(field, what));
    }
}

fn has_other_names(properties: &Map<String, Value>) -> bool {
    properties.keys().any(|name| name != "name" && name != "generateName")
}

impl Structural {
    /// The errors of the defaults of a structural schema, without rules: defaults must be valid for their node, and
    /// must not be pruned. `more` returns further errors of the default of a node, and gets whether the node is a
    /// resource. In Kubernetes: `defaulting.ValidateDefaults`.
    pub fn wrong_defaults(
        &self,
        path: &str,
        more: &mut dyn FnMut(&Self, &Value, bool) -> Vec<FieldError>,
    ) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let root = Self { embedded_resource: true, holds_embedded: true, ..self.clone() };
        check_defaults(&root, path, Position::Resource, &mut errors, more);
        errors
    }
}

type More<'m> = &'m mut dyn FnMut(&Structural, &Value, bool) -> Vec<FieldError>;

/// Which part of a resource a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// The resource itself.
    Resource,
    /// `apiVersion`, `kind` or `metadata` of a resource, or below it.
    TypeOrMetadata,
    /// Anything else.
    Content,
}

fn check_defaults(schema: &Structural, path: &str, position: Position, errors: &mut Vec<FieldError>, more: More<'_>) {
    let is_resource = position == Position::Resource || schema.embedded_resource;
    let is_meta = position == Position::TypeOrMetadata && !schema.embedded_resource;
    if let Some(default) = &schema.default {
        let field = format!("{path}.default");
        let mut of_default = if is_meta { Vec::new() } else { wrong_shape(schema, default) };
        let is_pruned = of_default.iter().any(|error| error.detail == UNKNOWN);
        let mut of_rules = Vec::new();
        if of_default.is_empty() || is_pruned && of_default.len() == 1 {
            let invalid = without_int_or_string(schema).validate(default, "");
            if invalid.is_empty() {
                of_rules = more(schema, default, is_resource);
            }
            of_default.extend(invalid);
        }
        let at = |error: FieldError, dot: &str| {
            let below = match error.field.as_str() {
                "" | "<nil>" => field.clone(),
                below => format!("{field}{dot}{below}"),
            };
            FieldError { field: below, ..error }
        };
        errors.extend(of_default.into_iter().map(|error| at(error, ".")));
        errors.extend(of_rules.into_iter().map(|error| {
            let dot = if error.field.starts_with('[') { "" } else { "." };
            at(error, dot)
        }));
    }
    let position_of = |is_meta| if is_meta { Position::TypeOrMetadata } else { Position::Content };
    if let Some(items) = &schema.items {
        check_defaults(items, &format!("{path}.items"), position_of(is_meta), errors, more);
    }
    for (name, below) in &schema.properties {
        let is_meta =
            is_meta || schema.embedded_resource && ["metadata", "apiVersion", "kind"].contains(&name.as_str());
        check_defaults(below, &path_below(path, ".properties[", name, "]"), position_of(is_meta), errors, more);
    }
}

/// The schema with which Kubernetes validates defaults, in which an int-or-string accepts any value.
fn without_int_or_string(schema: &Structural) -> Structural {
    let without = |schema: &Structural| without_int_or_string(schema);
    let properties = schema.properties.iter().map(|(name, below)| (name.clone(), without(below))).collect();
    let items = schema.items.as_deref().map(|items| Box::new(without(items)));
    Structural { int_or_string: false, properties, items, ..schema.clone() }
}

const UNKNOWN: &str = "must not have unknown fields";

/// Fields that would be pruned, and embedded resources without a type.
fn wrong_shape(schema: &Structural, default: &Value) -> Vec<FieldError> {
    let mut pruned = json!({"default": default});
    let root = Structural {
        properties: [("default".to_owned(), schema.clone())].into(),
        holds_embedded: schema.holds_embedded,
        ..Structural::default()
    };
    let unknown = pruned.as_object_mut().map(|fields| root.prune(fields)).unwrap_or_default();
    let mut errors = Vec::new();
    if !unknown.is_empty() {
        errors.push(FieldError::invalid("", default.clone(), UNKNOWN));
    }
    let holder: Map<String, Value> = [("default".to_owned(), default.clone())].into_iter().collect();
    errors.extend(root.embedded_errors(&holder).into_iter().map(|error| {
        let below = error.field.strip_prefix("default").unwrap_or(&error.field);
        FieldError { field: below.trim_start_matches('.').to_owned(), ..error }
    }));
    errors
}
