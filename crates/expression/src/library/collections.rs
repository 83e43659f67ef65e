//! Operations on sets and maps. In Kubernetes: `ext.Sets` and `ext.TwoVarComprehensions`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::fault::Fault;
use crate::meter::Meter;
use crate::value::{Key, ListValue, Map, Value};

use super::function::Function;

type Result<'v> = std::result::Result<Value<'v>, Fault>;

pub(super) fn find(name: &str) -> Option<Function> {
    Some(match name {
        "sets.contains" => {
            |arguments, meter| lists(arguments).and_then(|(one, other)| holds_all(one, other, meter).map(Value::Bool))
        }
        "sets.equivalent" => |arguments, meter| {
            let (one, other) = lists(arguments)?;
            Ok(Value::Bool(holds_all(one, other, meter)? && holds_all(other, one, meter)?))
        },
        "sets.intersects" => |arguments, meter| {
            let (one, other) = lists(arguments)?;
            for item in one.iter() {
                if holds(other, &item?, meter)? {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        },
        _ => return None,
    })
}

fn lists<'a, 'v>(arguments: &'a [Value<'v>]) -> std::result::Result<(&'a ListValue<'v>, &'a ListValue<'v>), Fault> {
    match arguments {
        [Value::List(one), Value::List(other)] => Ok((one, other)),
        _ => Err(Fault::no_overload()),
    }
}

fn holds(list: &ListValue<'_>, item: &Value<'_>, meter: &mut Meter) -> std::result::Result<bool, Fault> {
    for candidate in list.iter() {
        if candidate?.equals(item, meter)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn holds_all(list: &ListValue<'_>, items: &ListValue<'_>, meter: &mut Meter) -> std::result::Result<bool, Fault> {
    for item in items.iter() {
        if !holds(list, &item?, meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}

type Entries<'v> = BTreeMap<Key<'v>, Value<'v>>;

/// Adds entries to a map: one, or those of another map. A map that is not shared grows in place.
pub(crate) fn map_insert<'v>(map: Value<'v>, more: &[Value<'v>], meter: &mut Meter) -> Result<'v> {
    let Value::Map(map) = map else { return Err(Fault::no_overload()) };
    let mut entries = match map {
        Map::Owned(entries) => entries,
        taken => Arc::new(entries(&taken, meter)?),
    };
    if Arc::get_mut(&mut entries).is_none() {
        meter.items(entries.len().saturating_mul(3))?;
    }
    let grown = Arc::make_mut(&mut entries);
    match more {
        [Value::Map(more)] => {
            for key in more.keys() {
                if let Some(value) = more.find(&key) {
                    insert(grown, &key, value?, meter)?;
                }
            }
        }
        [key, value] => insert(grown, key, value.clone(), meter)?,
        _ => return Err(Fault::no_overload()),
    }
    Ok(Value::Map(Map::Owned(entries)))
}

fn entries<'v>(map: &Map<'v>, meter: &mut Meter) -> std::result::Result<Entries<'v>, Fault> {
    meter.items(map.len().saturating_mul(3))?;
    let mut entries = Entries::new();
    for key in map.keys() {
        if let (Some(value), Some(key)) = (map.find(&key), Key::of(&key)) {
            entries.insert(key, value?);
        }
    }
    Ok(entries)
}

fn insert<'v>(
    entries: &mut Entries<'v>,
    key: &Value<'v>,
    value: Value<'v>,
    meter: &mut Meter,
) -> std::result::Result<(), Fault> {
    meter.items(3)?;
    let shown = || key.shown();
    let key = Key::of(key).ok_or_else(|| Fault::new(format!("unsupported key type: {}", key.type_of().name())))?;
    if entries.contains_key(&key) {
        return Err(Fault::new(format!("insert failed: key {} already exists", shown())));
    }
    entries.insert(key, value);
    Ok(())
}
