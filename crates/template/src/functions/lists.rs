//! Lists. In sprig: `list.go`.

use super::{CallArguments, Function, items};
use crate::compare::equal;
use crate::number::whole;
use crate::show::shown;
use crate::value::Value;

/// The maximum length of a list that one call creates.
const LONGEST: i64 = 100_000;

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("list", |call| Ok(Value::list(call.values))),
    ("tuple", |call| Ok(Value::list(call.values))),
    ("append", |call| {
        let [list, item] = call.exactly()?;
        let mut items = items(&list)?;
        items.push(item);
        Ok(Value::list(items))
    }),
    ("prepend", |call| {
        let [list, item] = call.exactly()?;
        let mut all = vec![item];
        all.extend(items(&list)?);
        Ok(Value::list(all))
    }),
    ("concat", |call| {
        let lists: Result<Vec<_>, _> = call.values.iter().map(items).collect();
        Ok(Value::list(lists?.concat()))
    }),
    ("first", |call| part(call, |items| items.into_iter().next().unwrap_or(Value::Missing))),
    ("last", |call| part(call, |mut items| items.pop().unwrap_or(Value::Missing))),
    ("rest", |call| part(call, |items| Value::list(items.into_iter().skip(1).collect()))),
    ("initial", |call| {
        part(call, |mut items| {
            items.pop();
            Value::list(items)
        })
    }),
    ("reverse", |call| part(call, |items| Value::list(items.into_iter().rev().collect()))),
    ("compact", |call| part(call, |items| Value::list(items.into_iter().filter(Value::is_true).collect()))),
    ("uniq", |call| {
        part(call, |items| {
            let mut kept: Vec<Value<'_>> = Vec::new();
            for item in items {
                if !kept.iter().any(|known| same(known, &item)) {
                    kept.push(item);
                }
            }
            Value::list(kept)
        })
    }),
    ("sortAlpha", |call| {
        part(call, |items| {
            let mut texts: Vec<String> = items.iter().map(shown).collect();
            texts.sort();
            Value::list(texts.into_iter().map(Value::text).collect())
        })
    }),
    ("has", |call| {
        let [item, list] = call.exactly()?;
        Ok(Value::Bool(!list.is_nil() && items(&list)?.iter().any(|known| same(known, &item))))
    }),
    ("without", |call| {
        let ([list], others) = call.at_least()?;
        let kept = items(&list)?.into_iter().filter(|item| !others.iter().any(|other| same(other, item)));
        Ok(Value::list(kept.collect()))
    }),
    ("until", |call| {
        let [end] = call.exactly()?;
        let end = whole(&end);
        range(0, end, if end < 0 { -1 } else { 1 })
    }),
    ("untilStep", |call| {
        let [start, end, step] = call.exactly()?;
        range(whole(&start), whole(&end), whole(&step))
    }),
];

/// Whether two values are equal, whatever their types. In sprig: `reflect.DeepEqual`.
fn same(one: &Value<'_>, other: &Value<'_>) -> bool {
    equal(one, other).unwrap_or_else(|_| one.to_json() == other.to_json())
}

fn part<'d>(call: CallArguments<'d>, make: impl Fn(Vec<Value<'d>>) -> Value<'d>) -> Result<Value<'d>, String> {
    let [list] = call.exactly()?;
    items(&list).map(make)
}

fn range<'d>(start: i64, end: i64, step: i64) -> Result<Value<'d>, String> {
    let steps = match step {
        0 => 0,
        step => (i128::from(end) - i128::from(start)) / i128::from(step),
    };
    if steps > i128::from(LONGEST) {
        return Err(format!("gives more than {LONGEST} items"));
    }
    let mut items = Vec::new();
    let mut at = start;
    while step != 0 && (if step > 0 { at < end } else { at > end }) {
        items.push(Value::Int(at));
        match at.checked_add(step) {
            Some(next) => at = next,
            None => break,
        }
    }
    Ok(Value::list(items))
}
