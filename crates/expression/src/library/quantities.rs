//! Resource quantities. In Kubernetes: `library.Quantity`.

use std::cmp::Ordering;

use coracle_meta::Quantity;

use crate::fault::Fault;
use crate::value::{Opaque, Value};

use super::function::Function;
use super::versions;

type Result<'v> = std::result::Result<Value<'v>, Fault>;

pub(super) fn find(name: &str) -> Option<Function> {
    Some(match name {
        "quantity" => |arguments, _| match arguments {
            [Value::String(text)] => Quantity::parse(text)
                .map(|quantity| Value::opaque(Opaque::Quantity(quantity)))
                .map_err(|error| Fault::new(error.to_string())),
            _ => Err(Fault::no_overload()),
        },
        "isQuantity" => |arguments, _| match arguments {
            [Value::String(text)] => Ok(Value::Bool(Quantity::parse(text).is_ok())),
            _ => Err(Fault::no_overload()),
        },
        "sign" => |arguments, _| {
            let amount = only(arguments)?;
            Ok(Value::Int(if amount.is_zero() {
                0
            } else if amount.is_negative() {
                -1
            } else {
                1
            }))
        },
        "isInteger" => |arguments, _| Ok(Value::Bool(whole(only(arguments)?).is_some())),
        "asInteger" => |arguments, _| {
            let whole = whole(only(arguments)?).map(Value::Int);
            whole.ok_or_else(|| Fault::new("cannot convert value to integer"))
        },
        "asApproximateFloat" => |arguments, _| Ok(Value::Double(only(arguments)?.approximate())),
        "isGreaterThan" => |arguments, _| compare(arguments).map(|order| Value::Bool(order.is_gt())),
        "isLessThan" => |arguments, _| compare(arguments).map(|order| Value::Bool(order.is_lt())),
        "compareTo" => |arguments, _| compare(arguments).map(|order| Value::Int(order as i64)),
        "add" => |arguments, _| combine(arguments, |one, other| one + other),
        "sub" => |arguments, _| combine(arguments, |one, other| one - other),
        _ => return None,
    })
}

fn only(arguments: &[Value<'_>]) -> std::result::Result<Quantity, Fault> {
    match arguments {
        [Value::Opaque(opaque)] => match &**opaque {
            Opaque::Quantity(quantity) => Ok(*quantity),
            _ => Err(Fault::no_overload()),
        },
        _ => Err(Fault::no_overload()),
    }
}

fn whole(amount: Quantity) -> Option<i64> {
    Some(amount.value()).filter(|value| Quantity::of(*value) == amount)
}

/// Compares two quantities or versions.
fn compare(arguments: &[Value<'_>]) -> std::result::Result<Ordering, Fault> {
    let [one, other] = arguments else { return Err(Fault::no_overload()) };
    match (only(std::slice::from_ref(one)), only(std::slice::from_ref(other))) {
        (Ok(one), Ok(other)) => Ok(one.cmp(&other)),
        _ => versions::compare(one, other),
    }
}

fn combine<'v>(arguments: &[Value<'v>], combine: fn(Quantity, Quantity) -> Quantity) -> Result<'v> {
    let [one, other] = arguments else { return Err(Fault::no_overload()) };
    let one = only(std::slice::from_ref(one))?;
    let other = match other {
        Value::Int(int) => Quantity::of(*int),
        other => only(std::slice::from_ref(other))?,
    };
    Ok(Value::opaque(Opaque::Quantity(combine(one, other))))
}
