//! Equality and order of values.

use std::cmp::Ordering;

use crate::fault::Fault;
use crate::meter::Meter;
use crate::schema::Order;

use super::json::to_json;
use super::values::{ListValue, Map, Value};

/// The work of comparing one item of an untyped object with another.
const BESIDE: u64 = 4;

impl<'v> Value<'v> {
    /// Whether two values are equal. Numbers of different types can be; other types cannot.
    pub(crate) fn equals(&self, other: &Value<'_>, meter: &mut Meter) -> Result<bool, Fault> {
        meter.work(BESIDE)?;
        Ok(match (self, other) {
            (Self::Null, other) => matches!(other, Value::Null),
            (_, Value::Null) => false,
            (Self::Bool(one), Value::Bool(other)) => one == other,
            (Self::Int(_) | Self::Uint(_) | Self::Double(_), Value::Int(_) | Value::Uint(_) | Value::Double(_)) => {
                numbers(self, other) == Some(Ordering::Equal)
            }
            (Self::String(one), Value::String(other)) => {
                meter.work(one.len() as u64 / 16)?;
                **one == **other
            }
            (Self::Bytes(one), Value::Bytes(other)) => {
                meter.work(one.len() as u64 / 16)?;
                one == other
            }
            (Self::Timestamp(one), Value::Timestamp(other)) => one == other,
            (Self::Duration(one), Value::Duration(other)) => one == other,
            (Self::Type(one), Value::Type(other)) => one.name() == other.name(),
            (Self::List(one), Value::List(other)) => lists(one, other, meter)?,
            (Self::Map(one), Value::Map(other)) => maps(one, other, meter)?,
            (Self::Optional(one), Value::Optional(other)) => match (one, other) {
                (None, None) => true,
                (Some(one), Some(other)) => one.equals(other, meter)?,
                _ => false,
            },
            (Self::Opaque(one), Value::Opaque(other)) => one.equals(other).ok_or_else(Fault::no_overload)?,
            (Self::Message(one), Value::Message(other)) => one.equals(other, meter)?,
            (Self::Opaque(_), _) => return Err(Fault::no_overload()),
            _ => false,
        })
    }

    /// Compares two values.
    pub(crate) fn compare(&self, other: &Value<'_>) -> Result<Ordering, Fault> {
        match (self, other) {
            (Self::Bool(one), Value::Bool(other)) => Ok(one.cmp(other)),
            (Self::Int(_) | Self::Uint(_) | Self::Double(_), Value::Int(_) | Value::Uint(_) | Value::Double(_)) => {
                numbers(self, other).ok_or_else(|| Fault::new("NaN values cannot be ordered"))
            }
            (Self::String(one), Value::String(other)) => Ok((**one).cmp(&**other)),
            (Self::Bytes(one), Value::Bytes(other)) => Ok(one.cmp(other)),
            (Self::Timestamp(one), Value::Timestamp(other)) => Ok(one.cmp(other)),
            (Self::Duration(one), Value::Duration(other)) => Ok(one.cmp(other)),
            _ => Err(Fault::no_overload()),
        }
    }
}

fn numbers(one: &Value<'_>, other: &Value<'_>) -> Option<Ordering> {
    let whole = |value: &Value<'_>| match value {
        Value::Int(int) => Some(i128::from(*int)),
        Value::Uint(uint) => Some(i128::from(*uint)),
        _ => None,
    };
    match (whole(one), whole(other), one, other) {
        (Some(one), Some(other), ..) => Some(one.cmp(&other)),
        (None, None, Value::Double(one), Value::Double(other)) => one.partial_cmp(other),
        (Some(one), None, _, Value::Double(other)) => with_double(one, *other),
        (None, Some(other), Value::Double(one), _) => with_double(other, *one).map(Ordering::reverse),
        _ => None,
    }
}

/// Compares an integer with a floating-point number, without rounding.
fn with_double(whole: i128, double: f64) -> Option<Ordering> {
    if double.is_nan() {
        return None;
    }
    if double.abs() > 1e30 {
        return Some(if double > 0.0 { Ordering::Less } else { Ordering::Greater });
    }
    let floor = double.floor();
    Some(whole.cmp(&(floor as i128)).then(if floor < double { Ordering::Less } else { Ordering::Equal }))
}

fn lists(one: &ListValue<'_>, other: &ListValue<'_>, meter: &mut Meter) -> Result<bool, Fault> {
    if one.len() != other.len() {
        return Ok(false);
    }
    match one.order() {
        Order::Fixed => {
            for (one, other) in one.iter().zip(other.iter()) {
                if !one?.equals(&other?, meter)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Order::Any => every(other, one, meter, &|_, _, _| Ok(true)),
        Order::Keyed(keys) => every(other, one, meter, &|found, wanted, meter| {
            for key in keys {
                let at = |value: &Value<'_>, meter: &mut Meter| match value {
                    Value::Map(map) => {
                        meter.work(1)?;
                        map.field(key).transpose().map(|value| value.map(|value| to_json(&value)))
                    }
                    _ => Ok(None),
                };
                if at(found, meter)? != at(wanted, meter)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }),
    }
}

type Match<'m> = &'m dyn Fn(&Value<'_>, &Value<'_>, &mut Meter) -> Result<bool, Fault>;

/// Whether every item of a list has an equal item in another, at any index.
fn every(items: &ListValue<'_>, within: &ListValue<'_>, meter: &mut Meter, is_match: Match<'_>) -> Result<bool, Fault> {
    let candidates = within.items()?;
    'items: for item in items.iter() {
        let item = item?;
        for candidate in &candidates {
            if is_match(candidate, &item, meter)? && candidate.equals(&item, meter)? {
                continue 'items;
            }
        }
        return Ok(false);
    }
    Ok(true)
}

fn maps(one: &Map<'_>, other: &Map<'_>, meter: &mut Meter) -> Result<bool, Fault> {
    if one.len() != other.len() {
        return Ok(false);
    }
    for key in one.keys() {
        meter.work(1)?;
        let Some(value) = one.find(&key) else { continue };
        let Some(found) = other.find(&key) else { return Ok(false) };
        if !value?.equals(&found?, meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}
