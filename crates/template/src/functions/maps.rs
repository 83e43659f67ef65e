//! Maps. In sprig: `dict.go`.

use std::collections::BTreeMap;

use super::{CallArguments, Function, text};
use crate::show::shown;
use crate::value::{DEEPEST, MOST_PARTS, Value};

type Fields<'d> = BTreeMap<String, Value<'d>>;

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("dict", |call| {
        let mut fields = Fields::new();
        for pair in call.values.chunks(2) {
            fields.insert(shown(&pair[0]), pair.get(1).cloned().unwrap_or(Value::text("")));
        }
        Ok(Value::map(fields))
    }),
    ("get", |call| {
        let [map, key] = call.exactly()?;
        let found = fields(&map)?.remove(&*text(&key)?);
        Ok(found.unwrap_or(Value::text("")))
    }),
    ("set", |call| {
        let [map, key, value] = call.exactly()?;
        let key = text(&key)?.into_owned();
        if holds(&value, &map) {
            return Err("a map cannot hold itself".to_owned());
        }
        change(map, |fields| drop(fields.insert(key, value)))
    }),
    ("unset", |call| {
        let [map, key] = call.exactly()?;
        let key = text(&key)?.into_owned();
        change(map, |fields| drop(fields.remove(&key)))
    }),
    ("hasKey", |call| {
        let [map, key] = call.exactly()?;
        Ok(Value::Bool(fields(&map)?.contains_key(&*text(&key)?)))
    }),
    ("keys", |call| {
        let mut keys = Vec::new();
        for map in &call.values {
            keys.extend(fields(map)?.into_keys().map(Value::text));
        }
        Ok(Value::list(keys))
    }),
    ("values", |call| {
        let [map] = call.exactly()?;
        Ok(Value::list(fields(&map)?.into_values().collect()))
    }),
    ("pick", |call| chosen(call, true)),
    ("omit", |call| chosen(call, false)),
    ("pluck", |call| {
        let ([key], maps) = call.at_least()?;
        let key = text(&key)?.into_owned();
        let mut found = Vec::new();
        for map in &maps {
            found.extend(fields(map)?.remove(&key));
        }
        Ok(Value::list(found))
    }),
    ("merge", |call| merge(call, false)),
    ("mergeOverwrite", |call| merge(call, true)),
    ("deepCopy", |call| {
        let [value] = call.exactly()?;
        Ok(Value::owned(value.to_json()))
    }),
    ("dig", |call| {
        let mut values = call.values;
        let (Some(mut map), Some(otherwise)) = (values.pop(), values.pop()) else {
            return Err("wrong number of args: want at least 3".to_owned());
        };
        for key in &values {
            match fields(&map)?.remove(&*text(key)?) {
                Some(found) => map = found,
                None => return Ok(otherwise),
            }
        }
        Ok(map)
    }),
];

fn fields<'d>(map: &Value<'d>) -> Result<Fields<'d>, String> {
    map.fields()
        .ok_or_else(|| format!("wrong type for value; expected map[string]interface {{}}; got {}", map.type_name()))
}

/// Changes a created map in place; a map of the data is copied.
fn change<'d>(map: Value<'d>, change: impl FnOnce(&mut Fields<'d>)) -> Result<Value<'d>, String> {
    let map = if map.made().is_some() { map } else { Value::map(fields(&map)?) };
    if let Some(fields) = map.made() {
        change(&mut fields.borrow_mut());
    }
    Ok(map)
}

/// Whether `map` is part of `value`, so that inserting `value` into it would create a cycle; also true if the check
/// takes too long.
fn holds<'d>(value: &Value<'d>, map: &Value<'d>) -> bool {
    let (mut open, mut parts) = (vec![value.clone()], MOST_PARTS);
    while let Some(value) = open.pop() {
        let (one, other) = (value.made(), map.made());
        if parts == 0 || one.zip(other).is_some_and(|(one, other)| std::ptr::eq(one, other)) {
            return true;
        }
        parts -= 1;
        match (value.made(), value.items()) {
            (Some(fields), _) => open.extend(fields.borrow().values().cloned()),
            (_, Some(items)) => open.extend(items),
            _ => {}
        }
    }
    false
}

fn chosen<'d>(call: CallArguments<'d>, wanted: bool) -> Result<Value<'d>, String> {
    let ([map], keys) = call.at_least()?;
    let keys: Vec<String> = keys.iter().map(shown).collect();
    let fields = fields(&map)?.into_iter().filter(|(key, _)| keys.contains(key) == wanted);
    Ok(Value::map(fields.collect()))
}

fn merge<'d>(call: CallArguments<'d>, overwrites: bool) -> Result<Value<'d>, String> {
    let ([into], others) = call.at_least()?;
    let mut merged = fields(&into)?;
    for other in &others {
        merge_into(&mut merged, fields(other)?, overwrites, DEEPEST);
    }
    if others.iter().any(|other| holds(other, &into)) {
        return Err("a map cannot hold itself".to_owned());
    }
    change(into, |fields| *fields = merged)
}

fn merge_into<'d>(into: &mut Fields<'d>, from: Fields<'d>, overwrites: bool, depth: usize) {
    for (key, value) in from {
        let known = into.get(&key).filter(|known| !known.is_nil());
        let merged = match (known.and_then(Value::fields), value.fields(), depth.checked_sub(1)) {
            (Some(mut fields), Some(others), Some(depth)) => {
                merge_into(&mut fields, others, overwrites, depth);
                Value::map(fields)
            }
            _ if known.is_some_and(Value::is_true) && !(overwrites && value.is_true()) => continue,
            _ => value,
        };
        into.insert(key, merged);
    }
}
