//! Converts JSON to values and back.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use coracle_meta::Quantity;
use serde_json::{Number, Value as Json};

use crate::fault::Fault;
use crate::schema::{Schema, Shape};

use super::opaque::Opaque;
use super::text::Text;
use super::time::{Time, duration_text, lenient_duration};
use super::values::{Key, ListValue, Map, Value};

/// A JSON value as a value of expressions; large parts are not copied.
pub(crate) fn from_json<'v>(json: &'v Json, schema: Option<&'v Schema>) -> Result<Value<'v>, Fault> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => from_number(number, schema),
        Json::String(text) => return from_text(text, schema),
        Json::Array(items) => Value::List(ListValue::Json(items, schema)),
        Json::Object(fields) => Value::Map(Map::Json(fields, schema)),
    })
}

fn from_number<'v>(number: &Number, schema: Option<&Schema>) -> Value<'v> {
    if schema.is_some_and(|schema| matches!(schema.shape(), Shape::Double)) {
        return Value::Double(number.as_f64().unwrap_or(f64::NAN));
    }
    match (number.as_i64(), number.as_u64()) {
        (Some(int), _) => Value::Int(int),
        (None, Some(uint)) => Value::Uint(uint),
        (None, None) => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
    }
}

fn from_text<'v>(text: &'v str, schema: Option<&Schema>) -> Result<Value<'v>, Fault> {
    let invalid = |what: &str| Fault::new(format!("Invalid {what} {text}: it cannot be read"));
    match schema.map(Schema::shape) {
        Some(Shape::Duration) => lenient_duration(text).map(Value::Duration).ok_or_else(|| invalid("duration")),
        Some(Shape::Quantity) => {
            let amount = Quantity::parse(text).map_err(|_| invalid("quantity"))?;
            Ok(Value::opaque(Opaque::Quantity(amount)))
        }
        Some(Shape::Semver) => {
            let version = text.parse().map_err(|_: String| invalid("semantic version"))?;
            Ok(Value::opaque(Opaque::Semver(version)))
        }
        Some(Shape::Date) => Time::of_date(text).map(Value::Timestamp).ok_or_else(|| invalid("date formatted string")),
        Some(Shape::Timestamp) => {
            Time::lenient(text).map(Value::Timestamp).ok_or_else(|| invalid("date-time formatted string"))
        }
        Some(Shape::Bytes) => {
            let bytes = BASE64_STANDARD.decode(text).map_err(|_| invalid("byte formatted string"))?;
            Ok(Value::Bytes(bytes.into()))
        }
        _ => Ok(Value::String(Text::Borrowed(text))),
    }
}

/// The value as JSON; `None` for values without a JSON form, such as types.
pub(crate) fn to_json(value: &Value<'_>) -> Option<Json> {
    Some(match value {
        Value::Null | Value::Optional(None) => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Int(int) => Json::from(*int),
        Value::Uint(uint) => Json::from(*uint),
        Value::Double(double) => Number::from_f64(*double).map_or(Json::Null, Json::Number),
        Value::String(text) => Json::String(text.to_string()),
        Value::Bytes(bytes) => Json::String(BASE64_STANDARD.encode(bytes)),
        Value::Timestamp(time) => Json::String(time.to_string()),
        Value::Duration(nanos) => Json::String(duration_text(*nanos)),
        Value::List(ListValue::Json(items, _)) => Json::Array(items.to_vec()),
        Value::List(list) => {
            Json::Array((0..list.len()).map(|at| to_json(&list.get(at)?.ok()?)).collect::<Option<_>>()?)
        }
        Value::Map(Map::Json(fields, _)) => Json::Object((*fields).clone()),
        Value::Map(Map::Owned(entries)) => {
            let entries = entries.iter().map(|(key, value)| Some((key.to_string(), to_json(value)?)));
            Json::Object(entries.collect::<Option<_>>()?)
        }
        Value::Message(message) => {
            let fields = message.fields.iter().map(|(name, value)| Some((name.to_string(), to_json(value)?)));
            Json::Object(fields.collect::<Option<_>>()?)
        }
        Value::Optional(Some(value)) => to_json(value)?,
        Value::Type(_) | Value::Opaque(_) => return None,
    })
}

impl<'v> Key<'v> {
    /// The key as a value.
    pub(crate) fn value(&self) -> Value<'v> {
        match self {
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(int) => Value::Int(*int),
            Self::Uint(uint) => Value::Uint(*uint),
            Self::String(text) => Value::String(text.clone()),
        }
    }
}

/// A list of values from different places.
pub(crate) fn references<'v>(items: impl IntoIterator<Item = &'v Json>) -> Value<'v> {
    Value::List(ListValue::References(Arc::new(items.into_iter().collect())))
}
