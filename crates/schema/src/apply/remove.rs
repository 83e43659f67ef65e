use serde_json::{Map, Value};

use super::path::PathElement;
use super::place::{ListForm, MapForm, Place, ValueForm};
use super::set::Set;
use super::typed::{element_of, form_of, place_below, place_of_items};

/// The object without some of its fields and items. In Kubernetes: `TypedValue.RemoveItems`.
///
/// A field stays as null if nothing is left below it: an empty value is not an absent one, and later checks see it.
pub fn remove<P: Place>(place: P, value: &Value, fields: &Set) -> Value {
    match removed(place, value, fields) {
        Value::Null => Value::Object(Map::new()),
        left => left,
    }
}

/// Null if nothing is left.
fn removed<P: Place>(place: P, value: &Value, fields: &Set) -> Value {
    match (form_of(place, Some(value)), value) {
        (ValueForm::Map(MapForm::Granular) | ValueForm::Any, Value::Object(map)) if !map.is_empty() => {
            let mut out = Map::new();
            for (name, below) in map {
                let element = PathElement::field(name);
                if fields.has_member(&element) {
                    continue;
                }
                let left = match (fields.below(&element), place_below(place, name)) {
                    (Some(fields), Some(place)) => removed(place, below, fields),
                    _ => below.clone(),
                };
                out.insert(name.clone(), left);
            }
            if out.is_empty() { Value::Null } else { Value::Object(out) }
        }
        (ValueForm::List(form @ (ListForm::Map | ListForm::Set)), Value::Array(items)) if !items.is_empty() => {
            let mut out = Vec::new();
            for item in items {
                let Ok(element) = element_of(place, form, item) else { continue };
                if fields.has_member(&element) {
                    continue;
                }
                out.push(match (fields.below(&element), place_of_items(place)) {
                    (Some(fields), Some(place)) => removed(place, item, fields),
                    _ => item.clone(),
                });
            }
            if out.is_empty() { Value::Null } else { Value::Array(out) }
        }
        (ValueForm::Scalar(_), value) => value.clone(),
        // A value that is owned as a whole is removed as a whole when a part of it is removed.
        _ => Value::Null,
    }
}

/// The object with only some of its fields and items. In Kubernetes: `TypedValue.ExtractItems`.
pub fn extract<P: Place>(place: P, value: &Value, fields: &Set) -> Value {
    extracted(place, value, fields).unwrap_or_else(|| Value::Object(Map::new()))
}

fn extracted<P: Place>(place: P, value: &Value, fields: &Set) -> Option<Value> {
    match (form_of(place, Some(value)), value) {
        (ValueForm::Map(MapForm::Granular) | ValueForm::Any, Value::Object(map)) if !map.is_empty() => {
            let mut out = Map::new();
            for (name, below) in map {
                let element = PathElement::field(name);
                let kept = match (fields.below(&element), place_below(place, name)) {
                    (Some(fields), Some(place)) => extracted(place, below, fields),
                    _ if fields.has_member(&element) => Some(below.clone()),
                    _ => None,
                };
                if let Some(kept) = kept {
                    out.insert(name.clone(), kept);
                }
            }
            (!out.is_empty()).then_some(Value::Object(out))
        }
        (ValueForm::List(form @ (ListForm::Map | ListForm::Set)), Value::Array(items)) if !items.is_empty() => {
            let mut out = Vec::new();
            for item in items {
                let Ok(element) = element_of(place, form, item) else { continue };
                match (fields.below(&element), place_of_items(place)) {
                    (Some(fields), Some(place)) => out.push(extract(place, item, fields)),
                    _ if fields.has_member(&element) => out.push(item.clone()),
                    _ => {}
                }
            }
            (!out.is_empty()).then_some(Value::Array(out))
        }
        (_, value) => Some(value.clone()),
    }
}
