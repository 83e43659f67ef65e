//! Version 2 of the OpenAPI document in protobuf, as kubectl before 1.29 and client-side apply read it.
//!
//! The messages are gnostic's `openapi.v2.Document`; of their fields those are written that our document has. Extensions
//! are carried as YAML, which JSON is.

use serde_json::{Map, Value};

/// The whole document.
pub(crate) fn document(document: &Value) -> Vec<u8> {
    let mut out = Message::of(document);
    out.text(1, "swagger");
    out.message(2, "info", |info| {
        info.text(1, "title");
        info.text(2, "version");
    });
    out.message(8, "paths", |paths| paths.named(2, path_item));
    out.message(9, "definitions", |definitions| definitions.named(1, schema));
    out.bytes
}

fn path_item(item: &mut Message<'_>) {
    let methods = [(2, "get"), (3, "put"), (4, "post"), (5, "delete"), (6, "options"), (7, "head"), (8, "patch")];
    for (tag, method) in methods {
        item.message(tag, method, operation);
    }
    item.messages(9, "parameters", parameters_item);
}

fn operation(operation: &mut Message<'_>) {
    operation.texts(1, "tags");
    operation.text(3, "description");
    operation.text(5, "operationId");
    operation.texts(6, "produces");
    operation.texts(7, "consumes");
    operation.messages(8, "parameters", parameters_item);
    operation.message(9, "responses", |responses| {
        responses.named(1, |value| value.wrapped(1, response));
    });
    operation.texts(10, "schemes");
    operation.extensions(13);
}

fn response(response: &mut Message<'_>) {
    response.text(1, "description");
    response.message(2, "schema", |item| item.wrapped(1, schema));
}

/// `ParametersItem` holds a `Parameter`, which holds one for a body or one of the others.
fn parameters_item(item: &mut Message<'_>) {
    item.wrapped(1, |parameter| match parameter.get_text("in") {
        "body" => parameter.wrapped(1, |body| {
            body.text(1, "description");
            body.text(2, "name");
            body.text(3, "in");
            body.flag(4, "required");
            body.message(5, "schema", schema);
        }),
        "path" => parameter.wrapped(2, |other| other.wrapped(4, |path| plain_parameter(path, [5, 6, 19]))),
        _ => parameter.wrapped(2, |other| other.wrapped(3, |query| plain_parameter(query, [6, 7, 20]))),
    });
}

/// A parameter of a path or a query; the two number some fields differently.
fn plain_parameter(parameter: &mut Message<'_>, [kind, format, unique]: [u32; 3]) {
    parameter.flag(1, "required");
    parameter.text(2, "in");
    parameter.text(3, "description");
    parameter.text(4, "name");
    parameter.text(kind, "type");
    parameter.text(format, "format");
    parameter.flag(unique, "uniqueItems");
}

fn schema(schema_message: &mut Message<'_>) {
    schema_message.text(1, "$ref");
    schema_message.text(2, "format");
    schema_message.text(4, "description");
    schema_message.texts(19, "required");
    match schema_message.value.get("additionalProperties") {
        Some(Value::Bool(_)) => schema_message.wrapped(21, |item| item.flag(2, "additionalProperties")),
        _ => schema_message.message(21, "additionalProperties", |item| item.wrapped(1, schema)),
    }
    schema_message.message(22, "type", |item| item.own_text(1));
    schema_message.message(23, "items", |items| items.wrapped(1, schema));
    schema_message.message(25, "properties", |properties| properties.named(1, schema));
    schema_message.extensions(31);
}

/// A message that is being written from a JSON value.
struct Message<'v> {
    value: &'v Value,
    bytes: Vec<u8>,
}

impl<'v> Message<'v> {
    fn of(value: &'v Value) -> Self {
        Self { value, bytes: Vec::new() }
    }

    fn members(&self) -> impl Iterator<Item = (&'v String, &'v Value)> + use<'v> {
        self.value.as_object().into_iter().flat_map(Map::iter)
    }

    fn get_text(&self, name: &str) -> &'v str {
        self.value.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn push(&mut self, tag: u32, bytes: &[u8]) {
        push_varint(u64::from(tag << 3 | 2), &mut self.bytes);
        push_varint(bytes.len() as u64, &mut self.bytes);
        self.bytes.extend_from_slice(bytes);
    }

    fn text(&mut self, tag: u32, name: &str) {
        let text = self.get_text(name);
        if !text.is_empty() {
            self.push(tag, text.as_bytes());
        }
    }

    /// The value itself, which is a text.
    fn own_text(&mut self, tag: u32) {
        if let Some(text) = self.value.as_str() {
            self.push(tag, text.as_bytes());
        }
    }

    fn texts(&mut self, tag: u32, name: &str) {
        let list = self.value.get(name).and_then(Value::as_array);
        for text in list.into_iter().flatten().filter_map(Value::as_str) {
            self.push(tag, text.as_bytes());
        }
    }

    fn flag(&mut self, tag: u32, name: &str) {
        if self.value.get(name) == Some(&Value::Bool(true)) {
            push_varint(u64::from(tag << 3), &mut self.bytes);
            self.bytes.push(1);
        }
    }

    /// A member as a message.
    fn message(&mut self, tag: u32, name: &str, write: impl Fn(&mut Message<'_>)) {
        if let Some(value) = self.value.get(name) {
            let mut inner = Message::of(value);
            write(&mut inner);
            self.push(tag, &inner.bytes);
        }
    }

    /// The elements of a list, each as a message.
    fn messages(&mut self, tag: u32, name: &str, write: impl Fn(&mut Message<'_>)) {
        for element in self.value.get(name).and_then(Value::as_array).into_iter().flatten() {
            let mut inner = Message::of(element);
            write(&mut inner);
            self.push(tag, &inner.bytes);
        }
    }

    /// The same value inside one more message.
    fn wrapped(&mut self, tag: u32, write: impl Fn(&mut Message<'_>)) {
        let mut inner = Message::of(self.value);
        write(&mut inner);
        self.push(tag, &inner.bytes);
    }

    /// The members of an object, each as a message of its name and its value.
    fn named(&mut self, tag: u32, write: impl Fn(&mut Message<'_>)) {
        for (name, value) in self.members() {
            let (mut named, mut inner) = (Message::of(value), Message::of(value));
            write(&mut inner);
            named.push(1, name.as_bytes());
            named.push(2, &inner.bytes);
            self.push(tag, &named.bytes);
        }
    }

    /// The members that begin with `x-`, each as its name and its value in YAML.
    fn extensions(&mut self, tag: u32) {
        for (name, value) in self.members().filter(|(name, _)| name.starts_with("x-")) {
            let (mut named, mut any) = (Message::of(value), Message::of(value));
            any.push(2, value.to_string().as_bytes());
            named.push(1, name.as_bytes());
            named.push(2, &any.bytes);
            self.push(tag, &named.bytes);
        }
    }
}

/// A number in protobuf's base 128.
fn push_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_definition_is_a_named_schema() {
        let bytes = document(&json!({"definitions": {"A": {"type": "string"}}}));
        let schema = [0xb2, 1, 8, 10, 6, b's', b't', b'r', b'i', b'n', b'g'];
        let named = [&[10, 1, b'A', 18, 11][..], &schema].concat();
        let definitions = [&[10, 16][..], &named].concat();
        assert_eq!(bytes, [&[74, 18][..], &definitions].concat());
    }

    #[test]
    fn an_extension_is_yaml() {
        let value = json!({"x-k": [1], "other": 2});
        let mut message = Message::of(&value);
        message.extensions(31);
        assert_eq!(message.bytes, [0xfa, 1, 12, 10, 3, b'x', b'-', b'k', 18, 5, 18, 3, b'[', b'1', b']']);
    }
}
