//! The built-in functions of Go's templates, and related ones of sprig.

use std::cmp::Ordering;

use super::{CallArguments, Function, count, text};
use crate::compare::{equal, order};
use crate::format::printf;
use crate::show::shown;
use crate::value::Value;

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("not", |call| call.exactly().map(|[value]| Value::Bool(!value.is_true()))),
    ("eq", |call| is_one_of(call, true)),
    ("ne", |call| call.exactly().and_then(|[one, other]| Ok(Value::Bool(!equal(&one, &other)?)))),
    ("lt", |call| ordered(call, &[Ordering::Less])),
    ("le", |call| ordered(call, &[Ordering::Less, Ordering::Equal])),
    ("gt", |call| ordered(call, &[Ordering::Greater])),
    ("ge", |call| ordered(call, &[Ordering::Greater, Ordering::Equal])),
    ("len", len),
    ("index", index),
    ("slice", slice),
    ("print", |call| Ok(Value::text(print(&call.values)))),
    ("println", |call| {
        let texts: Vec<String> = call.values.iter().map(shown).collect();
        Ok(Value::text(texts.join(" ") + "\n"))
    }),
    ("printf", |call| {
        let ([format], arguments) = call.at_least()?;
        Ok(Value::text(printf(&text(&format)?, &arguments)))
    }),
    ("default", |call| {
        let ([otherwise], given) = call.at_least()?;
        let given = given.into_iter().next().filter(|given| !is_empty(given));
        Ok(given.unwrap_or(otherwise))
    }),
    ("empty", |call| call.exactly().map(|[value]| Value::Bool(is_empty(&value)))),
    ("coalesce", |call| Ok(call.values.into_iter().find(|value| !is_empty(value)).unwrap_or(Value::Missing))),
    ("all", |call| Ok(Value::Bool(!call.values.iter().any(is_empty)))),
    ("any", |call| Ok(Value::Bool(!call.values.iter().all(is_empty)))),
    ("ternary", |call| call.exactly().map(|[yes, no, which]| if which.is_true() { yes } else { no })),
    ("fail", |call| call.exactly().and_then(|[why]| Err(shown(&why)))),
    ("kindOf", |call| call.exactly().map(|[value]| Value::text(kind(&value)))),
    ("kindIs", |call| call.exactly().map(|[name, value]| Value::Bool(shown(&name) == kind(&value)))),
    ("typeOf", |call| call.exactly().map(|[value]| Value::text(type_of(&value)))),
    ("typeIs", |call| call.exactly().map(|[name, value]| Value::Bool(shown(&name) == type_of(&value)))),
];

/// In sprig: `empty`; JSON numbers are strings.
pub(super) fn is_empty(value: &Value<'_>) -> bool {
    !value.is_true()
}

fn is_one_of<'d>(call: CallArguments<'d>, wanted: bool) -> Result<Value<'d>, String> {
    let ([one], others) = call.at_least()?;
    if others.is_empty() {
        return Err("missing argument for comparison".to_owned());
    }
    for other in &others {
        if equal(&one, other)? {
            return Ok(Value::Bool(wanted));
        }
    }
    Ok(Value::Bool(!wanted))
}

fn ordered<'d>(call: CallArguments<'d>, wanted: &[Ordering]) -> Result<Value<'d>, String> {
    let [one, other] = call.exactly()?;
    order(&one, &other).map(|ordering| Value::Bool(wanted.contains(&ordering)))
}

#[expect(clippy::cast_possible_wrap, reason = "no length is so large")]
fn len(call: CallArguments<'_>) -> Result<Value<'_>, String> {
    let [value] = call.exactly()?;
    let length = value.len().ok_or_else(|| format!("len of type {}", value.type_name()))?;
    Ok(Value::Int(length as i64))
}

fn index(call: CallArguments<'_>) -> Result<Value<'_>, String> {
    let ([mut value], places) = call.at_least()?;
    if value.is_nil() {
        return Err("index of untyped nil".to_owned());
    }
    for place in places {
        value = match (&value, &place) {
            (value, _) if value.is_nil() => return Err("index of nil pointer".to_owned()),
            (Value::Object(_) | Value::Map(_), Value::Text(_) | Value::Number(_)) => {
                value.field(&text(&place)?).unwrap_or(Value::Missing)
            }
            (Value::Object(_) | Value::Map(_), place) => {
                return Err(format!("value has type {}; should be string", place.type_name()));
            }
            (Value::Text(text), Value::Int(at)) => {
                let byte = usize::try_from(*at).ok().and_then(|at| text.as_bytes().get(at));
                Value::Int(i64::from(*byte.ok_or_else(|| format!("index out of range: {at}"))?))
            }
            (value, Value::Int(at)) => {
                let items = value.items().ok_or_else(|| format!("can't index item of type {}", value.type_name()))?;
                let found = usize::try_from(*at).ok().and_then(|at| items.get(at).cloned());
                found.ok_or_else(|| format!("index out of range: {at}"))?
            }
            (_, place) if place.is_nil() => return Err("cannot index slice/array with nil".to_owned()),
            (_, place) => return Err(format!("cannot index slice/array with type {}", place.type_name())),
        };
    }
    // Fields of a null value may be selected, like those of a missing one.
    Ok(if let Value::Null = value { Value::Missing } else { value })
}

fn slice(call: CallArguments<'_>) -> Result<Value<'_>, String> {
    let ([value], places) = call.at_least()?;
    let length = value.len().ok_or_else(|| format!("can't slice item of type {}", value.type_name()))?;
    let from = places.first().map_or(Ok(0), count)?;
    let to = places.get(1).map_or(Ok(length), count)?;
    if from > to || to > length {
        return Err(format!("index out of range: {from}:{to}"));
    }
    match (&value, value.items()) {
        (Value::Text(text), _) => {
            text.get(from..to).map(Value::text).ok_or_else(|| "slices a sign of the text".to_owned())
        }
        (_, Some(items)) => Ok(Value::list(items[from..to].to_vec())),
        _ => Err(format!("can't slice item of type {}", value.type_name())),
    }
}

/// In Go: `fmt.Sprint`, with a space between operands when neither is a string.
fn print(values: &[Value<'_>]) -> String {
    let (mut into, mut was_text) = (String::new(), true);
    for value in values {
        let is_text = matches!(value, Value::Text(_));
        if !is_text && !was_text {
            into.push(' ');
        }
        into.push_str(&shown(value));
        was_text = is_text;
    }
    into
}

fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::Missing | Value::Null => "invalid",
        Value::Number(_) => "string",
        Value::Array(_) | Value::List(_) => "slice",
        Value::Object(_) | Value::Map(_) => "map",
        other => other.type_name(),
    }
}

fn type_of(value: &Value<'_>) -> &'static str {
    if value.is_nil() { "<nil>" } else { value.type_name() }
}
