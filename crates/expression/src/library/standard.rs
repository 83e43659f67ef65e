//! The functions of the language.

use std::sync::Arc;

use crate::fault::Fault;
use crate::meter::Meter;
use crate::value::{Text, Value};

use super::function::Function;

type Result<'v> = std::result::Result<Value<'v>, Fault>;

pub(super) fn find(name: &str) -> Option<Function> {
    Some(match name {
        "size" => size,
        "type" => |arguments, _| Ok(Value::Type(Arc::new(only(arguments)?.type_of()))),
        "dyn" => |arguments, _| only(arguments).cloned(),
        "bool" => |arguments, _| only(arguments)?.to_bool(),
        "int" => |arguments, _| only(arguments)?.to_int(),
        "uint" => |arguments, _| only(arguments)?.to_uint(),
        "double" => |arguments, _| only(arguments)?.to_double(),
        "string" => |arguments, meter| only(arguments)?.to_text(meter),
        "bytes" => |arguments, meter| only(arguments)?.to_bytes(meter),
        "duration" => |arguments, _| only(arguments)?.to_duration(),
        "timestamp" => |arguments, _| only(arguments)?.to_timestamp(),
        "contains" => |arguments, meter| {
            let (text, part) = texts(arguments)?;
            meter.work(text.len() as u64 / 4)?;
            Ok(Value::Bool(text.contains(&**part)))
        },
        "startsWith" => |arguments, _| texts(arguments).map(|(text, part)| Value::Bool(text.starts_with(&**part))),
        "endsWith" => |arguments, _| texts(arguments).map(|(text, part)| Value::Bool(text.ends_with(&**part))),
        "@in" => contains,
        "getFullYear" => |arguments, _| part("getFullYear", arguments),
        "getMonth" => |arguments, _| part("getMonth", arguments),
        "getDayOfYear" => |arguments, _| part("getDayOfYear", arguments),
        "getDayOfMonth" => |arguments, _| part("getDayOfMonth", arguments),
        "getDate" => |arguments, _| part("getDate", arguments),
        "getDayOfWeek" => |arguments, _| part("getDayOfWeek", arguments),
        "getHours" => |arguments, _| part("getHours", arguments),
        "getMinutes" => |arguments, _| part("getMinutes", arguments),
        "getSeconds" => |arguments, _| part("getSeconds", arguments),
        "getMilliseconds" => |arguments, _| part("getMilliseconds", arguments),
        _ => return None,
    })
}

fn only<'a, 'v>(arguments: &'a [Value<'v>]) -> std::result::Result<&'a Value<'v>, Fault> {
    match arguments {
        [only] => Ok(only),
        _ => Err(Fault::no_overload()),
    }
}

fn texts<'a, 'v>(arguments: &'a [Value<'v>]) -> std::result::Result<(&'a Text<'v>, &'a Text<'v>), Fault> {
    match arguments {
        [Value::String(one), Value::String(other)] => Ok((one, other)),
        _ => Err(Fault::no_overload()),
    }
}

fn size<'v>(arguments: &[Value<'v>], meter: &mut Meter) -> Result<'v> {
    let value = only(arguments)?;
    match value {
        Value::String(text) => meter.work(text.len() as u64 / 16)?,
        Value::Bytes(_) | Value::List(_) | Value::Map(_) => {}
        _ => return Err(Fault::no_overload()),
    }
    Ok(Value::Int(i64::try_from(value.size().unwrap_or(0)).unwrap_or(i64::MAX)))
}

fn contains<'v>(arguments: &[Value<'v>], meter: &mut Meter) -> Result<'v> {
    match arguments {
        [item, Value::List(list)] => {
            for candidate in list.iter() {
                if candidate?.equals(item, meter)? {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        [key, Value::Map(map)] => Ok(Value::Bool(map.find(key).is_some())),
        _ => Err(Fault::no_overload()),
    }
}

/// A component of a timestamp, or a duration in a unit.
fn part<'v>(function: &str, arguments: &[Value<'v>]) -> Result<'v> {
    match arguments {
        [Value::Timestamp(time)] => time.part(function, "UTC").map(Value::Int),
        [Value::Timestamp(time), Value::String(zone)] => time.part(function, zone).map(Value::Int),
        [Value::Duration(nanos)] => Ok(Value::Int(match function {
            "getHours" => nanos / 3_600_000_000_000,
            "getMinutes" => nanos / 60_000_000_000,
            "getSeconds" => nanos / 1_000_000_000,
            "getMilliseconds" => nanos / 1_000_000,
            _ => return Err(Fault::no_overload()),
        })),
        _ => Err(Fault::no_overload()),
    }
}
