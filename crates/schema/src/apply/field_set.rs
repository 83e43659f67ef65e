use std::collections::BTreeSet;

use serde_json::Value;

use super::path::PathElement;
use super::place::{Form, ListForm, MapForm, Place};
use super::set::Set;
use super::typed::{element_of, form_of, is_declared, place_below, place_of_items};

/// Every leaf and every list item that a value names: what somebody owns who applies it.
/// In Kubernetes: `TypedValue.ToFieldSet`.
pub fn field_set<P: Place>(place: P, value: &Value) -> Set {
    let mut set = Set::new();
    visit(place, value, &mut Vec::new(), &mut set);
    set
}

fn visit<P: Place>(place: P, value: &Value, path: &mut Vec<PathElement>, set: &mut Set) {
    match form_of(place, Some(value)) {
        Form::Scalar(_) | Form::Opaque | Form::Map(MapForm::Atomic) | Form::List(ListForm::Atomic) => set.insert(path),
        Form::Map(MapForm::Granular) | Form::Any => {
            for (name, below) in value.as_object().into_iter().flatten() {
                let Some(below_place) = place_below(place, name) else { continue };
                path.push(PathElement::field(name));
                visit(below_place, below, path, set);
                let is_empty = below.is_null() || below.as_object().is_some_and(serde_json::Map::is_empty);
                if is_empty || !is_declared(place, name) {
                    set.insert(path);
                }
                path.pop();
            }
        }
        Form::List(form) => visit_items(place, form, value.as_array().map_or(&[], Vec::as_slice), path, set),
    }
}

fn visit_items<P: Place>(place: P, form: ListForm, items: &[Value], path: &mut Vec<PathElement>, set: &mut Set) {
    let elements: Vec<_> = items.iter().filter_map(|item| Some((element_of(place, form, item).ok()?, item))).collect();
    let (mut seen, mut doubled) = (BTreeSet::new(), BTreeSet::new());
    for (element, _) in &elements {
        if !seen.insert(element) {
            doubled.insert(element);
        }
    }
    for (element, item) in &elements {
        path.push(element.clone());
        // Items of one name can only be owned together, and none of their fields.
        if !doubled.contains(element)
            && let Some(place) = place_of_items(place)
        {
            visit(place, item, path, set);
        }
        set.insert(path);
        path.pop();
    }
}
