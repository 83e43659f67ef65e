use schemars::Schema;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::{Map, Value, json};

/// The schema in the form that editors show best. It permits the same files, except those with a key without a value,
/// which the parser refuses.
pub(super) fn tidied(mut schema: Schema) -> Schema {
    Tidy.transform(&mut schema);
    schema
}

struct Tidy;

impl Transform for Tidy {
    fn transform(&mut self, schema: &mut Schema) {
        without_null(schema);
        without_formats(schema);
        one_key_of_many(schema);
        one_word_of_many(schema);
        transform_subschemas(self, schema);
    }
}

/// An absent value is no value: there is no null.
fn without_null(schema: &mut Schema) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    let is_null = |schema: &Value| schema["type"] == "null";
    let Some(Value::Array(any)) = schema.get_mut("anyOf") else { return };
    if any.iter().any(is_null) {
        any.retain(|schema| !is_null(schema));
        if let [Value::Object(only)] = &any[..] {
            let only = only.clone();
            schema.remove("anyOf");
            for (name, value) in only {
                schema.ensure_object().entry(name).or_insert(value);
            }
        }
    }
}

/// Removes the widths of numbers, and defaults that say nothing.
fn without_formats(schema: &mut Schema) {
    schema.remove("format");
    let says_nothing = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(_) => true,
        Value::Bool(_) | Value::Number(_) => false,
    };
    if schema.get("default").is_some_and(says_nothing) {
        schema.remove("default");
    }
}

/// Makes one object with one key of a choice between objects with one key: an editor proposes the keys of an object.
fn one_key_of_many(schema: &mut Schema) {
    let Some(Value::Array(choices)) = schema.get("oneOf") else { return };
    let key = |choice: &Value| {
        let properties = choice["properties"].as_object().filter(|keys| keys.len() == 1)?;
        let (name, value) = properties.iter().next()?;
        let mut value = value.as_object()?.clone();
        value.insert("description".to_owned(), choice.get("description")?.clone());
        Some((name.clone(), Value::Object(value)))
    };
    let Some(properties) = choices.iter().map(key).collect::<Option<Map<String, Value>>>() else { return };
    schema.remove("oneOf");
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("additionalProperties".to_owned(), false.into());
    schema.insert("minProperties".to_owned(), json!(1));
    schema.insert("maxProperties".to_owned(), json!(1));
}

/// Makes one list of words with meanings of a choice between words, so that a message about another word lists them.
fn one_word_of_many(schema: &mut Schema) {
    let Some(Value::Array(choices)) = schema.get("oneOf") else { return };
    let word = |choice: &Value| Some((choice.get("const")?.clone(), choice.get("description")?.clone()));
    let Some((words, meanings)) = choices.iter().map(word).collect::<Option<(Vec<Value>, Vec<Value>)>>() else {
        return;
    };
    schema.remove("oneOf");
    schema.insert("type".to_owned(), "string".into());
    schema.insert("enum".to_owned(), Value::Array(words));
    schema.insert("markdownEnumDescriptions".to_owned(), Value::Array(meanings));
}
