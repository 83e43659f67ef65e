use coracle_meta::go_json;
use serde_json::Value;

/// How Go prints a field of its internal schema.
#[derive(Clone, Copy)]
enum Print {
    Text,
    Flag,
    /// Any value, or null.
    Any,
    Schema,
    Schemas,
    SchemaMap,
    /// One schema, or a list of them.
    Items,
    /// A schema, or a boolean.
    OrBool,
    /// `externalDocs`
    Docs,
    Rules,
}

/// The fields of Go's struct in its order: the Go name and the JSON name.
const FIELDS: [(&str, &str, Print); 44] = [
    ("ID", "id", Print::Text),
    ("Schema", "$schema", Print::Text),
    ("Ref", "$ref", Print::Any),
    ("Description", "description", Print::Text),
    ("Type", "type", Print::Text),
    ("Nullable", "nullable", Print::Flag),
    ("Format", "format", Print::Text),
    ("Title", "title", Print::Text),
    ("Default", "default", Print::Any),
    ("Maximum", "maximum", Print::Any),
    ("ExclusiveMaximum", "exclusiveMaximum", Print::Flag),
    ("Minimum", "minimum", Print::Any),
    ("ExclusiveMinimum", "exclusiveMinimum", Print::Flag),
    ("MaxLength", "maxLength", Print::Any),
    ("MinLength", "minLength", Print::Any),
    ("Pattern", "pattern", Print::Text),
    ("MaxItems", "maxItems", Print::Any),
    ("MinItems", "minItems", Print::Any),
    ("UniqueItems", "uniqueItems", Print::Flag),
    ("MultipleOf", "multipleOf", Print::Any),
    ("Enum", "enum", Print::Any),
    ("MaxProperties", "maxProperties", Print::Any),
    ("MinProperties", "minProperties", Print::Any),
    ("Required", "required", Print::Any),
    ("Items", "items", Print::Items),
    ("AllOf", "allOf", Print::Schemas),
    ("OneOf", "oneOf", Print::Schemas),
    ("AnyOf", "anyOf", Print::Schemas),
    ("Not", "not", Print::Schema),
    ("Properties", "properties", Print::SchemaMap),
    ("AdditionalProperties", "additionalProperties", Print::OrBool),
    ("PatternProperties", "patternProperties", Print::SchemaMap),
    ("Dependencies", "dependencies", Print::Any),
    ("AdditionalItems", "additionalItems", Print::OrBool),
    ("Definitions", "definitions", Print::SchemaMap),
    ("ExternalDocs", "externalDocs", Print::Docs),
    ("Example", "example", Print::Any),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", Print::Any),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", Print::Flag),
    ("XIntOrString", "x-kubernetes-int-or-string", Print::Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Print::Any),
    ("XListType", "x-kubernetes-list-type", Print::Any),
    ("XMapType", "x-kubernetes-map-type", Print::Any),
    ("XValidations", "x-kubernetes-validations", Print::Rules),
];

/// A schema as Go prints its internal struct in an error. In Kubernetes: `apiextensions.JSONSchemaProps`.
pub(super) fn printed(schema: &Value) -> String {
    let fields = FIELDS.iter().map(|(go, json, print)| {
        let value = schema.get(json).filter(|value| !value.is_null());
        format!("\"{go}\":{}", value.map_or_else(|| absent(*print), |value| one(value, *print)))
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

fn absent(print: Print) -> String {
    match print {
        Print::Text => "\"\"",
        Print::Flag => "false",
        _ => "null",
    }
    .to_owned()
}

fn one(value: &Value, print: Print) -> String {
    match (print, value) {
        (Print::Schema, schema) => printed(schema),
        (Print::Schemas, Value::Array(schemas)) => list(schemas.iter().map(printed)),
        (Print::SchemaMap, Value::Object(schemas)) => {
            let entries =
                schemas.iter().map(|(name, schema)| format!("{}:{}", plain(&name.as_str().into()), printed(schema)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
        (Print::Items, Value::Array(schemas)) => {
            format!("{{\"Schema\":null,\"JSONSchemas\":{}}}", list(schemas.iter().map(printed)))
        }
        (Print::Items, schema) => format!("{{\"Schema\":{},\"JSONSchemas\":null}}", printed(schema)),
        (Print::OrBool, Value::Bool(allows)) => format!("{{\"Allows\":{allows},\"Schema\":null}}"),
        (Print::OrBool, schema) => format!("{{\"Allows\":true,\"Schema\":{}}}", printed(schema)),
        (Print::Docs, docs) => {
            let text = |name: &str| plain(&docs.get(name).and_then(Value::as_str).unwrap_or("").into());
            format!("{{\"Description\":{},\"URL\":{}}}", text("description"), text("url"))
        }
        (Print::Rules, Value::Array(rules)) => list(rules.iter().map(rule)),
        (_, value) => plain(value),
    }
}

/// A rule as Go prints it. In Kubernetes: `apiextensions.ValidationRule`.
fn rule(rule: &Value) -> String {
    let text = |name: &str| plain(&rule.get(name).and_then(Value::as_str).unwrap_or("").into());
    let any = |name: &str| plain(rule.get(name).unwrap_or(&Value::Null));
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        text("rule"),
        text("message"),
        text("messageExpression"),
        any("reason"),
        text("fieldPath"),
        any("optionalOldSelf")
    )
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

fn plain(value: &Value) -> String {
    go_json(&value.to_string())
}
