use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::enumeration::Enumeration;
use super::pattern::Pattern;
use crate::table::ListKind;

/// One node of a structural schema: the valid values at one place in a custom resource.
#[derive(Clone, Debug, Default)]
pub struct Structural {
    /// The JSON type, if the schema has one.
    pub value_type: Option<ValueType>,
    /// Whether the value is an integer or a string (`x-kubernetes-int-or-string`).
    pub int_or_string: bool,
    /// Whether null is valid.
    pub nullable: bool,
    /// Whether unknown fields are preserved (`x-kubernetes-preserve-unknown-fields`).
    pub preserves_unknown: bool,
    /// Whether the object is a resource (`x-kubernetes-embedded-resource`).
    pub embedded_resource: bool,
    /// Whether there may be an embedded resource here or below.
    pub holds_embedded: bool,
    /// The declared fields.
    pub properties: BTreeMap<String, Structural>,
    /// The values of undeclared fields.
    pub additional: Additional,
    /// The items of a list.
    pub items: Option<Box<Structural>>,
    /// The default.
    pub default: Option<Value>,
    /// `x-kubernetes-list-type`; empty if it is missing.
    pub list_type: String,
    /// `x-kubernetes-list-map-keys`.
    pub list_map_keys: Vec<String>,
    /// `x-kubernetes-map-type`; empty if it is missing.
    pub map_type: String,
    /// The constraints of the value.
    pub constraints: Box<Constraints>,
    /// `x-kubernetes-validations`.
    pub rules: Vec<Rule>,
}

/// The JSON types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// `object`
    Object,
    /// `array`
    Array,
    /// `string`
    String,
    /// `integer`
    Integer,
    /// `number`
    Number,
    /// `boolean`
    Boolean,
}

/// The undeclared fields of an object.
#[derive(Clone, Debug, Default)]
pub enum Additional {
    /// The schema does not mention them.
    #[default]
    Unsaid,
    /// Any value is allowed or none (`additionalProperties: true` or `false`).
    Allowed(bool),
    /// Values of this schema.
    Schema(Box<Structural>),
}

/// The constraints of a value in addition to its type.
#[derive(Clone, Debug, Default)]
pub struct Constraints {
    /// The value is one of these.
    pub values: Option<Enumeration>,
    /// The format; empty if it is missing.
    pub format: String,
    /// The pattern.
    pub pattern: Option<Pattern>,
    /// `minLength`
    pub min_length: Option<u64>,
    /// `maxLength`
    pub max_length: Option<u64>,
    /// `minimum`
    pub minimum: Option<f64>,
    /// `maximum`
    pub maximum: Option<f64>,
    /// `exclusiveMinimum`
    pub exclusive_minimum: bool,
    /// `exclusiveMaximum`
    pub exclusive_maximum: bool,
    /// `multipleOf`
    pub multiple_of: Option<f64>,
    /// `minItems`
    pub min_items: Option<u64>,
    /// `maxItems`
    pub max_items: Option<u64>,
    /// `uniqueItems`
    pub unique_items: bool,
    /// `minProperties`
    pub min_properties: Option<u64>,
    /// `maxProperties`
    pub max_properties: Option<u64>,
    /// The required fields.
    pub required: Vec<String>,
    /// All of these schemas.
    pub all_of: Vec<Structural>,
    /// At least one of these schemas.
    pub any_of: Vec<Structural>,
    /// Exactly one of these schemas.
    pub one_of: Vec<Structural>,
    /// Not this schema.
    pub not: Option<Box<Structural>>,
}

/// A rule in CEL. In Kubernetes: `apiextensions.ValidationRule`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The expression.
    pub rule: String,
    /// The message of a violation; empty for a generated one.
    pub message: String,
    /// An expression for the message.
    pub message_expression: String,
    /// `FieldValueInvalid`, `FieldValueForbidden`, `FieldValueRequired`, `FieldValueDuplicate`; empty for the first.
    pub reason: String,
    /// The path of the field in the error; empty for the place of the rule.
    pub field_path: String,
    /// Whether `oldSelf` is optional, so that the rule also applies to creation.
    pub optional_old_self: Option<bool>,
}

impl ValueType {
    /// The type with a name.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }

    /// The name of the type.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

impl Structural {
    /// Reads a decoded `openAPIV3Schema`; invalid parts are left out.
    pub fn from_json(schema: &Value) -> Self {
        match schema {
            Value::Object(fields) => read(fields),
            _ => Self::default(),
        }
    }

    /// The schema of a field.
    pub fn field(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or_else(|| self.additional.schema())
    }

    /// The list type for server-side apply and uniqueness.
    pub fn list_kind(&self) -> ListKind {
        match self.list_type.as_str() {
            "set" => ListKind::Set,
            "map" => ListKind::Map { keys: self.list_map_keys.clone() },
            stated => ListKind::Atomic { stated: !stated.is_empty() },
        }
    }
}

impl Additional {
    /// Whether the schema mentions undeclared fields, even if only to refuse them.
    pub fn is_said(&self) -> bool {
        !matches!(self, Self::Unsaid)
    }

    /// The schema of undeclared fields, if there is one.
    pub fn schema(&self) -> Option<&Structural> {
        match self {
            Self::Schema(schema) => Some(schema),
            Self::Unsaid | Self::Allowed(_) => None,
        }
    }
}

fn read(fields: &Map<String, Value>) -> Structural {
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
    let flag = |name: &str| fields.get(name).and_then(Value::as_bool).unwrap_or(false);
    let properties = fields.get("properties").and_then(Value::as_object);
    let rules = fields.get("x-kubernetes-validations").and_then(Value::as_array);
    let mut node = Structural {
        value_type: ValueType::parse(&text("type")),
        int_or_string: flag("x-kubernetes-int-or-string"),
        nullable: flag("nullable"),
        preserves_unknown: flag("x-kubernetes-preserve-unknown-fields"),
        embedded_resource: flag("x-kubernetes-embedded-resource"),
        holds_embedded: false,
        properties: properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.clone(), Structural::from_json(schema)))
            .collect(),
        additional: match fields.get("additionalProperties") {
            Some(Value::Bool(allowed)) => Additional::Allowed(*allowed),
            Some(Value::Object(schema)) => Additional::Schema(Box::new(read(schema))),
            _ => Additional::Unsaid,
        },
        items: fields.get("items").and_then(Value::as_object).map(|schema| Box::new(read(schema))),
        default: fields.get("default").filter(|default| !default.is_null()).cloned(),
        list_type: text("x-kubernetes-list-type"),
        list_map_keys: texts(fields.get("x-kubernetes-list-map-keys")),
        map_type: text("x-kubernetes-map-type"),
        constraints: Box::new(read_constraints(fields)),
        rules: rules.into_iter().flatten().map(read_rule).collect(),
    };
    let mut below = node.properties.values().chain(node.additional.schema()).chain(node.items.as_deref());
    node.holds_embedded = node.embedded_resource || below.any(|below| below.holds_embedded);
    node
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

fn read_constraints(fields: &Map<String, Value>) -> Constraints {
    let number = |name: &str| fields.get(name).and_then(Value::as_f64);
    let count = |name: &str| fields.get(name).and_then(Value::as_u64);
    let flag = |name: &str| fields.get(name).and_then(Value::as_bool).unwrap_or(false);
    let schemas = |name: &str| -> Vec<Structural> {
        fields.get(name).and_then(Value::as_array).into_iter().flatten().map(Structural::from_json).collect()
    };
    Constraints {
        values: fields.get("enum").and_then(Value::as_array).map(|values| Enumeration::new(values.clone())),
        format: fields.get("format").and_then(Value::as_str).unwrap_or("").to_owned(),
        pattern: fields.get("pattern").and_then(Value::as_str).filter(|text| !text.is_empty()).map(Pattern::new),
        min_length: count("minLength"),
        max_length: count("maxLength"),
        minimum: number("minimum"),
        maximum: number("maximum"),
        exclusive_minimum: flag("exclusiveMinimum"),
        exclusive_maximum: flag("exclusiveMaximum"),
        multiple_of: number("multipleOf"),
        min_items: count("minItems"),
        max_items: count("maxItems"),
        unique_items: flag("uniqueItems"),
        min_properties: count("minProperties"),
        max_properties: count("maxProperties"),
        required: texts(fields.get("required")),
        all_of: schemas("allOf"),
        any_of: schemas("anyOf"),
        one_of: schemas("oneOf"),
        not: fields
            .get("not")
            .filter(|schema| schema.is_object())
            .map(|schema| Box::new(Structural::from_json(schema))),
    }
}

fn read_rule(rule: &Value) -> Rule {
    let text = |name: &str| rule.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
    Rule {
        rule: text("rule"),
        message: text("message"),
        message_expression: text("messageExpression"),
        reason: text("reason"),
        field_path: text("fieldPath"),
        optional_old_self: rule.get("optionalOldSelf").and_then(Value::as_bool),
    }
}
