use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::JsonKey;
use serde_json::{Map, Value};

use super::Error;
use crate::apply::Place;
use crate::go_text::go_text;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
pub(super) const ELEMENT_ORDER: &str = "$setElementOrder";
/// The maximum number of merged items of lists in one patch. A patch that merges each list once stays below a few times
/// the number of items in two bodies. A patch that contains an item repeatedly merges the item's lists each time.
const MOST_ITEMS: usize = 1_000_000;

/// The remaining number of items.
struct Left(Cell<usize>);

impl Left {
    fn take(&self, items: usize) -> Result<(), Error> {
        let left = self.0.get().checked_sub(items).ok_or(Error::TooManyItems { limit: MOST_ITEMS })?;
        self.0.set(left);
        Ok(())
    }
}

/// Applies a strategic merge patch: objects merge, lists merge by key or as sets if the kind declares it, and
/// directives (`$patch`, `$retainKeys`, `$deleteFromPrimitiveList/…`, `$setElementOrder/…`) override this.
///
/// In Kubernetes: `strategicpatch.StrategicMergeMapPatch`.
///
/// # Errors
/// [`Error::Malformed`] for a patch or directive of the wrong form, [`Error::DoesNotApply`] for lists of lists,
/// [`Error::Contradictory`] for items without their merge key and fields that the kind does not have,
/// [`Error::TooManyItems`] for a patch that merges long lists again and again.
pub fn strategic_merge_patch<P: Place>(document: Value, patch: Value, place: P) -> Result<Value, Error> {
    let type_name = match patch {
        Value::Object(_) => "object",
        Value::Null => return Ok(document),
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
    };
    let Value::Object(patch) = patch else {
        return Err(Error::Malformed(format!(
            "json: cannot unmarshal {type_name} into Go value of type map[string]interface {{}}"
        )));
    };
    let document = match document {
        Value::Object(document) => document,
        _ => Map::new(),
    };
    let left = Left(Cell::new(MOST_ITEMS));
    Ok(Value::Object(merge_map(document, patch, place, &left)?))
}

fn merge_map<P: Place>(
    mut original: Map<String, Value>,
    mut patch: Map<String, Value>,
    place: P,
    left: &Left,
) -> Result<Map<String, Value>, Error> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Map::new()),
            _ => Err(unknown_directive(directive, &patch)),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    order_lists(&mut original, &mut patch, place, left)?;
    for (name, value) in patch {
        if let Some(name) = directive_target(&name, DELETE_FROM_LIST, "invalid patch format of primitive list")? {
            delete_from_list(&mut original, name, value)?;
        } else {
            merge_field(&mut original, name, value, place, left)?;
        }
    }
    Ok(original)
}

fn merge_field<P: Place>(
    original: &mut Map<String, Value>,
    name: String,
    value: Value,
    place: P,
    left: &Left,
) -> Result<(), Error> {
    let merged = match (original.remove(&name), value) {
        (_, Value::Null) => return Ok(()),
        (Some(Value::Object(own)), Value::Object(value)) => {
            let below = place_of_field(place, &name)?;
            Some(Value::Object(merge_map(own, value, below, left)?))
        }
        (Some(Value::Array(own)), Value::Array(value)) => {
            let below = place_of_field(place, &name)?;
            Some(Value::Array(merge_list(own, value, below, left)?))
        }
        (own, mut value) => {
            let same_type =
                own.as_ref().is_some_and(|own| std::mem::discriminant(own) == std::mem::discriminant(&value));
            if !same_type {
                drop_nulls(&mut value);
            }
            without_directives(value)
        }
    };
    if let Some(merged) = merged {
        original.insert(name, merged);
    }
    Ok(())
}

/// The place of a field; a patch cannot merge a field that the kind does not have.
fn place_of_field<P: Place>(place: P, name: &str) -> Result<P, Error> {
    let below = match place.form() {
        crate::apply::ValueForm::Any | crate::apply::ValueForm::Opaque => Some(place),
        _ => place.field(name).or_else(|| place.entry()),
    };
    below.ok_or_else(|| Error::Contradictory(format!("unable to find api field in struct for the json field {name:?}")))
}

/// The field of a directive such as `$setElementOrder/ports`; `None` if the name is not such a directive.
fn directive_target<'n>(name: &'n str, prefix: &str, complaint: &str) -> Result<Option<&'n str>, Error> {
    let Some(rest) = name.strip_prefix(prefix) else { return Ok(None) };
    match rest.strip_prefix('/') {
        Some(target) => Ok(Some(target)),
        None => Err(Error::Malformed(complaint.to_owned())),
    }
}

/// Removes the fields that `$retainKeys` does not list.
fn retain_keys(original: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), Error> {
    let malformed = || Error::Malformed("invalid patch format of retainKeys".to_owned());
    let Some(directive) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let names = directive.as_array().ok_or_else(malformed)?;
    let listed: BTreeSet<&str> = names.iter().filter_map(Value::as_str).collect();
    let is_listed = |name: &str| listed.contains(name);
    let is_directive = |name: &str| name.starts_with(DELETE_FROM_LIST) || name.starts_with(ELEMENT_ORDER);
    if patch.iter().any(|(name, value)| !value.is_null() && !is_directive(name) && !is_listed(name)) {
        return Err(malformed());
    }
    original.retain(|name, _| is_listed(name));
    Ok(())
}

fn delete_from_list(original: &mut Map<String, Value>, name: &str, value: Value) -> Result<(), Error> {
    match (original.get_mut(name), value) {
        (_, Value::Null) => {
            original.remove(name);
        }
        (Some(Value::Array(own)), Value::Array(gone)) => {
            if !own.is_empty() || !gone.is_empty() {
                element_kind(&[own, &gone])?;
            }
            let gone: BTreeSet<_> = gone.iter().map(JsonKey).collect();
            own.retain(|item| !gone.contains(&JsonKey(item)));
        }
        _ => {}
    }
    Ok(())
}

/// Merges the lists of `$setElementOrder`, sorts them, and removes them from the patch.
fn order_lists<P: Place>(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    place: P,
    left: &Left,
) -> Result<(), Error> {
    let malformed = "invalid patch format of setElementOrder list";
    let directives: Vec<_> = patch.keys().filter(|name| name.starts_with(ELEMENT_ORDER)).cloned().collect();
    for directive in directives {
        let order = as_list(patch.remove(&directive).unwrap_or(Value::Null))?;
        let Some(name) = directive_target(&directive, ELEMENT_ORDER, malformed)? else { continue };
        let own = original.get(name).cloned().map(as_list).transpose()?;
        let patched = patch.get(name).cloned().map(as_list).transpose()?;
        let below = place_of_field(place, name)?;
        let strategy = below.patch_strategy();
        let merge_key = strategy.merge_key.as_deref();
        check_order(patched.as_deref().unwrap_or(&[]), &order, merge_key)?;
        let merged = match (&own, &patched) {
            (None, None) => continue,
            (Some(own), None) => own.clone(),
            (None, Some(patched)) => patched.iter().cloned().filter_map(without_directives).collect(),
            (Some(own), Some(patched)) => merge_list(own.clone(), patched.clone(), below, left)?,
        };
        let (own, patched) = (own.unwrap_or_default(), patched.unwrap_or_default());
        left.take(own.len() + patched.len() + order.len())?;
        element_kind(&[&own, &patched])?;
        let ordered = in_order(merged, &order, &own, merge_key)?;
        original.insert(name.to_owned(), Value::Array(ordered));
        patch.remove(name);
    }
    Ok(())
}

fn as_list(value: Value) -> Result<Vec<Value>, Error> {
    match value {
        Value::Array(items) => Ok(items),
        other => {
            let received = match other {
                Value::Object(_) => "map[string]interface {}",
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                Value::Number(number) if number.is_f64() => "float64",
                Value::Number(_) => "int64",
                Value::Null | Value::Array(_) => "%!s(<nil>)",
            };
            Err(Error::Contradictory(format!("expected a []interface {{}}, but received a {received}")))
        }
    }
}

/// Refuses an order that contradicts the order of the patch's own items.
fn check_order(patched: &[Value], order: &[Value], merge_key: Option<&str>) -> Result<(), Error> {
    if patched.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut places = order.iter();
    for item in patched.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
        let key = key_of(item, merge_key)?;
        loop {
            let Some(place) = places.next() else {
                return Err(Error::Contradictory(format!(
                    "The order in patch list:\n{}\n doesn't match {ELEMENT_ORDER} list:\n{}\n",
                    go_text(&Value::Array(patched.to_vec())),
                    go_text(&Value::Array(order.to_vec()))
                )));
            };
            if key_of(place, merge_key)? == key {
                break;
            }
        }
    }
    Ok(())
}

/// What identifies an item: the value of its merge key, or the item itself.
fn key_of<'v>(item: &'v Value, merge_key: Option<&str>) -> Result<&'v Value, Error> {
    let Some(merge_key) = merge_key else { return Ok(item) };
    match item {
        Value::Object(fields) => fields.get(merge_key).ok_or_else(|| no_merge_key(fields, merge_key)),
        _ => Err(Error::Contradictory("expected a map[string]interface {}, but received a different type".to_owned())),
    }
}

fn no_merge_key(fields: &Map<String, Value>, merge_key: &str) -> Error {
    let text = go_text(&Value::Object(fields.clone()));
    Error::Contradictory(format!("map: {text} does not contain declared merge key: {merge_key}"))
}

fn unknown_directive(directive: &Value, fields: &Map<String, Value>) -> Error {
    let text = go_text(&Value::Object(fields.clone()));
    Error::Contradictory(format!("unknown patch type: {} in map: {text}", go_text(directive)))
}

/// Merges a list by the strategy of its field.
fn merge_list<P: Place>(original: Vec<Value>, patch: Vec<Value>, place: P, left: &Left) -> Result<Vec<Value>, Error> {
    let strategy = place.patch_strategy();
    if !strategy.merge {
        return Ok(patch);
    }
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    left.take(original.len() + patch.len())?;
    if element_kind(&[&original, &patch])? != ElementKind::Object {
        let mut seen: BTreeSet<_> = original.iter().map(JsonKey).collect();
        let added = patch.iter().filter(|item| seen.insert(JsonKey(item)));
        let merged = original.iter().chain(added).cloned().collect();
        return in_order(merged, &patch, &original, None);
    }
    let Some(merge_key) = strategy.merge_key.as_deref() else {
        return Err(Error::Contradictory("cannot merge lists without merge key".to_owned()));
    };
    let (original, patch) = obey_directives(original, patch, merge_key)?;
    let merged = merge_items(original.clone(), &patch, merge_key, place, left)?;
    in_order(merged, &patch, &original, Some(merge_key))
}

/// Applies `$patch` in the items of a list; returns the rest of the list and of the patch.
fn obey_directives(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    merge_key: &str,
) -> Result<(Vec<Value>, Vec<Value>), Error> {
    let (mut rest, mut gone, mut replaces) = (Vec::new(), Vec::new(), false);
    for item in patch {
        let Some((fields, directive)) = item.as_object().and_then(|fields| Some((fields, fields.get(DIRECTIVE)?)))
        else {
            rest.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let key = fields.get(merge_key).ok_or_else(|| no_merge_key(fields, merge_key))?;
                gone.push(key.clone());
            }
            Some("replace") => replaces = true,
            Some("merge") => {
                let message = "merging lists cannot yet be specified in the patch";
                return Err(Error::Contradictory(message.to_owned()));
            }
            _ => return Err(unknown_directive(directive, fields)),
        }
    }
    if !gone.is_empty() {
        let gone: BTreeSet<_> = gone.iter().map(JsonKey).collect();
        original.retain(|own| !own.get(merge_key).is_some_and(|key| gone.contains(&JsonKey(key))));
    }
    Ok(if replaces { (rest, Vec::new()) } else { (original, rest) })
}

fn merge_items<P: Place>(
    mut original: Vec<Value>,
    patch: &[Value],
    merge_key: &str,
    place: P,
    left: &Left,
) -> Result<Vec<Value>, Error> {
    let mut places = Places::of(patch, &original, merge_key);
    for item in patch {
        let Value::Object(fields) = item else { continue };
        let key = fields.get(merge_key).ok_or_else(|| no_merge_key(fields, merge_key))?;
        let Some(place_of_own) = places.get_mut(key) else { continue };
        match *place_of_own {
            Some(at) => {
                let below = place.item().ok_or_else(|| Error::Contradictory("the list has no items".to_owned()))?;
                let own = &mut original[at];
                let fields_of_own = own.as_object_mut().map(std::mem::take).unwrap_or_default();
                *own = Value::Object(merge_map(fields_of_own, fields.clone(), below, left)?);
                // A null in a patch removes the key.
                if own.get(merge_key) != Some(key) {
                    let has_key = |own: &Value| own.get(merge_key) == Some(key);
                    *place_of_own = original[at..].iter().position(has_key).map(|after| at + after);
                }
            }
            None => {
                *place_of_own = Some(original.len());
                original.push(item.clone());
            }
        }
    }
    Ok(original)
}

/// The index of the first item in a list with the key of an item of the patch.
struct Places<'p> {
    numbers: BTreeMap<JsonKey<'p>, usize>,
    places: Vec<Option<usize>>,
}

impl<'p> Places<'p> {
    fn of(patch: &'p [Value], list: &[Value], merge_key: &str) -> Self {
        let mut numbers = BTreeMap::new();
        for key in patch.iter().filter_map(|item| item.get(merge_key)) {
            let next = numbers.len();
            numbers.entry(JsonKey(key)).or_insert(next);
        }
        let mut places = vec![None; numbers.len()];
        for (at, own) in list.iter().enumerate() {
            let number = own.get(merge_key).and_then(|key| numbers.get(&JsonKey(key)));
            if let Some(number) = number {
                places[*number].get_or_insert(at);
            }
        }
        Self { numbers, places }
    }

    fn get_mut(&mut self, key: &Value) -> Option<&mut Option<usize>> {
        let number = *self.numbers.get(&JsonKey(key))?;
        self.places.get_mut(number)
    }
}

/// Sorts merged items: those in `order` by it, the others as in the list, interleaved by their positions in the list.
/// In Kubernetes: `normalizeElementOrder`.
fn in_order(merged: Vec<Value>, order: &[Value], list: &[Value], merge_key: Option<&str>) -> Result<Vec<Value>, Error> {
    for item in merged.iter().chain(order).chain(list) {
        key_of(item, merge_key)?;
    }
    let (order, list) = (first_places(order, merge_key), first_places(list, merge_key));
    let places = |item: &Value| {
        let key = key_in(item, merge_key);
        (order.get(&key).copied(), list.get(&key).copied())
    };
    let with_places = merged.into_iter().map(|item| (places(&item), item));
    let (mut named, mut others): (Vec<_>, Vec<_>) = with_places.partition(|((in_order, _), _)| in_order.is_some());
    named.sort_by_key(|((in_order, _), _)| *in_order);
    others.sort_by_key(|((_, in_list), _)| *in_list);
    let mut out = Vec::with_capacity(named.len() + others.len());
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    loop {
        let other_first = match (others.peek(), named.peek()) {
            (None, None) => return Ok(out),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(((_, other), _)), Some(((_, named), _))) => {
                matches!((other, named), (Some(other), Some(named)) if other < named)
            }
        };
        let next = if other_first { others.next() } else { named.next() };
        out.extend(next.map(|(_, item)| item));
    }
}

/// The key of an item, if it has one.
fn key_in<'v>(item: &'v Value, merge_key: Option<&str>) -> Option<JsonKey<'v>> {
    merge_key.map_or(Some(item), |merge_key| item.get(merge_key)).map(JsonKey)
}

/// The first index of each key.
fn first_places<'v>(items: &'v [Value], merge_key: Option<&str>) -> BTreeMap<Option<JsonKey<'v>>, usize> {
    let mut places = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        places.entry(key_in(item, merge_key)).or_insert(at);
    }
    places
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ElementKind {
    Object,
    Scalar,
}

/// The common type of all items of the lists.
fn element_kind(lists: &[&[Value]]) -> Result<ElementKind, Error> {
    let mut items = lists.iter().flat_map(|list| list.iter());
    let Some(first) = items.next() else {
        return Err(Error::Contradictory("no elements in any of the given slices".to_owned()));
    };
    if first.is_array() {
        return Err(Error::DoesNotApply("lists of lists are not supported".to_owned()));
    }
    if items.any(|item| std::mem::discriminant(item) != std::mem::discriminant(first)) {
        let texts: Vec<_> = lists.iter().map(|list| go_text(&Value::Array(list.to_vec()))).collect();
        return Err(Error::Contradictory(format!("list element types are not identical: [{}]", texts.join(" "))));
    }
    Ok(if first.is_object() { ElementKind::Object } else { ElementKind::Scalar })
}

/// A new value without its directives; `None` if it is a directive itself.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => {
            let kept = fields.into_iter().filter_map(|(name, value)| Some((name, without_directives(value)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(without_directives).collect())),
        scalar => Some(scalar),
    }
}

/// Drops the fields that are null from a new value.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
