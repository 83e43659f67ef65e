//! Decodes a [`DecodeSource`] by a type, with the effect of decoding into a Go struct and encoding it again.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use coracle_meta::Quantity;
use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::go;
use crate::go_time::{GoTime, Layout, is_plain};
use crate::kind_schema::KindSchema;
use crate::structural::Structural;
use crate::table::{Presence, Special, Struct, TypeNode, TypeRef};
use crate::text::raw::{DecodeSource, Digits, Opened};

/// The maximum number of reported strict errors. In Kubernetes: 100.
const MAX_STRICT: usize = 100;

/// Decodes base64 like Go.
///
/// # Errors
/// The position of the first invalid character, in Go's words.
pub fn decode_base64(text: &str) -> Result<Vec<u8>, String> {
    let text: String = text.chars().filter(|sign| !matches!(sign, '\r' | '\n')).collect();
    STANDARD.decode(&text).map_err(|error| {
        let at = match error {
            base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => at,
            base64::DecodeError::InvalidLength(_) | base64::DecodeError::InvalidPadding => text.len() / 4 * 4,
        };
        format!("illegal base64 data at input byte {at}")
    })
}

/// The form of an object after a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecodedForm {
    /// As received: an empty list that is always printed stays empty.
    Received,
    /// As stored: such a list is `null`, because Kubernetes stores protobuf, which does not distinguish them.
    Stored,
}

/// The state of a decode.
pub(crate) struct Pass<'t> {
    form: DecodedForm,
    /// The first error of a value that does not match its type; decoding continues, as in Go.
    pub(crate) error: Option<String>,
    /// Unknown and duplicate fields, in the order of the text.
    pub(crate) strict: Vec<String>,
    /// The current path in strict errors: `spec.containers[0].ports`.
    path: String,
    /// The current place in type errors: the Go struct and the fields from the root.
    go_struct: &'t str,
    go_fields: Vec<&'t str>,
    /// The named scalar type of the current field, or of its elements.
    go_type: Option<&'t str>,
}

impl<'t> Pass<'t> {
    pub(crate) fn new(form: DecodedForm) -> Self {
        Self {
            form,
            error: None,
            strict: Vec::new(),
            path: String::new(),
            go_struct: "",
            go_fields: Vec::new(),
            go_type: None,
        }
    }

    /// A whole object: typed for a built-in kind; pruned by its schema and with typed metadata for a custom kind.
    pub(crate) fn resource<S: DecodeSource>(&mut self, source: S, schema: &'t KindSchema) -> Option<Value> {
        match (schema.structural(), source.open()) {
            (Some(structural), Opened::Object(fields)) => Some(self.custom::<S>(fields, structural, schema)),
            (_, opened) => self.opened(opened, schema.root()),
        }
    }

    fn custom<S: DecodeSource>(&mut self, fields: S::Fields, structural: &Structural, schema: &'t KindSchema) -> Value {
        let metadata = schema.root().step("metadata");
        let mut out = Map::new();
        for (name, source) in fields {
            let value = match metadata.filter(|_| name == "metadata") {
                Some(ty) => self.within(&name, |pass| pass.value(source, ty)),
                None => Some(self.within(&name, |pass| pass.free(source))),
            };
            if value.is_some_and(|value| out.insert(name.clone(), value).is_some()) {
                self.strict("duplicate", &name);
            }
        }
        for path in structural.prune(&mut out) {
            self.strict("unknown", &path);
        }
        let mut out = Value::Object(out);
        if let Some(ty) = metadata {
            structural.each_embedded(&mut out, &mut String::new(), &mut |resource, path| {
                self.metadata_within(resource, path, ty);
            });
        }
        out
    }

    /// Decodes the metadata of an embedded resource as ObjectMeta.
    fn metadata_within(&mut self, resource: &mut Map<String, Value>, path: &str, ty: TypeRef<'t>) {
        let Some(slot) = resource.get_mut("metadata") else { return };
        let outer = std::mem::replace(&mut self.path, format!("{path}.metadata"));
        // Kubernetes decodes and encodes it again, which omits empty values.
        let form = std::mem::replace(&mut self.form, DecodedForm::Stored);
        let read = self.value(slot.take(), ty);
        (self.path, self.form) = (outer, form);
        match read {
            Some(metadata) => *slot = metadata,
            None => drop(resource.remove("metadata")),
        }
    }

    /// The value as Kubernetes prints it; `None` for an absent value (`null`, or of another type).
    pub(crate) fn value<S: DecodeSource>(&mut self, source: S, ty: TypeRef<'t>) -> Option<Value> {
        self.opened(source.open(), ty)
    }

    fn opened<S: DecodeSource>(&mut self, opened: Opened<S>, ty: TypeRef<'t>) -> Option<Value> {
        match (ty.node(), opened) {
            (_, Opened::Null) => None,
            (TypeNode::String, Opened::String(text)) => Some(Value::String(text)),
            (TypeNode::Bool, Opened::Bool(value)) => Some(Value::Bool(value)),
            (TypeNode::Int32, Opened::Number(digits)) if is_int32(&digits) => Some(Value::Number(digits.number())),
            (TypeNode::Int64, Opened::Number(digits)) if digits.whole().is_some() => {
                Some(Value::Number(digits.number()))
            }
            (TypeNode::Double, Opened::Number(digits)) => Some(Value::Number(digits.double())),
            (TypeNode::Int32 | TypeNode::Int64, Opened::Number(digits)) => {
                self.wrong_type(&format!("number {digits}"), ty)
            }
            (TypeNode::Bytes, Opened::String(text)) => self.bytes(&text),
            (TypeNode::Bytes, Opened::List(elements)) => Some(self.listed_bytes::<S>(elements)),
            (TypeNode::Struct(body), Opened::Object(fields)) => Some(self.object::<S>(fields, body, ty)),
            (TypeNode::List, Opened::List(elements)) => self.list::<S>(elements, ty),
            (TypeNode::Map, Opened::Object(fields)) => self.map::<S>(fields, ty),
            (TypeNode::Special(special), opened) => self.special(opened, special, ty),
            (TypeNode::Any, opened) => Some(self.free_opened(opened)),
            (_, opened) => self.wrong_type(opened.kind_name(), ty),
        }
    }

    /// Records the first value with a wrong type.
    fn wrong_type(&mut self, what: &str, ty: TypeRef<'t>) -> Option<Value> {
        self.not_of_type(what, &go::type_name(ty, self.go_type))
    }

    fn not_of_type(&mut self, what: &str, ty: &str) -> Option<Value> {
        let place = if self.go_fields.is_empty() {
            format!("Go value of type {ty}")
        } else {
            format!("Go struct field {}.{} of type {ty}", self.go_struct, self.go_fields.join("."))
        };
        self.fail(format!("json: cannot unmarshal {what} into {place}"))
    }

    fn fail(&mut self, error: String) -> Option<Value> {
        self.error.get_or_insert(error);
        None
    }

    fn strict(&mut self, what: &str, name: &str) {
        if self.strict.len() < MAX_STRICT {
            let dot = if self.path.is_empty() { "" } else { "." };
            let finding = format!("{what} field \"{}{dot}{name}\"", self.path);
            if !self.strict.contains(&finding) {
                self.strict.push(finding);
            }
        }
    }

    /// Runs `run` at an index of a list.
    fn at<T>(&mut self, index: usize, run: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.path.len();
        let _ = write!(self.path, "[{index}]");
        let result = run(self);
        self.path.truncate(before);
        result
    }

    /// Runs `run` at a field of an object.
    fn within<T>(&mut self, step: &str, run: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.path.len();
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(step);
        let result = run(self);
        self.path.truncate(before);
        result
    }

    fn object<S: DecodeSource>(&mut self, fields: S::Fields, body: &'t Struct, ty: TypeRef<'t>) -> Value {
        let mut out = Map::new();
        let mut seen: Vec<&str> = Vec::new();
        let outer = std::mem::replace(&mut self.go_struct, go::struct_name(ty));
        for (name, source) in fields {
            let Some(field) = body.field(&name) else {
                self.unknown(name, source, body, &mut out);
                continue;
            };
            if seen.contains(&field.name.as_str()) {
                self.strict("duplicate", &name);
            } else {
                seen.push(&field.name);
            }
            let field_type = ty.of(field);
            self.go_fields.push(&field.name);
            let outer_type = std::mem::replace(&mut self.go_type, field.go_type.as_deref());
            let value = self.within(&name, |pass| pass.value(source, field_type));
            self.go_type = outer_type;
            self.go_fields.pop();
            let value = match (out.remove(&name), value) {
                (Some(first), Some(second)) => Some(overlaid(first, second, field_type)),
                (_, value) => value,
            };
            let keeps = |value: &Value| field.presence != Presence::NonZero || !is_zero(value, field_type);
            match value.filter(keeps) {
                Some(value) => drop(out.insert(name, value)),
                None => drop(out.remove(&name)),
            }
        }
        self.go_struct = outer;
        print_always(body, ty, &mut out, self.form);
        Value::Object(out)
    }

    fn unknown<S: DecodeSource>(&mut self, name: String, source: S, body: &Struct, out: &mut Map<String, Value>) {
        if body.preserves_unknown {
            let value = self.within(&name, |pass| pass.free(source));
            self.insert(out, name, value);
        } else {
            self.strict("unknown", &name);
        }
    }

    fn list<S: DecodeSource>(&mut self, elements: S::Elements, ty: TypeRef<'t>) -> Option<Value> {
        let element = ty.element()?;
        let mut out = Vec::with_capacity(elements.len());
        for (at, source) in elements.enumerate() {
            let value = self.at(at, |pass| pass.value(source, element));
            out.push(value.unwrap_or_else(|| zero(element)));
        }
        Some(Value::Array(out))
    }

    fn map<S: DecodeSource>(&mut self, fields: S::Fields, ty: TypeRef<'t>) -> Option<Value> {
        let element = ty.element()?;
        let mut out = Map::new();
        for (name, source) in fields {
            let value = self.within(&name, |pass| pass.value(source, element)).unwrap_or_else(|| zero(element));
            self.insert(&mut out, name, value);
        }
        Some(Value::Object(out))
    }

    /// A value without a type; duplicate fields are still reported.
    pub(crate) fn free<S: DecodeSource>(&mut self, source: S) -> Value {
        match source.into_tree() {
            Ok(value) => value,
            Err(source) => self.free_opened(source.open()),
        }
    }

    fn free_opened<S: DecodeSource>(&mut self, opened: Opened<S>) -> Value {
        match opened {
            Opened::Null => Value::Null,
            Opened::Bool(value) => Value::Bool(value),
            Opened::Number(digits) => Value::Number(digits.number()),
            Opened::String(text) => Value::String(text),
            Opened::List(elements) => {
                let read = |(at, source)| self.at(at, |pass| pass.free(source));
                Value::Array(elements.enumerate().map(read).collect())
            }
            Opened::Object(fields) => {
                let mut out = Map::new();
                for (name, source) in fields {
                    let value = self.within(&name, |pass| pass.free(source));
                    self.insert(&mut out, name, value);
                }
                Value::Object(out)
            }
        }
    }

    /// Adds a field; the last of two fields with the same name counts, and the duplicate is reported.
    fn insert(&mut self, out: &mut Map<String, Value>, name: String, value: Value) {
        match out.entry(name) {
            Entry::Vacant(slot) => drop(slot.insert(value)),
            Entry::Occupied(mut slot) => {
                slot.insert(value);
                let name = slot.key().clone();
                self.strict("duplicate", &name);
            }
        }
    }

    fn bytes(&mut self, text: &str) -> Option<Value> {
        match decode_base64(text) {
            Ok(bytes) => Some(Value::String(STANDARD.encode(bytes))),
            Err(why) => self.fail(why),
        }
    }

    /// Bytes as a list of numbers, which some clients send. In Go: `encoding/json` decodes a `[]byte` from both forms,
    /// and `null` is zero.
    fn listed_bytes<S: DecodeSource>(&mut self, elements: S::Elements) -> Value {
        let bytes: Vec<u8> = elements.map(|source| self.byte(source.open())).collect();
        Value::String(STANDARD.encode(bytes))
    }

    fn byte<S: DecodeSource>(&mut self, opened: Opened<S>) -> u8 {
        let what = match opened {
            Opened::Null => return 0,
            Opened::Number(digits) => {
                let digits = digits.to_string();
                match digits.parse() {
                    Ok(byte) => return byte,
                    Err(_) => format!("number {digits}"),
                }
            }
            other => other.kind_name().to_owned(),
        };
        let _ = self.not_of_type(&what, "uint8");
        0
    }

    fn special<S: DecodeSource>(&mut self, opened: Opened<S>, special: Special, ty: TypeRef<'t>) -> Option<Value> {
        match (special, opened) {
            (Special::Quantity, Opened::String(text)) => self.quantity(text),
            (Special::Quantity, Opened::Number(digits)) => self.quantity(digits.to_string()),
            (Special::Quantity, _) => self.fail(coracle_meta::QuantityError::Malformed.to_string()),
            (Special::IntOrString, Opened::String(text)) => Some(Value::String(text)),
            (Special::IntOrString, Opened::Number(digits)) if is_int32(&digits) => Some(Value::Number(digits.number())),
            (Special::IntOrString, Opened::Number(digits)) => self.wrong_type(&format!("number {digits}"), ty),
            (Special::IntOrString, opened) => self.wrong_type(opened.kind_name(), ty),
            (Special::Time, Opened::String(text)) => self.time(&text, Layout::Seconds),
            (Special::MicroTime, Opened::String(text)) => self.time(&text, Layout::Micros),
            (Special::Time | Special::MicroTime, opened) => self.not_of_type(opened.kind_name(), "string"),
            (Special::SchemaOrArray, Opened::List(elements)) => {
                let schema = ty.json_schema()?;
                list_or_nothing(elements.filter_map(|source| self.value(source, schema)).collect())
            }
            (Special::SchemaOrArray | Special::SchemaOrBool | Special::SchemaOrStrings, opened @ Opened::Object(_)) => {
                self.opened(opened, ty.json_schema()?)
            }
            (Special::SchemaOrBool, Opened::Bool(value)) => Some(Value::Bool(value)),
            (Special::SchemaOrBool, _) => self.fail("boolean or JSON schema expected".to_owned()),
            (Special::SchemaOrStrings, Opened::List(elements)) => {
                list_or_nothing(elements.filter_map(|source| self.text(source)).collect())
            }
            // Go's decoders of these types ignore any other value.
            (Special::SchemaOrArray | Special::SchemaOrStrings, _) => None,
            (_, opened) => Some(self.free_opened(opened)),
        }
    }

    /// An element of a list of strings that is decoded separately.
    fn text<S: DecodeSource>(&mut self, source: S) -> Option<Value> {
        match source.open() {
            Opened::Null => Some(Value::String(String::new())),
            Opened::String(text) => Some(Value::String(text)),
            other => {
                let kind = other.kind_name();
                self.fail(format!("json: cannot unmarshal {kind} into Go value of type string"))
            }
        }
    }

    fn quantity(&mut self, text: String) -> Option<Value> {
        match Quantity::parse(text.trim()) {
            Ok(quantity) => Some(Value::String(quantity.to_string())),
            Err(error) => self.fail(error.to_string()),
        }
    }

    /// A time as Go prints it; Go's zero time counts as absent.
    fn time(&mut self, text: &str, layout: Layout) -> Option<Value> {
        if is_plain(text, layout) {
            return Some(Value::from(text));
        }
        let read = match self.form {
            DecodedForm::Received => GoTime::parse(text, layout),
            DecodedForm::Stored => GoTime::read_printed(text, layout).map_or_else(|| GoTime::parse(text, layout), Ok),
        };
        match read {
            Ok(time) => time.print(layout).map(Value::String),
            Err(error) => self.fail(error),
        }
    }
}

fn is_int32(digits: &Digits) -> bool {
    digits.whole().is_some_and(|number| i32::try_from(number).is_ok())
}

/// A list, or `None` if it is empty: Go omits both.
fn list_or_nothing(list: Vec<Value>) -> Option<Value> {
    (!list.is_empty()).then_some(Value::Array(list))
}

/// The value of a duplicate field: Go decodes the second value into the first.
fn overlaid(first: Value, second: Value, ty: TypeRef<'_>) -> Value {
    match (ty.node(), first, second) {
        (TypeNode::Struct(_), Value::Object(mut first), Value::Object(second)) => {
            for (name, value) in second {
                let value = match (first.remove(&name), ty.step(&name)) {
                    (Some(own), Some(ty)) => overlaid(own, value, ty),
                    _ => value,
                };
                first.insert(name, value);
            }
            Value::Object(first)
        }
        (TypeNode::Map, Value::Object(mut first), Value::Object(second)) => {
            first.extend(second);
            Value::Object(first)
        }
        (_, _, second) => second,
    }
}

/// Whether Go omits a value with `omitempty` and without a pointer. Special types are behind pointers, and structs are
/// never omitted.
pub(crate) fn is_zero(value: &Value, ty: TypeRef<'_>) -> bool {
    match ty.node() {
        TypeNode::Bool => value == false,
        TypeNode::Int32 | TypeNode::Int64 | TypeNode::Double => value.as_f64() == Some(0.0),
        TypeNode::String | TypeNode::Bytes => value == "",
        TypeNode::List => value.as_array().is_some_and(Vec::is_empty),
        TypeNode::Map => value.as_object().is_some_and(Map::is_empty),
        TypeNode::Struct(_) | TypeNode::Special(_) | TypeNode::Any => false,
    }
}

/// What Go prints for the zero value of the type.
pub(crate) fn zero(ty: TypeRef<'_>) -> Value {
    match ty.node() {
        TypeNode::String | TypeNode::Bytes => Value::String(String::new()),
        TypeNode::Bool => Value::Bool(false),
        TypeNode::Int32 | TypeNode::Int64 | TypeNode::Double => Value::from(0),
        TypeNode::Special(Special::IntOrString) => Value::from(0),
        TypeNode::Special(Special::Quantity) => Value::from("0"),
        TypeNode::Struct(body) => {
            let mut out = Map::new();
            print_always(body, ty, &mut out, DecodedForm::Stored);
            Value::Object(out)
        }
        TypeNode::List | TypeNode::Map | TypeNode::Any | TypeNode::Special(_) => Value::Null,
    }
}

/// Adds the fields that Go always prints.
fn print_always(body: &Struct, ty: TypeRef<'_>, out: &mut Map<String, Value>, form: DecodedForm) {
    for field in body.fields.iter().filter(|field| matches!(field.presence, Presence::Always | Presence::OrNull)) {
        let field_type = TypeRef::new(ty.table(), &field.shape);
        let is_empty = |value: &Value| {
            form == DecodedForm::Stored
                && matches!(field_type.node(), TypeNode::List | TypeNode::Map)
                && is_zero(value, field_type)
        };
        if out.get(&field.name).is_none_or(is_empty) {
            let unset = match field.presence {
                Presence::OrNull => Value::Null,
                // The `items` of lists from API servers are never null.
                _ if field.name == "items" => Value::Array(Vec::new()),
                _ => zero(field_type),
            };
            out.insert(field.name.clone(), unset);
        }
    }
}
