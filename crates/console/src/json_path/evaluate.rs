//! The values of a template.

use std::borrow::Cow;

use serde_json::Value;

use super::compare::compare;
use super::nodes::{Filter, Node, Slice};
use crate::values::show;

type Found<'v> = Vec<Cow<'v, Value>>;

/// How many values a template finds at most.
const MOST_VALUES: usize = 1_000_000;

/// The values of each part of a template.
pub(super) fn find<'v>(nodes: &[Node], value: &'v Value) -> Result<Vec<Found<'v>>, String> {
    let mut out = Vec::new();
    let end = block(nodes, 0, Cow::Borrowed(value), 0, &mut out)?;
    debug_assert!(end <= nodes.len());
    Ok(out)
}

/// Evaluates the parts from `first` up to the end of the innermost loop; returns the index of that end.
fn block<'v>(
    nodes: &[Node],
    first: usize,
    value: Cow<'v, Value>,
    loops: usize,
    out: &mut Vec<Found<'v>>,
) -> Result<usize, String> {
    let mut index = first;
    while let Some(node) = nodes.get(index) {
        match keyword(node) {
            Some("end") if loops > 0 => return Ok(index),
            Some("end") => return Err("not in range, nothing to end".to_owned()),
            Some("range") => {
                let Node::Action(steps) = node else { return Ok(index) };
                let items = walk(vec![value.clone()], &steps[1..])?;
                let mut end = None;
                for item in items {
                    end = Some(block(nodes, index + 1, item, loops + 1, out)?);
                }
                index = match end {
                    Some(end) => end,
                    None => block(nodes, index + 1, Cow::Owned(Value::Null), loops + 1, &mut Vec::new())?,
                };
            }
            _ => out.push(walk(vec![value.clone()], std::slice::from_ref(node))?),
        }
        if out.len() > MOST_VALUES {
            return Err("too many values".to_owned());
        }
        index += 1;
    }
    Ok(index)
}

fn keyword(node: &Node) -> Option<&str> {
    match node {
        Node::Action(steps) => match steps.first() {
            Some(Node::Identifier(word)) => Some(word),
            _ => None,
        },
        _ => None,
    }
}

fn walk<'v>(mut values: Found<'v>, nodes: &[Node]) -> Result<Found<'v>, String> {
    for node in nodes {
        values = step(values, node)?;
        if values.len() > MOST_VALUES {
            return Err("too many values".to_owned());
        }
    }
    Ok(values)
}

fn step<'v>(values: Found<'v>, node: &Node) -> Result<Found<'v>, String> {
    let constant = |value: Value| values.iter().map(|_| Cow::Owned(value.clone())).collect();
    Ok(match node {
        Node::Text(text) => vec![Cow::Owned(text.clone().into())],
        Node::Action(steps) => walk(values, steps)?,
        Node::Field(name) => values.into_iter().filter_map(|value| field(value, name)).collect(),
        Node::Identifier(word) => return Err(format!("unrecognized identifier {word}")),
        Node::Slice(slice) => {
            let mut out = Vec::new();
            for value in values {
                out.extend(take(value, *slice)?);
            }
            out
        }
        Node::Union(parts) => {
            let mut out = Vec::new();
            for part in parts {
                out.extend(walk(values.clone(), part)?);
            }
            out
        }
        Node::Filter(filter) => {
            let mut out = Vec::new();
            for value in values {
                out.extend(filtered(value, filter)?);
            }
            out
        }
        Node::Integer(number) => constant((*number).into()),
        Node::Float(number) => constant((*number).into()),
        Node::Bool(value) => constant((*value).into()),
        Node::Wildcard => values.into_iter().flat_map(children).collect(),
        Node::Recursive => {
            let mut out = Vec::new();
            values.into_iter().for_each(|value| descend(value, &mut out));
            out
        }
    })
}

fn field<'v>(value: Cow<'v, Value>, name: &str) -> Option<Cow<'v, Value>> {
    match value {
        Cow::Borrowed(value) => value.get(name).map(Cow::Borrowed),
        Cow::Owned(value) => value.get(name).cloned().map(Cow::Owned),
    }
}

fn children(value: Cow<'_, Value>) -> Found<'_> {
    match value {
        Cow::Borrowed(Value::Object(map)) => map.values().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::Array(items)) => items.iter().map(Cow::Borrowed).collect(),
        Cow::Owned(Value::Object(map)) => map.into_iter().map(|(_, value)| Cow::Owned(value)).collect(),
        Cow::Owned(Value::Array(items)) => items.into_iter().map(Cow::Owned).collect(),
        _ => Vec::new(),
    }
}

fn descend<'v>(value: Cow<'v, Value>, out: &mut Found<'v>) {
    let below = children(value.clone());
    if below.is_empty() {
        return;
    }
    out.push(value);
    below.into_iter().for_each(|value| descend(value, out));
}

fn take(value: Cow<'_, Value>, slice: Slice) -> Result<Found<'_>, String> {
    let items = match &*value {
        Value::Null => return Ok(Vec::new()),
        Value::Array(items) => items.len(),
        other => return Err(format!("{} is not array or slice", go_type(other))),
    };
    let length = i64::try_from(items).unwrap_or(i64::MAX);
    let mut first = slice.first.unwrap_or(0);
    if first < 0 {
        first = first.saturating_add(length);
    }
    let mut end = slice.end.unwrap_or(length);
    if end < 0 || (end == 0 && slice.is_derived) {
        end = end.saturating_add(length);
    }
    if first == end {
        return Ok(Vec::new());
    }
    let out_of_bounds = |index| Err(format!("array index out of bounds: index {index}, length {length}"));
    if first >= length || first < 0 {
        return out_of_bounds(first);
    }
    if end > length || end < 0 {
        return out_of_bounds(end - 1);
    }
    if first > end {
        return Err(format!("starting index {first} is greater than ending index {end}"));
    }
    let step = match slice.step {
        Some(step) if step <= 0 => return Err("step must be > 0".to_owned()),
        step => usize::try_from(step.unwrap_or(1)).unwrap_or(usize::MAX),
    };
    let (first, end) = (usize::try_from(first).unwrap_or(0), usize::try_from(end).unwrap_or(0));
    Ok(children(value).into_iter().take(end).skip(first).step_by(step).collect())
}

fn filtered<'v>(value: Cow<'v, Value>, filter: &Filter) -> Result<Found<'v>, String> {
    if !value.is_array() {
        let shown = if value.is_null() { "<nil>".to_owned() } else { show(&value) };
        return Err(format!("{shown} is not array or slice and cannot be filtered"));
    }
    let mut out = Vec::new();
    for item in children(value) {
        let lefts = walk(vec![item.clone()], &filter.left);
        if filter.operator == "exists" {
            if lefts.is_ok_and(|lefts| !lefts.is_empty()) {
                out.push(item);
            }
            continue;
        }
        let Some(left) = single(lefts?)? else { continue };
        let Some(right) = single(walk(vec![item.clone()], &filter.right)?)? else { continue };
        if compare(&left, &filter.operator, &right)? {
            out.push(item);
        }
    }
    Ok(out)
}

fn single(mut found: Found<'_>) -> Result<Option<Cow<'_, Value>>, String> {
    if found.len() > 1 {
        return Err("can only compare one element at a time".to_owned());
    }
    Ok(found.pop())
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Object(_) => "map[string]interface {}",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::Null | Value::Array(_) => "interface {}",
    }
}
