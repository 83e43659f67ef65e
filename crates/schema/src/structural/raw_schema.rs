//! Reads an unprocessed `openAPIV3Schema`.

use serde_json::{Map, Value};

/// Reads keywords of a schema. `null` counts as absent, as in Go.
pub(super) trait Raw {
    fn key(&self, name: &str) -> Option<&Value>;

    fn text(&self, name: &str) -> &str {
        self.key(name).and_then(Value::as_str).unwrap_or("")
    }

    fn flag(&self, name: &str) -> bool {
        self.key(name).and_then(Value::as_bool).unwrap_or(false)
    }

    fn list(&self, name: &str) -> &[Value] {
        self.key(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn fields(&self, name: &str) -> impl Iterator<Item = (&String, &Value)> {
        self.key(name).and_then(Value::as_object).into_iter().flat_map(Map::iter)
    }

    fn type_name(&self) -> &str {
        self.text("type")
    }

    /// The schema of all items of a list.
    fn item_schema(&self) -> Option<&Value> {
        self.key("items").filter(|items| items.is_object())
    }
}

impl Raw for Value {
    fn key(&self, name: &str) -> Option<&Value> {
        self.get(name).filter(|value| !value.is_null())
    }
}

/// The schemas of `allOf`, `anyOf` and `oneOf`: keyword, schema, index in the list.
pub(super) fn nested(schema: &Value) -> impl Iterator<Item = (&'static str, &Value, usize)> {
    ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .flat_map(|name| schema.list(name).iter().enumerate().map(move |(at, below)| (name, below, at)))
}

/// Whether the alternatives of `anyOf` are integer and string, and nothing else.
pub(super) fn is_int_or_string(schema: &Value) -> bool {
    let only = |below: &Value, name: &str| {
        below.as_object().is_some_and(|fields| fields.len() == 1) && below.type_name() == name
    };
    matches!(schema.list("anyOf"), [first, second] if only(first, "integer") && only(second, "string"))
}

/// Why a schema has no structural form. In Kubernetes: `validateUnsupportedFields`.
pub(super) fn unsupported(schema: &Value) -> Option<&'static str> {
    let here = [
        ("id", "OpenAPIV3Schema 'id' is not supported"),
        ("$schema", "OpenAPIV3Schema 'schema' is not supported"),
        ("$ref", "OpenAPIV3Schema '$ref' is not supported"),
        ("patternProperties", "OpenAPIV3Schema 'patternProperties' is not supported"),
        ("dependencies", "OpenAPIV3Schema 'dependencies' is not supported"),
        ("additionalItems", "OpenAPIV3Schema 'additionalItems' is not supported"),
        ("definitions", "OpenAPIV3Schema 'definitions' is not supported"),
    ];
    let is_said = |name: &str| match schema.key(name) {
        Some(Value::Object(fields)) if name == "patternProperties" || name == "definitions" => !fields.is_empty(),
        Some(Value::String(text)) if name != "$ref" => !text.is_empty(),
        found => found.is_some(),
    };
    let own = here.into_iter().find(|(name, _)| is_said(name)).map(|(_, what)| what);
    let is_list = schema.key("items").is_some_and(Value::is_array);
    let of_items = is_list.then_some("OpenAPIV3Schema 'items' must be a schema, but is an array");
    own.or(of_items).or_else(|| below(schema).find_map(unsupported))
}

/// All schemas within a schema that its structural form would have.
fn below(schema: &Value) -> impl Iterator<Item = &Value> {
    let single = ["not", "additionalProperties", "items"].into_iter().filter_map(|name| schema.key(name));
    let fields = schema.fields("properties").map(|(_, below)| below);
    single.filter(|below| below.is_object()).chain(fields).chain(nested(schema).map(|(_, below, _)| below))
}
