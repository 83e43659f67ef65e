//! The OpenAPI v2 document in protobuf, which kubectl before 1.29 and client-side apply read.
//!
//! The messages are gnostic's `openapi.v2.Document`, with the fields that Coracle's document has. Extensions are
//! written as JSON, which is valid YAML.

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
    out.message(10, "parameters", |parameters| parameters.named(1, parameter));
    out.messages(12, "security", |security| security.named(1, |values| values.own_texts(1)));
    out.message(13, "securityDefinitions", |definitions| {
        definitions.named(1, |item| {
            item.wrapped(2, |key| {
                key.text(1, "type");
                key.text(2, "name");
                key.text(3, "in");
                key.text(4, "description");
            });
        });
    });
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

/// `ParametersItem`: a reference or a `Parameter`.
fn parameters_item(item: &mut Message<'_>) {
    if item.get_text("$ref").is_empty() {
        item.wrapped(1, parameter);
    } else {
        item.wrapped(2, |reference| reference.text(1, "$ref"));
    }
}

/// `Parameter`: a parameter in the body or another one.
fn parameter(parameter: &mut Message<'_>) {
    match parameter.get_text("in") {
        "body" => parameter.wrapped(1, |body| {
            body.text(1, "description");
            body.text(2, "name");
            body.text(3, "in");
            body.flag(4, "required");
            body.message(5, "schema", schema);
        }),
        "path" => parameter.wrapped(2, |other| other.wrapped(4, |path| plain_parameter(path, [5, 6, 19]))),
        _ => parameter.wrapped(2, |other| other.wrapped(3, |query| plain_parameter(query, [6, 7, 20]))),
    }
}

/// A parameter in the path or the query; some field numbers of the two differ.
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
    schema_message.text(3, "title");
    schema_message.text(4, "description");
    for (tag, name) in [(6, "multipleOf"), (7, "maximum"), (9, "minimum")] {
        schema_message.double(tag, name);
    }
    for (tag, name) in [(8, "exclusiveMaximum"), (10, "exclusiveMinimum"), (16, "uniqueItems")] {
        schema_message.flag(tag, name);
    }
    for (tag, name) in [
        (11, "maxLength"),
        (12, "minLength"),
        (14, "maxItems"),
        (15, "minItems"),
        (17, "maxProperties"),
        (18, "minProperties"),
    ] {
        schema_message.count(tag, name);
    }
    schema_message.text(13, "pattern");
    schema_message.texts(19, "required");
    schema_message.messages(20, "enum", |value| value.own_yaml(2));
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

    /// The value itself, which is a string.
    fn own_text(&mut self, tag: u32) {
        if let Some(text) = self.value.as_str() {
            self.push(tag, text.as_bytes());
        }
    }

    fn texts(&mut self, tag: u32, name: &str) {
        self.push_texts(tag, self.value.get(name));
    }

    /// The strings of the value itself, which is a list.
    fn own_texts(&mut self, tag: u32) {
        self.push_texts(tag, Some(self.value));
    }

    fn push_texts(&mut self, tag: u32, list: Option<&Value>) {
        let list = list.and_then(Value::as_array);
        for text in list.into_iter().flatten().filter_map(Value::as_str) {
            self.push(tag, text.as_bytes());
        }
    }

    /// The value itself as JSON, which is valid YAML.
    fn own_yaml(&mut self, tag: u32) {
        self.push(tag, self.value.to_string().as_bytes());
    }

    /// A floating-point number; zero is not written.
    fn double(&mut self, tag: u32, name: &str) {
        if let Some(number) = self.value.get(name).and_then(Value::as_f64).filter(|number| *number != 0.0) {
            push_varint(u64::from(tag << 3 | 1), &mut self.bytes);
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// An integer; zero is not written.
    fn count(&mut self, tag: u32, name: &str) {
        if let Some(number) = self.value.get(name).and_then(Value::as_u64).filter(|number| *number != 0) {
            push_varint(u64::from(tag << 3), &mut self.bytes);
            push_varint(number, &mut self.bytes);
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

    /// The same value inside another message.
    fn wrapped(&mut self, tag: u32, write: impl Fn(&mut Message<'_>)) {
        let mut inner = Message::of(self.value);
        write(&mut inner);
        self.push(tag, &inner.bytes);
    }

    /// The members of an object, each as a message with its name and its value.
    fn named(&mut self, tag: u32, write: impl Fn(&mut Message<'_>)) {
        for (name, value) in self.members() {
            let (mut named, mut inner) = (Message::of(value), Message::of(value));
            write(&mut inner);
            named.push(1, name.as_bytes());
            named.push(2, &inner.bytes);
            self.push(tag, &named.bytes);
        }
    }

    /// The members that begin with `x-`, each with its name and its value in YAML.
    fn extensions(&mut self, tag: u32) {
        for (name, value) in self.members().filter(|(name, _)| name.starts_with("x-")) {
            let (mut named, mut any) = (Message::of(value), Message::of(value));
            any.own_yaml(2);
            named.push(1, name.as_bytes());
            named.push(2, &any.bytes);
            self.push(tag, &named.bytes);
        }
    }
}

/// A varint of protobuf.
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
    fn numbers_flags_and_values_are_written_unless_they_are_nothing() {
        let value =
            json!({"minimum": 0, "maximum": 1, "minLength": 0, "maxLength": 300, "uniqueItems": true, "enum": ["a"]});
        let mut message = Message::of(&value);
        schema(&mut message);
        let maximum = [57, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f];
        let rest = [0x80, 1, 1, 88, 0xac, 2, 0xa2, 1, 5, 18, 3, b'"', b'a', b'"'];
        assert_eq!(message.bytes, [&maximum[..], &rest].concat());
    }

    #[test]
    fn a_parameter_is_said_or_referred_to() {
        let value = json!([{"$ref": "#/p"}, {"in": "query", "name": "a", "type": "string"}]);
        let [reference, said] = [0, 1].map(|at| {
            let mut message = Message::of(&value[at]);
            parameters_item(&mut message);
            message.bytes
        });
        assert_eq!(reference, [18, 5, 10, 3, b'#', b'/', b'p']);
        assert_eq!(said[..2], [10, 22]);
    }

    #[test]
    fn an_extension_is_yaml() {
        let value = json!({"x-k": [1], "other": 2});
        let mut message = Message::of(&value);
        message.extensions(31);
        assert_eq!(message.bytes, [0xfa, 1, 12, 10, 3, b'x', b'-', b'k', 18, 5, 18, 3, b'[', b'1', b']']);
    }
}
