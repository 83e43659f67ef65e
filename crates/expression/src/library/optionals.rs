//! Optional values. In Kubernetes: `cel.OptionalTypes`, version 2.

use crate::fault::Fault;
use crate::meter::Meter;
use crate::value::{ListValue, Value};

use super::function::Function;

type Result<'v> = std::result::Result<Value<'v>, Fault>;

pub(super) fn find(name: &str) -> Option<Function> {
    Some(match name {
        "optional.of" => |arguments, _| match arguments {
            [value] => Ok(Value::some(value.clone())),
            _ => Err(Fault::no_overload()),
        },
        "optional.ofNonZeroValue" => |arguments, _| match arguments {
            [value] if value.is_zero() => Ok(Value::Optional(None)),
            [value] => Ok(Value::some(value.clone())),
            _ => Err(Fault::no_overload()),
        },
        "optional.none" => |_, _| Ok(Value::Optional(None)),
        "value" => |arguments, _| match arguments {
            [Value::Optional(Some(value))] => Ok((**value).clone()),
            [Value::Optional(None)] => Err(Fault::new("optional.none() dereference")),
            _ => Err(Fault::no_overload()),
        },
        "hasValue" => |arguments, _| match arguments {
            [Value::Optional(value)] => Ok(Value::Bool(value.is_some())),
            _ => Err(Fault::no_overload()),
        },
        "first" => |arguments, _| item(arguments, |_| 0),
        "last" => |arguments, _| item(arguments, |length| length.saturating_sub(1)),
        "optional.unwrap" | "unwrapOpt" => unwrap,
        _ => return None,
    })
}

fn item<'v>(arguments: &[Value<'v>], place: fn(usize) -> usize) -> Result<'v> {
    let [Value::List(list)] = arguments else { return Err(Fault::no_overload()) };
    match list.get(place(list.len())) {
        Some(item) => item.map(Value::some),
        None => Ok(Value::Optional(None)),
    }
}

fn unwrap<'v>(arguments: &[Value<'v>], meter: &mut Meter) -> Result<'v> {
    let [Value::List(list)] = arguments else { return Err(Fault::no_overload()) };
    meter.items(ListValue::len(list))?;
    let mut items = Vec::new();
    for item in list.iter() {
        match item? {
            Value::Optional(Some(value)) => items.push((*value).clone()),
            Value::Optional(None) => {}
            other => return Err(Fault::new(format!("value {} is not optional", other.shown()))),
        }
    }
    Ok(Value::list(items))
}
