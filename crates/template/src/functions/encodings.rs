//! JSON and base64. In sprig: `defaults.go`, `strings.go`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_meta::go_json;

use super::{Function, text};
use crate::value::Value;

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("toJson", |call| call.exactly().map(|[value]| Value::text(go_json(&value.to_json().to_string())))),
    ("toRawJson", |call| call.exactly().map(|[value]| Value::text(value.to_json().to_string()))),
    ("toPrettyJson", |call| {
        let [value] = call.exactly()?;
        Ok(Value::text(serde_json::to_string_pretty(&value.to_json()).unwrap_or_default()))
    }),
    ("fromJson", |call| {
        let [value] = call.exactly()?;
        Ok(serde_json::from_str(&text(&value)?).map_or(Value::Missing, Value::owned))
    }),
    ("b64enc", |call| {
        let [value] = call.exactly()?;
        Ok(Value::text(STANDARD.encode(text(&value)?.as_bytes())))
    }),
    ("b64dec", |call| {
        let [value] = call.exactly()?;
        let bytes = STANDARD.decode(text(&value)?.as_bytes()).map_err(|error| error.to_string())?;
        String::from_utf8(bytes).map(Value::text).map_err(|error| error.to_string())
    }),
];
