use serde_json::{Map, Value, json};

use super::dialect::Dialect;

/// The keywords that are copied unless they are empty.
const WORDS: [&str; 6] = ["type", "description", "title", "format", "pattern", "default"];
const NUMBERS: [&str; 9] = [
    "maximum",
    "minimum",
    "maxLength",
    "minLength",
    "maxItems",
    "minItems",
    "multipleOf",
    "maxProperties",
    "minProperties",
];
const FLAGS: [&str; 7] = [
    "nullable",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "uniqueItems",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
];
const LISTS: [&str; 4] = ["enum", "required", "x-kubernetes-list-map-keys", "x-kubernetes-validations"];
const STATED: [&str; 2] = ["x-kubernetes-list-type", "x-kubernetes-map-type"];
const JUNCTORS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// The published schema of a custom kind.
///
/// In Kubernetes: `NewStructural`, `Unfold`, `ToStructuralOpenAPIV2` and `ToKubeOpenAPI`.
pub(super) fn structural(schema: &Map<String, Value>, dialect: Dialect) -> Value {
    let mut out = said(schema);
    if let Some(items) = schema.get("items").and_then(Value::as_object) {
        out.insert("items".to_owned(), structural(items, dialect));
    }
    let properties = schema.get("properties").and_then(Value::as_object).filter(|all| !all.is_empty());
    if let Some(properties) = properties {
        let of_one = |(name, schema): (&String, &Value)| (name.clone(), below(schema, dialect));
        out.insert("properties".to_owned(), properties.iter().map(of_one).collect());
    }
    match schema.get("additionalProperties") {
        Some(Value::Object(values)) => drop(out.insert("additionalProperties".to_owned(), structural(values, dialect))),
        Some(Value::Bool(allowed)) => drop(out.insert("additionalProperties".to_owned(), (*allowed).into())),
        _ => {}
    }
    match dialect {
        Dialect::V2 => fit_version_two(schema, &mut out),
        Dialect::V3 => {
            add_junctors(schema, &mut out);
            unfold(&mut out);
        }
    }
    Value::Object(out)
}

fn below(schema: &Value, dialect: Dialect) -> Value {
    schema.as_object().map_or_else(|| json!({}), |schema| structural(schema, dialect))
}

/// The keywords about the value itself.
fn said(schema: &Map<String, Value>) -> Map<String, Value> {
    let keeps = |name: &str, value: &Value| {
        WORDS.contains(&name) && !value.is_null() && (name == "default" || value != "")
            || NUMBERS.contains(&name) && value.is_number()
            || FLAGS.contains(&name) && value == true
            || LISTS.contains(&name) && value.as_array().is_some_and(|list| !list.is_empty())
            || STATED.contains(&name) && value.is_string()
    };
    let kept = schema.iter().filter(|(name, value)| keeps(name, value));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn add_junctors(schema: &Map<String, Value>, out: &mut Map<String, Value>) {
    for name in JUNCTORS {
        if let Some(Value::Array(schemas)) = schema.get(name)
            && !schemas.is_empty()
        {
            out.insert(name.to_owned(), schemas.iter().map(nested).collect());
        }
    }
    if let Some(not @ Value::Object(_)) = schema.get("not") {
        out.insert("not".to_owned(), nested(not));
    }
}

/// A schema below `allOf`, `anyOf`, `oneOf` or `not`. Its keywords about other fields are validated and not published.
/// In Kubernetes: `NestedValueValidation.toKubeOpenAPI`.
fn nested(schema: &Value) -> Value {
    let Some(schema) = schema.as_object() else { return json!({}) };
    let mut out = said(schema);
    if let Some(items @ Value::Object(_)) = schema.get("items") {
        out.insert("items".to_owned(), nested(items));
    }
    if let Some(Value::Object(properties)) = schema.get("properties") {
        let properties: Map<_, _> = properties.iter().map(|(name, schema)| (name.clone(), nested(schema))).collect();
        if !properties.is_empty() {
            out.insert("properties".to_owned(), properties.into());
        }
    }
    add_junctors(schema, &mut out);
    Value::Object(out)
}

/// Expresses an int-or-string with standard keywords, for clients that do not know the extension.
fn unfold(out: &mut Map<String, Value>) {
    if out.get("x-kubernetes-int-or-string") != Some(&Value::Bool(true)) {
        return;
    }
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    let first = out.get("allOf").and_then(|all| all.get(0));
    if out.get("anyOf") == Some(&either) || first == Some(&json!({"anyOf": either})) {
        return;
    }
    if out.contains_key("anyOf") {
        let mut all = out.get("allOf").and_then(Value::as_array).cloned().unwrap_or_default();
        all.insert(0, json!({"anyOf": either}));
        out.insert("allOf".to_owned(), all.into());
    } else {
        out.insert("anyOf".to_owned(), either);
    }
}

/// In v2, a value that is nullable or preserves unknown fields has no type and nothing below it, because kubectl does
/// not support more. Defaults are removed, too.
fn fit_version_two(schema: &Map<String, Value>, out: &mut Map<String, Value>) {
    let says = |name: &str| schema.get(name) == Some(&Value::Bool(true));
    let (nullable, unknown) = (says("nullable"), says("x-kubernetes-preserve-unknown-fields"));
    out.remove("nullable");
    out.remove("default");
    if nullable || unknown {
        out.remove("items");
        out.remove("properties");
    }
    let is = |name: &str| schema.get("type").is_some_and(|own| own == name);
    if nullable || unknown && is("object") || is("array") && !out.contains_key("items") {
        out.remove("type");
    }
    let may_be_null = |schema: Option<&Value>| schema.is_some_and(|schema| schema["nullable"] == true);
    let properties = schema.get("properties").filter(|_| out.contains_key("properties"));
    if let Some(Value::Array(required)) = out.get_mut("required") {
        required.retain(|name| !may_be_null(properties.and_then(|all| all.get(name.as_str()?))));
        if required.is_empty() || may_be_null(schema.get("additionalProperties")) {
            out.remove("required");
        }
    }
}
