//! Values as text. In Go: `fmt`'s `%v`.

use crate::value::{DEEPEST, Value};

/// The maximum length of the output, in bytes: no API object is longer.
pub(crate) const LONGEST: usize = 3 * 1024 * 1024;

/// The output of an action.
pub(crate) fn written(value: &Value<'_>) -> String {
    if value.is_nil() { "<no value>".to_owned() } else { shown(value) }
}

/// The output of `fmt.Sprint`.
pub(crate) fn shown(value: &Value<'_>) -> String {
    let mut into = String::new();
    show(value, DEEPEST, &mut into);
    into
}

fn show(value: &Value<'_>, depth: usize, into: &mut String) {
    let Some(depth) = depth.checked_sub(1).filter(|_| into.len() <= LONGEST) else { return };
    match value {
        Value::Missing | Value::Null => into.push_str("<nil>"),
        Value::Bool(value) => into.push_str(if *value { "true" } else { "false" }),
        Value::Int(value) => into.push_str(&value.to_string()),
        Value::Float(value) => into.push_str(&float(*value)),
        Value::Number(number) => into.push_str(&number.to_string()),
        Value::Text(text) => into.push_str(text),
        Value::Array(_) | Value::List(_) => {
            into.push('[');
            for (at, item) in value.items().unwrap_or_default().iter().enumerate() {
                into.push_str(if at == 0 { "" } else { " " });
                show(item, depth, into);
            }
            into.push(']');
        }
        Value::Object(_) | Value::Map(_) => {
            into.push_str("map[");
            for (at, (key, value)) in value.fields().unwrap_or_default().iter().enumerate() {
                into.push_str(if at == 0 { "" } else { " " });
                into.push_str(key);
                into.push(':');
                show(value, depth, into);
            }
            into.push(']');
        }
    }
}

/// The output of Go's `%v`: the shortest exact digits, with an exponent below -4 and from 21 on.
pub(crate) fn float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..21).contains(&exponent) {
        return value.to_string();
    }
    format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}
