//! [`Raw`] against a type: what a decode into Go's struct and an encode out of it would leave.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use coracle_meta::Quantity;
use serde_json::{Map, Value};

use super::go;
use super::raw::{Raw, number};
use crate::structural::Structural;
use crate::table::{KindSchema, Node, Presence, Special, Struct, TypeRef};

/// How many strict errors are told. In Kubernetes: 100.
const MAX_STRICT: usize = 100;

/// Which form of an object a pass leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As it came: an empty list that is always printed is still empty.
    Received,
    /// As it is stored: such a list is `null`, because protobuf, in which Kubernetes stores, does not know the
    /// difference.
    Stored,
}

/// A decode under way.
pub(crate) struct Pass {
    form: Form,
    /// The first error of a value that does not fit its type; decoding goes on, as in Go.
    pub(crate) error: Option<String>,
    /// Unknown and duplicate fields, in the order of the text.
    pub(crate) strict: Vec<String>,
    /// Where we are, as strict errors name it: `spec.containers[0].ports`.
    path: String,
    /// Where we are, as type errors name it: the Go struct and the fields from the root.
    go_struct: String,
    go_fields: Vec<String>,
    /// The named scalar type of the field that we are in, or of its elements.
    go_type: Option<String>,
}

const TIME_LAYOUT: &str = "2006-01-02T15:04:05Z07:00";
const MICRO_TIME_LAYOUT: &str = "2006-01-02T15:04:05.000000Z07:00";

impl Pass {
    pub(crate) fn new(form: Form) -> Self {
        Self {
            form,
            error: None,
            strict: Vec::new(),
            path: String::new(),
            go_struct: String::new(),
            go_fields: Vec::new(),
            go_type: None,
        }
    }

    /// A whole object: typed if the kind is built in, pruned by its schema and with typed metadata if it is custom.
    pub(crate) fn resource(&mut self, raw: Raw, schema: &KindSchema) -> Option<Value> {
        match (schema.structural(), raw) {
            (Some(structural), Raw::Object(fields)) => Some(self.custom(fields, structural, schema)),
            (_, raw) => self.value(raw, schema.root()),
        }
    }

    fn custom(&mut self, fields: Vec<(String, Raw)>, structural: &Structural, schema: &KindSchema) -> Value {
        let metadata = schema.root().step("metadata");
        let mut out = Map::new();
        for (name, raw) in fields {
            let value = match metadata.filter(|_| name == "metadata") {
                Some(ty) => self.within(&name, |pass| pass.value(raw, ty)),
                None => Some(self.within(&name, |pass| pass.free(raw))),
            };
            if value.is_some_and(|value| out.insert(name.clone(), value).is_some()) {
                self.strict("duplicate", &name);
            }
        }
        for path in structural.prune(&mut out) {
            self.strict("unknown", &path);
        }
        Value::Object(out)
    }

    /// The value as Kubernetes prints it; `None` for one that is absent (`null`, or not of the type).
    pub(crate) fn value(&mut self, raw: Raw, ty: TypeRef<'_>) -> Option<Value> {
        if raw == Raw::Null {
            return None;
        }
        match (ty.node(), raw) {
            (Node::String, Raw::String(text)) => Some(Value::String(text)),
            (Node::Bool, Raw::Bool(value)) => Some(Value::Bool(value)),
            (Node::Int32, Raw::Number(text)) if text.parse::<i32>().is_ok() => Some(Value::Number(number(&text))),
            (Node::Int64, Raw::Number(text)) if text.parse::<i64>().is_ok() => Some(Value::Number(number(&text))),
            (Node::Double, Raw::Number(text)) => Some(Value::Number(number(&text))),
            (Node::Int32 | Node::Int64, Raw::Number(text)) => self.wrong_type(&format!("number {text}"), ty),
            (Node::Bytes, Raw::String(text)) => self.bytes(&text),
            (Node::Struct(body), Raw::Object(fields)) => Some(self.object(fields, body, ty)),
            (Node::List, Raw::List(elements)) => self.list(elements, ty),
            (Node::Map, Raw::Object(fields)) => self.map(fields, ty),
            (Node::Special(special), raw) => self.special(raw, special, ty),
            (Node::Any, raw) => Some(self.free(raw)),
            (_, raw) => self.wrong_type(raw.kind_name(), ty),
        }
    }

    /// Notes the first value that is not of its type.
    fn wrong_type(&mut self, what: &str, ty: TypeRef<'_>) -> Option<Value> {
        let ty = go::type_name(ty, self.go_type.as_deref());
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
            self.strict.push(format!("{what} field \"{}{dot}{name}\"", self.path));
        }
    }

    /// Runs a step with the path extended.
    fn within<T>(&mut self, step: &str, run: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.path.len();
        if !self.path.is_empty() && !step.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(step);
        let result = run(self);
        self.path.truncate(before);
        result
    }

    fn object(&mut self, fields: Vec<(String, Raw)>, body: &Struct, ty: TypeRef<'_>) -> Value {
        let mut out = Map::new();
        let mut seen: Vec<&str> = Vec::with_capacity(fields.len());
        let outer = std::mem::replace(&mut self.go_struct, go::struct_name(ty));
        for (name, raw) in fields {
            let Some(field) = body.field(&name) else {
                self.unknown(name, raw, body, &mut out);
                continue;
            };
            if seen.contains(&field.name.as_str()) {
                self.strict("duplicate", &name);
            }
            seen.push(&field.name);
            let Some(field_ref) = ty.field(&name) else { continue };
            self.go_fields.push(name.clone());
            let outer_type = std::mem::replace(&mut self.go_type, field.go_type.clone());
            let value = self.within(&name, |pass| pass.value(raw, field_ref.ty()));
            self.go_type = outer_type;
            self.go_fields.pop();
            let keeps = |value: &Value| field.presence != Presence::NonZero || !is_zero(value, field_ref.ty());
            match value.filter(keeps) {
                Some(value) => drop(out.insert(name, value)),
                None => drop(out.remove(&name)),
            }
        }
        self.go_struct = outer;
        print_always(body, ty, &mut out, self.form);
        Value::Object(out)
    }

    fn unknown(&mut self, name: String, raw: Raw, body: &Struct, out: &mut Map<String, Value>) {
        if body.preserves_unknown {
            let value = self.within(&name.clone(), |pass| pass.free(raw));
            if out.insert(name.clone(), value).is_some() {
                self.strict("duplicate", &name);
            }
        } else {
            self.strict("unknown", &name);
        }
    }

    fn list(&mut self, elements: Vec<Raw>, ty: TypeRef<'_>) -> Option<Value> {
        let element = ty.element()?;
        let mut out = Vec::with_capacity(elements.len());
        for (at, raw) in elements.into_iter().enumerate() {
            let value = self.within(&format!("[{at}]"), |pass| pass.value(raw, element));
            out.push(value.unwrap_or_else(|| zero(element)));
        }
        Some(Value::Array(out))
    }

    fn map(&mut self, fields: Vec<(String, Raw)>, ty: TypeRef<'_>) -> Option<Value> {
        let element = ty.element()?;
        let mut out = Map::new();
        for (name, raw) in fields {
            let value = self.within(&name, |pass| pass.value(raw, element)).unwrap_or_else(|| zero(element));
            if out.insert(name.clone(), value).is_some() {
                self.strict("duplicate", &name);
            }
        }
        Some(Value::Object(out))
    }

    /// A value without a type; duplicate fields are still told.
    pub(crate) fn free(&mut self, raw: Raw) -> Value {
        match raw {
            Raw::List(elements) => {
                let read = |(at, raw)| self.within(&format!("[{at}]"), |pass: &mut Self| pass.free(raw));
                Value::Array(elements.into_iter().enumerate().map(read).collect())
            }
            Raw::Object(fields) => {
                let mut out = Map::new();
                for (name, raw) in fields {
                    let value = self.within(&name, |pass| pass.free(raw));
                    if out.insert(name.clone(), value).is_some() {
                        self.strict("duplicate", &name);
                    }
                }
                Value::Object(out)
            }
            other => other.into_value(),
        }
    }

    fn bytes(&mut self, text: &str) -> Option<Value> {
        let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
        match STANDARD.decode(&text) {
            Ok(bytes) => Some(Value::String(STANDARD.encode(bytes))),
            Err(error) => {
                let at = match error {
                    base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => at,
                    base64::DecodeError::InvalidLength(_) | base64::DecodeError::InvalidPadding => text.len() / 4 * 4,
                };
                self.fail(format!("illegal base64 data at input byte {at}"))
            }
        }
    }

    fn special(&mut self, raw: Raw, special: Special, ty: TypeRef<'_>) -> Option<Value> {
        match (special, raw) {
            (Special::Quantity, Raw::String(text) | Raw::Number(text)) => match Quantity::parse(text.trim()) {
                Ok(quantity) => Some(Value::String(quantity.to_string())),
                Err(error) => self.fail(error.to_string()),
            },
            (Special::Quantity, _) => self.fail(coracle_meta::QuantityError::Malformed.to_string()),
            (Special::IntOrString, Raw::String(text)) => Some(Value::String(text)),
            (Special::IntOrString, Raw::Number(text)) => match text.parse::<i32>() {
                Ok(_) => Some(Value::Number(number(&text))),
                Err(_) => self.wrong_type(&format!("number {text}"), ty),
            },
            (Special::IntOrString, raw) => self.wrong_type(raw.kind_name(), ty),
            (Special::Time, Raw::String(text)) => self.time(&text, TIME_LAYOUT, coracle_meta::format_time),
            (Special::MicroTime, Raw::String(text)) => {
                self.time(&text, MICRO_TIME_LAYOUT, coracle_meta::format_micro_time)
            }
            (Special::Time | Special::MicroTime, raw) => {
                self.fail(format!("json: cannot unmarshal {} into Go value of type string", raw.kind_name()))
            }
            (Special::SchemaOrArray, Raw::List(elements)) => {
                let schema = schema_type(ty)?;
                Some(Value::Array(elements.into_iter().filter_map(|raw| self.value(raw, schema)).collect()))
            }
            (Special::SchemaOrArray | Special::SchemaOrBool | Special::SchemaOrStrings, raw @ Raw::Object(_)) => {
                self.value(raw, schema_type(ty)?)
            }
            (_, raw) => Some(self.free(raw)),
        }
    }

    fn time(&mut self, text: &str, layout: &str, format: fn(jiff::Timestamp) -> String) -> Option<Value> {
        // RFC 3339 proper; the parser alone would take more.
        let shape_fits = text.len() >= 20 && text.as_bytes()[10] == b'T';
        match coracle_meta::parse_time(text).filter(|_| shape_fits) {
            Some(time) => Some(Value::String(format(time))),
            None => self.fail(go::time_error(text, layout)),
        }
    }
}

/// The type of a schema, from a place that holds a schema or something else.
pub(crate) fn schema_type(ty: TypeRef<'_>) -> Option<TypeRef<'_>> {
    let package = ty.named()?.name.rsplit_once('.')?.0;
    ty.table().type_ref(&format!("{package}.JSONSchemaProps"))
}

/// Whether Go leaves a value out that has `omitempty` and no pointer. Types of their own are behind pointers, and
/// structs are never left out.
fn is_zero(value: &Value, ty: TypeRef<'_>) -> bool {
    match ty.node() {
        Node::Bool => value == false,
        Node::Int32 | Node::Int64 | Node::Double => value.as_f64() == Some(0.0),
        Node::String | Node::Bytes => value == "",
        Node::List => value.as_array().is_some_and(Vec::is_empty),
        Node::Map => value.as_object().is_some_and(Map::is_empty),
        Node::Struct(_) | Node::Special(_) | Node::Any => false,
    }
}

/// What Go prints for a value of the type that nobody set.
pub(crate) fn zero(ty: TypeRef<'_>) -> Value {
    match ty.node() {
        Node::String | Node::Bytes => Value::String(String::new()),
        Node::Bool => Value::Bool(false),
        Node::Int32 | Node::Int64 | Node::Double => Value::from(0),
        Node::Special(Special::IntOrString) => Value::from(0),
        Node::Special(Special::Quantity) => Value::from("0"),
        Node::Struct(body) => {
            let mut out = Map::new();
            print_always(body, ty, &mut out, Form::Stored);
            Value::Object(out)
        }
        Node::List | Node::Map | Node::Any | Node::Special(_) => Value::Null,
    }
}

/// Adds what Go prints whether it is set or not.
fn print_always(body: &Struct, ty: TypeRef<'_>, out: &mut Map<String, Value>, form: Form) {
    for field in body.fields.iter().filter(|field| matches!(field.presence, Presence::Always | Presence::OrNull)) {
        let field_type = TypeRef::new(ty.table(), &field.shape);
        let is_empty = |value: &Value| {
            form == Form::Stored && matches!(field_type.node(), Node::List | Node::Map) && is_zero(value, field_type)
        };
        if out.get(&field.name).is_none_or(is_empty) {
            let unset = match field.presence {
                Presence::OrNull => Value::Null,
                // The servers' lists of objects are never null.
                _ if field.name == "items" => Value::Array(Vec::new()),
                _ => zero(field_type),
            };
            out.insert(field.name.clone(), unset);
        }
    }
}
