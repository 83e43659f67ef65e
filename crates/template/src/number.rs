//! Converts values to numbers. In Go: `github.com/spf13/cast`, which sprig uses.

use crate::value::Value;

/// An integer; 0 for other values.
pub(crate) fn whole(value: &Value<'_>) -> i64 {
    match value {
        Value::Int(value) => *value,
        Value::Bool(value) => i64::from(*value),
        #[expect(clippy::cast_possible_truncation, reason = "a float becomes the nearest whole number that there is")]
        Value::Float(value) => *value as i64,
        Value::Number(number) => number.as_i64().unwrap_or_default(),
        Value::Text(text) => whole_of(text).unwrap_or_default(),
        _ => 0,
    }
}

/// An integer in Go's formats: `0x1f`, `0b1`, `0o17`, `017`, `1_000`.
pub(crate) fn whole_of(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match lower.get(..2) {
        Some("0x") => (16, &lower[2..]),
        Some("0b") => (2, &lower[2..]),
        Some("0o") => (8, &lower[2..]),
        _ if lower.len() > 1 && lower.starts_with('0') => (8, &lower[1..]),
        _ => (10, lower.as_str()),
    };
    if digits.starts_with(['+', '-', '_']) || digits.ends_with('_') {
        return None;
    }
    i64::from_str_radix(&format!("{sign}{}", digits.replace('_', "")), radix).ok()
}

/// A floating-point number; 0 for other values.
pub(crate) fn real(value: &Value<'_>) -> f64 {
    match value {
        Value::Float(value) => *value,
        Value::Number(number) => number.as_f64().unwrap_or_default(),
        Value::Text(text) => text.parse().unwrap_or_default(),
        other => {
            #[expect(clippy::cast_precision_loss, reason = "floats are what they are")]
            let value = whole(other) as f64;
            value
        }
    }
}
