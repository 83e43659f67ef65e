//! Comparisons in filters. In Kubernetes: the comparisons of Go's `text/template`.

use std::cmp::Ordering;

use serde_json::Value;

/// Whether a comparison holds.
pub(super) fn compare(left: &Value, operator: &str, right: &Value) -> Result<bool, String> {
    match operator {
        "==" => equal(left, right),
        "!=" => equal(left, right).map(|equal| !equal),
        "<" => order(left, right).map(Ordering::is_lt),
        "<=" => order(left, right).map(Ordering::is_le),
        ">" => order(left, right).map(Ordering::is_gt),
        ">=" => order(left, right).map(Ordering::is_ge),
        _ => Err(format!("unrecognized filter operator {operator}")),
    }
}

fn equal(left: &Value, right: &Value) -> Result<bool, String> {
    match (left, right) {
        (Value::String(left), Value::String(right)) => Ok(left == right),
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        (Value::Number(_), Value::Number(_)) => order(left, right).map(Ordering::is_eq),
        (Value::Object(_) | Value::Array(_) | Value::Null, _)
        | (_, Value::Object(_) | Value::Array(_) | Value::Null) => Err("invalid type for comparison".to_owned()),
        _ => Err("incompatible types for comparison".to_owned()),
    }
}

fn order(left: &Value, right: &Value) -> Result<Ordering, String> {
    let incompatible = || "incompatible types for comparison".to_owned();
    match (left, right) {
        (Value::String(left), Value::String(right)) => Ok(left.cmp(right)),
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => Ok(left.cmp(&right)),
            _ => left.as_f64().partial_cmp(&right.as_f64()).ok_or_else(incompatible),
        },
        (Value::Bool(_), Value::Bool(_)) => Err("invalid type for comparison".to_owned()),
        _ => Err(incompatible()),
    }
}
