//! The common parts of all walks over a value with a place: the form of a value, its children, and the names of list
//! items.

use std::borrow::Cow;

use coracle_meta::Status;
use serde_json::{Map, Value};

use super::path::PathElement;
use super::place::{ListForm, MapForm, Place, ScalarForm, ValueForm};
use crate::go_text::{go_syntax, go_text, go_type};

/// The form of one value; a place declared as any value takes the form of its value.
/// In Kubernetes: `deduceAtom`.
pub(super) fn form_of<P: Place>(place: P, value: Option<&Value>) -> ValueForm {
    match (place.form(), value) {
        (ValueForm::Any, Some(Value::Array(_))) => ValueForm::List(ListForm::Atomic),
        (ValueForm::Any, Some(Value::String(_) | Value::Number(_) | Value::Bool(_))) => {
            ValueForm::Scalar(ScalarForm::Any)
        }
        (ValueForm::Any, _) => ValueForm::Map(MapForm::Granular),
        (form, _) => form,
    }
}

/// The forms of two versions of a value, one after the other if they differ.
pub(super) fn forms_of_both<P: Place>(
    place: P,
    left: Option<&Value>,
    right: Option<&Value>,
) -> (Option<ValueForm>, ValueForm) {
    let (left_form, right_form) = (form_of(place, left), form_of(place, right));
    match (left, right) {
        (_, None) => (None, left_form),
        (None, _) => (None, right_form),
        _ if left_form == right_form => (None, right_form),
        _ => (Some(left_form), right_form),
    }
}

/// The place of a field or of a map's entry.
pub(super) fn place_below<P: Place>(place: P, name: &str) -> Option<P> {
    match place.form() {
        ValueForm::Any => Some(place),
        _ => place.field(name).or_else(|| place.entry()),
    }
}

/// Whether `name` is a field of a struct, rather than an entry of a map.
pub(super) fn is_declared<P: Place>(place: P, name: &str) -> bool {
    place.form() != ValueForm::Any && place.field(name).is_some()
}

/// The place of a list's items.
pub(super) fn place_of_items<P: Place>(place: P) -> Option<P> {
    match place.form() {
        ValueForm::Any => Some(place),
        _ => place.item(),
    }
}

pub(super) fn as_map(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

pub(super) fn as_list(value: Option<&Value>) -> Option<&[Value]> {
    value.and_then(Value::as_array).map(Vec::as_slice)
}

/// The value of a field; a missing field that is always written has its zero value.
pub(super) fn value_below<'v, P: Place>(
    map: Option<&'v Map<String, Value>>,
    name: &str,
    below: P,
) -> Option<&'v Value> {
    match map?.get(name) {
        None | Some(Value::Null) => below.zero().or(map?.get(name)),
        value => value,
    }
}

/// The path element of an item of a set or of a list with keys. In Kubernetes: `listItemToPathElement`.
pub(super) fn element_of<P: Place>(list: P, form: ListForm, item: &Value) -> Result<PathElement, String> {
    match form {
        ListForm::Atomic => Err("invalid indexing of non-associative list".to_owned()),
        ListForm::Set => match item {
            Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
            Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
            Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
            scalar => Ok(PathElement::Value(scalar.clone())),
        },
        ListForm::Map => keyed_element(list, item),
    }
}

fn keyed_element<P: Place>(list: P, item: &Value) -> Result<PathElement, String> {
    let fields = match item {
        Value::Object(fields) => fields,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let names = list.list_map_keys();
    let mut key = Vec::with_capacity(names.len());
    for name in names {
        key.extend(key_value(list, fields, name).map(|value| (name.clone(), value.into_owned())));
    }
    if key.is_empty() {
        let quoted: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
            quoted.join(" ")
        ));
    }
    Ok(PathElement::key(key))
}

/// The value of a key field of an item, or its default if it is missing.
fn key_value<'v, P: Place>(list: P, fields: &'v Map<String, Value>, name: &str) -> Option<Cow<'v, Value>> {
    match fields.get(name) {
        Some(value) => Some(Cow::Borrowed(value)),
        None => list.item().and_then(|item| item.field(name)).and_then(Place::default).map(Cow::Owned),
    }
}

/// Whether [`element_of`] returns an element for the item.
fn has_name<P: Place>(list: P, form: ListForm, item: &Value) -> bool {
    match (form, item) {
        (ListForm::Map, Value::Object(fields)) => {
            list.list_map_keys().iter().any(|name| key_value(list, fields, name).is_some())
        }
        _ => element_of(list, form, item).is_ok(),
    }
}

/// The values that do not match their places, one line each, up to the limit of a response; the others are counted. The
/// limit exists because a path may be as long as the body, with as many misfits below it as the body has fields.
#[derive(Default)]
struct Misfits {
    lines: Vec<String>,
    bytes: usize,
    others: usize,
}

impl Misfits {
    fn add(&mut self, path: &str, why: impl FnOnce() -> String) {
        if self.bytes > Status::LISTED_BYTES {
            self.others += 1;
            return;
        }
        let line = if path.is_empty() { why() } else { format!("{path}: {}", why()) };
        self.bytes += line.len();
        self.lines.push(line);
    }

    /// Prints them like structured-merge-diff: one in a line, several below `errors:`; `None` if there are no misfits.
    fn text(mut self) -> Option<String> {
        match (self.lines.len(), self.others) {
            (0, _) => None,
            (1, 0) => self.lines.pop(),
            (_, 0) => Some(format!("errors:\n  {}", self.lines.join("\n  "))),
            (_, others) => Some(format!("errors:\n  {}\n  and {others} more errors", self.lines.join("\n  "))),
        }
    }
}

/// Whether a list may contain an item twice: a stored object may, an applied one may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duplicates {
    Allowed,
    Refused,
}

/// Validates a value against its place. In Kubernetes: `TypedValue.Validate`.
pub(super) fn validate<P: Place>(place: P, value: &Value, duplicates: Duplicates) -> Result<(), String> {
    let mut misfits = Misfits::default();
    visit(place, value, duplicates, &mut String::new(), &mut misfits);
    misfits.text().map_or(Ok(()), Err)
}

/// Whether a value matches its place, without a description of the misfits. Parts that equal those of `fitting`, which
/// is known to match, are not checked.
pub(super) fn fits<P: Place>(place: P, value: &Value, fitting: Option<&Value>) -> bool {
    if fitting == Some(value) {
        return true;
    }
    match (form_of(place, Some(value)), value) {
        (ValueForm::Opaque, _) | (_, Value::Null) => true,
        (ValueForm::Scalar(form), value) => fits_scalar(form, value),
        (ValueForm::Map(_) | ValueForm::Any, Value::Object(fields)) => fields.iter().all(|(name, below)| {
            let fitting = fitting.and_then(|fitting| fitting.get(name));
            place_below(place, name).is_some_and(|place| fits(place, below, fitting))
        }),
        (ValueForm::List(form), Value::Array(items)) => items.iter().enumerate().all(|(index, item)| {
            let fitting = fitting.and_then(|fitting| fitting.get(index));
            let is_named = form == ListForm::Atomic || has_name(place, form, item);
            is_named && place_of_items(place).is_none_or(|place| fits(place, item, fitting))
        }),
        _ => false,
    }
}

fn visit<P: Place>(place: P, value: &Value, duplicates: Duplicates, path: &mut String, misfits: &mut Misfits) {
    match form_of(place, Some(value)) {
        ValueForm::Scalar(form) => {
            if !fits_scalar(form, value) {
                misfits.add(path, || scalar_misfit(form, value));
            }
        }
        ValueForm::Opaque => {}
        ValueForm::Map(_) | ValueForm::Any => match value {
            Value::Null => {}
            Value::Object(fields) => {
                for (name, below) in fields {
                    let length = path.len();
                    path.push('.');
                    path.push_str(name);
                    match place_below(place, name) {
                        Some(place) => visit(place, below, duplicates, path, misfits),
                        None => misfits.add(path, || "field not declared in schema".to_owned()),
                    }
                    path.truncate(length);
                }
            }
            other => misfits.add(path, || format!("expected map, got {}", go_any(other))),
        },
        ValueForm::List(form) => match value {
            Value::Null => {}
            Value::Array(items) => visit_items(place, form, items, duplicates, path, misfits),
            other => misfits.add(path, || format!("expected list, got {}", go_any(other))),
        },
    }
}

fn visit_items<P: Place>(
    place: P,
    form: ListForm,
    items: &[Value],
    duplicates: Duplicates,
    path: &mut String,
    misfits: &mut Misfits,
) {
    let mut seen = std::collections::BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let element = match form {
            ListForm::Atomic => PathElement::Index(index as i64),
            form => match element_of(place, form, item) {
                Ok(element) => element,
                Err(why) => {
                    misfits.add(path, || format!("element {index}: {why}"));
                    return;
                }
            },
        };
        if duplicates == Duplicates::Refused && seen.contains(&element) {
            misfits.add(path, || format!("duplicate entries for key {element}"));
        }
        let length = path.len();
        path.push_str(&element.to_string());
        seen.insert(element);
        if let Some(place) = place_of_items(place) {
            visit(place, item, duplicates, path, misfits);
        }
        path.truncate(length);
    }
}

fn fits_scalar(form: ScalarForm, value: &Value) -> bool {
    match form {
        _ if value.is_null() => true,
        ScalarForm::Text => value.is_string(),
        ScalarForm::Number => value.is_number(),
        ScalarForm::Boolean => value.is_boolean(),
        ScalarForm::Any => value.is_string() || value.is_number() || value.is_boolean(),
    }
}

/// Why a value does not have the form of a scalar. Each form quotes values differently.
fn scalar_misfit(form: ScalarForm, value: &Value) -> String {
    match form {
        ScalarForm::Text => format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_syntax(value)),
        ScalarForm::Number => format!("expected numeric (int or float), got {}", go_type(value)),
        ScalarForm::Boolean => format!("expected boolean, got {}", go_any(value)),
        ScalarForm::Any => format!("expected any scalar, got {}", go_any(value)),
    }
}

/// Prints a value like structured-merge-diff's `%v`: as Go prints the struct that contains it.
fn go_any(value: &Value) -> String {
    format!("&{{{}}}", go_text(value))
}
