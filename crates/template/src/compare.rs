//! Equality and order of values. In Go: `text/template`, `eq` and `lt`.

use std::cmp::Ordering;

use crate::value::Value;

/// Whether two values are equal; an error for values of different types.
pub(crate) fn equal(one: &Value<'_>, other: &Value<'_>) -> Result<bool, String> {
    Ok(match (one, other) {
        (Value::Missing | Value::Null, _) | (_, Value::Missing | Value::Null) => one.is_nil() && other.is_nil(),
        (Value::Bool(one), Value::Bool(other)) => one == other,
        (Value::Int(one), Value::Int(other)) => one == other,
        (Value::Float(one), Value::Float(other)) => one == other,
        _ => match (text(one), text(other)) {
            (Some(one), Some(other)) => one == other,
            (None, None) if one.type_name() == other.type_name() => {
                return Err(format!("non-comparable type {}", one.type_name()));
            }
            _ => return Err("incompatible types for comparison".to_owned()),
        },
    })
}

/// Compares two values.
pub(crate) fn order(one: &Value<'_>, other: &Value<'_>) -> Result<Ordering, String> {
    let ordering = match (one, other) {
        (Value::Int(one), Value::Int(other)) => Some(one.cmp(other)),
        (Value::Float(one), Value::Float(other)) => one.partial_cmp(other).or(Some(Ordering::Greater)),
        (Value::Bool(_), Value::Bool(_)) => return Err("invalid type for comparison".to_owned()),
        _ => text(one).zip(text(other)).map(|(one, other)| one.cmp(&other)),
    };
    ordering.ok_or_else(|| "incompatible types for comparison".to_owned())
}

fn text(value: &Value<'_>) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.to_string()),
        // In Go a JSON number is a string here.
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
