use std::sync::Arc;

use crate::fault::Fault;
use crate::meter::Meter;

use super::text::Text;
use super::values::{ListValue, Value};

const INT: &str = "integer overflow";
const UINT: &str = "unsigned integer overflow";
const DURATION: &str = "duration overflow";

fn or_overflow<'v, T>(result: Option<T>, make: fn(T) -> Value<'v>, what: &'static str) -> Result<Value<'v>, Fault> {
    result.map(make).ok_or_else(|| Fault::new(what))
}

impl<'v> Value<'v> {
    pub(crate) fn add(self, other: Value<'v>, meter: &mut Meter) -> Result<Value<'v>, Fault> {
        match (self, other) {
            (Self::Int(one), Self::Int(other)) => or_overflow(one.checked_add(other), Self::Int, INT),
            (Self::Uint(one), Self::Uint(other)) => or_overflow(one.checked_add(other), Self::Uint, UINT),
            (Self::Double(one), Self::Double(other)) => Ok(Self::Double(one + other)),
            (Self::String(one), Self::String(other)) => concat(&one, &other, meter),
            (Self::Bytes(one), Self::Bytes(other)) => {
                meter.memory(one.len() + other.len())?;
                Ok(Self::Bytes([&*one, &*other].concat().into()))
            }
            (Self::List(one), Self::List(other)) => join(one, other, meter),
            (Self::Duration(one), Self::Duration(other)) => {
                or_overflow(one.checked_add(other), Self::Duration, DURATION)
            }
            (Self::Timestamp(time), Self::Duration(nanos)) | (Self::Duration(nanos), Self::Timestamp(time)) => {
                time.plus(nanos).map(Self::Timestamp)
            }
            _ => Err(Fault::no_overload()),
        }
    }

    pub(crate) fn subtract(&self, other: &Value<'v>) -> Result<Value<'v>, Fault> {
        match (self, other) {
            (Self::Int(one), Self::Int(other)) => or_overflow(one.checked_sub(*other), Self::Int, INT),
            (Self::Uint(one), Self::Uint(other)) => or_overflow(one.checked_sub(*other), Self::Uint, UINT),
            (Self::Double(one), Self::Double(other)) => Ok(Self::Double(one - other)),
            (Self::Duration(one), Self::Duration(other)) => {
                or_overflow(one.checked_sub(*other), Self::Duration, DURATION)
            }
            (Self::Timestamp(time), Self::Duration(nanos)) => {
                time.plus(nanos.checked_neg().ok_or_else(|| Fault::new(DURATION))?).map(Self::Timestamp)
            }
            (Self::Timestamp(one), Self::Timestamp(other)) => one.since(*other).map(Self::Duration),
            _ => Err(Fault::no_overload()),
        }
    }

    pub(crate) fn multiply(&self, other: &Value<'v>) -> Result<Value<'v>, Fault> {
        match (self, other) {
            (Self::Int(one), Self::Int(other)) => or_overflow(one.checked_mul(*other), Self::Int, INT),
            (Self::Uint(one), Self::Uint(other)) => or_overflow(one.checked_mul(*other), Self::Uint, UINT),
            (Self::Double(one), Self::Double(other)) => Ok(Self::Double(one * other)),
            _ => Err(Fault::no_overload()),
        }
    }

    pub(crate) fn divide(&self, other: &Value<'v>) -> Result<Value<'v>, Fault> {
        match (self, other) {
            (Self::Int(_), Self::Int(0)) | (Self::Uint(_), Self::Uint(0)) => Err(Fault::new("division by zero")),
            (Self::Int(one), Self::Int(other)) => or_overflow(one.checked_div(*other), Self::Int, INT),
            (Self::Uint(one), Self::Uint(other)) => or_overflow(one.checked_div(*other), Self::Uint, UINT),
            (Self::Double(one), Self::Double(other)) => Ok(Self::Double(one / other)),
            _ => Err(Fault::no_overload()),
        }
    }

    pub(crate) fn remainder(&self, other: &Value<'v>) -> Result<Value<'v>, Fault> {
        match (self, other) {
            (Self::Int(_), Self::Int(0)) | (Self::Uint(_), Self::Uint(0)) => Err(Fault::new("modulus by zero")),
            (Self::Int(one), Self::Int(other)) => or_overflow(one.checked_rem(*other), Self::Int, INT),
            (Self::Uint(one), Self::Uint(other)) => or_overflow(one.checked_rem(*other), Self::Uint, UINT),
            _ => Err(Fault::no_overload()),
        }
    }

    pub(crate) fn negate(&self) -> Result<Value<'v>, Fault> {
        match self {
            Self::Int(int) => or_overflow(int.checked_neg(), Self::Int, INT),
            Self::Double(double) => Ok(Self::Double(-double)),
            Self::Duration(nanos) => or_overflow(nanos.checked_neg(), Self::Duration, DURATION),
            _ => Err(Fault::no_overload()),
        }
    }
}

fn concat<'v>(one: &Text<'v>, other: &Text<'v>, meter: &mut Meter) -> Result<Value<'v>, Fault> {
    meter.memory(one.len() + other.len())?;
    let mut text = String::with_capacity(one.len() + other.len());
    text.push_str(one);
    text.push_str(other);
    Ok(Value::string(text))
}

/// Concatenates lists. A list that is not shared grows in place.
fn join<'v>(one: ListValue<'v>, other: ListValue<'v>, meter: &mut Meter) -> Result<Value<'v>, Fault> {
    let more = other.items()?;
    let mut items = match one {
        ListValue::Owned(items) => items,
        taken => {
            meter.items(taken.len())?;
            Arc::new(taken.items()?)
        }
    };
    let is_shared = Arc::get_mut(&mut items).is_none();
    meter.items(more.len() + if is_shared { items.len() } else { 0 })?;
    Arc::make_mut(&mut items).extend(more);
    Ok(Value::List(ListValue::Owned(items)))
}
