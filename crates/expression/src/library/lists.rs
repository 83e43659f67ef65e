//! Lists. In Kubernetes: `ext.Lists`, version 3, and `library.Lists`.

use std::cmp::Ordering;

use crate::fault::Fault;
use crate::meter::Meter;
use crate::value::{ListValue, Value};

use super::function::Function;
use super::strings;

type Result<'v> = std::result::Result<Value<'v>, Fault>;

pub(super) fn find(name: &str) -> Option<Function> {
    Some(match name {
        "isSorted" => is_sorted,
        "sum" => sum,
        "min" => |arguments, meter| extreme(arguments, meter, "min", Ordering::Greater),
        "max" => |arguments, meter| extreme(arguments, meter, "max", Ordering::Less),
        "indexOf" => |arguments, meter| index(arguments, meter, false),
        "lastIndexOf" => |arguments, meter| index(arguments, meter, true),
        "slice" => slice,
        "flatten" => flatten,
        "sort" => |arguments, meter| sort(only(arguments)?, only(arguments)?, meter),
        "@sortByAssociatedKeys" => |arguments, meter| match arguments {
            [Value::List(list), Value::List(keys)] => sort(list, keys, meter),
            _ => Err(Fault::no_overload()),
        },
        "lists.range" => range,
        "reverse" => reverse,
        "distinct" => distinct,
        _ => return None,
    })
}

fn only<'a, 'v>(arguments: &'a [Value<'v>]) -> std::result::Result<&'a ListValue<'v>, Fault> {
    match arguments {
        [Value::List(list)] => Ok(list),
        _ => Err(Fault::no_overload()),
    }
}

fn is_sorted<'v>(arguments: &[Value<'v>], meter: &mut Meter) -> Result<'v> {
    let mut previous: Option<Value<'_>> = None;
    for item in only(arguments)?.iter() {
        meter.work(1)?;
        let item = item?;
        if let Some(previous) = previous
            && previous.compare(&item)? == Ordering::Greater
        {
            return Ok(Value::Bool(false));
        }
        previous = Some(item);
    }
    Ok(Value::Bool(true))
}

fn sum<'v>(arguments: &[Value<'v>], meter: &mut Meter) -> Result<'v> {
    let mut total: Option<Value<'v>> = None;
    for item in only(arguments)?.iter() {
        meter.work(1)?;
        let item = item?;
        if !matches!(item, Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Duration(_)) {
            return Err(Fault::no_overload());
        }
        total = Some(match total {
            Some(total) => total.add(item, meter)?,
            None => item,
        });
    }
    Ok(total.unwrap_or(Value::Int(0)))
}

fn extreme<'v>(arguments: &[Value<'v>], meter: &mut Meter, name: &str, worse: Ordering) -> Result<'v> {
    let mut best: Option<Value<'v>> = None;
    for item in only(arguments)?.iter() {
        meter.work(1)?;
        let item = item?;
        best = Some(match best {
            Some(best) if best.compare(&item)? != worse => best,
            _ => item,
        });
    }
    best.ok_or_else(|| Fault::new(format!("{name} called on empty list")))
}

fn index<'v>(arguments: &[Value<'v>], meter: &mut Meter, is_last: bool) -> Result<'v> {
    let [Value::List(list), item] = arguments else { return strings::index(arguments, meter, is_last) };
    let mut found = -1;
    for (at, candidate) in list.iter().enumerate() {
        if candidate?.equals(item, meter)? {
            found = i64::try_from(at).unwrap_or(i64::MAX);
            if !is_last {
                break;
            }
        }
    }
    Ok(Value::Int(found))
}

fn slice<'v>(arguments: &[Value<'v>], meter: &mut Meter) -> Result<'v> {
    let [Value::List(list), Value::Int(start), Value::Int(end)] = arguments else { return Err(Fault::no_overload()) };
    let refuse = |why: String| Err(Fault::new(format!("cannot slice({start}, {end}), {why}")));
    let (Ok(from), Ok(to)) = (usize::try_from(*start), usize::try_from(*end)) else {
        return refuse("negative indexes not supported".to_owned());
    };
    if from > to {
        return refuse("start index must be less than or equal to end index".to_owned());
    }
    if to > list.len() {
        return refuse(format!("list is length {}", list.len()));
    }
    meter.items(to - from)?;
    let items = (from..to).filter_map(|at| list.get(at));
    Ok(Value::list(items.collect::<std::result::Result<_, _>>()?))
}

fn flatten<'v>(arguments: &[Value<'v>], meter: &mut Meter) -> Result<'v> {
    let (list, depth) = match arguments {
        [Value::List(list)] => (list, 1),
        [Value::List(list), Value::Int(depth)] => (list, *depth),
        _ => return Err(Fault::no_overload()),
    };
    if depth < 0 {
        return Err(Fault::new("level must be non-negative"));
    }
    let mut flat = Vec::new();
    flatten_into(list, depth, &mut flat, meter)?;
    Ok(Value::list(flat))
}

fn flatten_into<'v>(
    list: &ListValue<'v>,
    depth: i64,
    flat: &mut Vec<Value<'v>>,
    meter: &mut Meter,
) -> std::result::Result<(), Fault> {
    for item in list.iter() {
        match item? {
            Value::List(inner) if depth > 0 => flatten_into(&inner, depth - 1, flat, meter)?,
            other => {
                meter.items(1)?;
                flat.push(other);
            }
        }
    }
    Ok(())
}

/// Sorts a list by the keys of its items.
fn sort<'v>(list: &ListValue<'v>, keys: &ListValue<'v>, meter: &mut Meter) -> Result<'v> {
    if list.len() != keys.len() {
        let what = "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got";
        return Err(Fault::new(format!("{what} {} and {} elements respectively", list.len(), keys.len())));
    }
    meter.items(list.len().saturating_mul(3))?;
    let keys = keys.items()?;
    let is_comparable = |value: &Value<'_>| value.compare(value).is_ok() || matches!(value, Value::Double(_));
    if keys.first().is_some_and(|first| !is_comparable(first)) {
        return Err(Fault::new("list elements must be comparable"));
    }
    if keys.windows(2).any(|pair| std::mem::discriminant(&pair[0]) != std::mem::discriminant(&pair[1])) {
        return Err(Fault::new("list elements must have the same type"));
    }
    let mut pairs: Vec<(Value<'v>, Value<'v>)> = keys.into_iter().zip(list.items()?).collect();
    meter.work((pairs.len() as u64).saturating_mul(20))?;
    pairs.sort_by(|(one, _), (other, _)| one.compare(other).unwrap_or(Ordering::Equal));
    Ok(Value::list(pairs.into_iter().map(|(_, item)| item).collect()))
}

fn range<'v>(arguments: &[Value<'v>], meter: &mut Meter) -> Result<'v> {
    let [Value::Int(end)] = arguments else { return Err(Fault::no_overload()) };
    meter.items(usize::try_from(*end).unwrap_or(0))?;
    Ok(Value::list((0..*end).map(Value::Int).collect()))
}

fn reverse<'v>(arguments: &[Value<'v>], meter: &mut Meter) -> Result<'v> {
    let list = only(arguments)?;
    meter.items(list.len())?;
    let mut items = list.items()?;
    items.reverse();
    Ok(Value::list(items))
}

fn distinct<'v>(arguments: &[Value<'v>], meter: &mut Meter) -> Result<'v> {
    let list = only(arguments)?;
    meter.items(list.len())?;
    let mut items: Vec<Value<'v>> = Vec::new();
    'items: for item in list.iter() {
        let item = item?;
        for seen in &items {
            if item.equals(seen, meter)? {
                continue 'items;
            }
        }
        items.push(item);
    }
    Ok(Value::list(items))
}
