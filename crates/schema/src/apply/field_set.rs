use std::collections::BTreeSet;

use serde_json::Value;

use super::path::PathElement;
use super::place::{ListForm, MapForm, Place, ValueForm};
use super::set::Set;
use super::typed::{as_list, element_of, form_of, is_declared, place_below, place_of_items};

/// Every leaf and every list item of a value: what a manager that applies it owns.
/// In Kubernetes: `TypedValue.ToFieldSet`.
pub fn field_set<P: Place>(place: P, value: &Value) -> Set {
    named(place, value).below
}

/// The fields that a value contains at a place.
struct Named {
    /// Whether the place itself is one of them.
    itself: bool,
    below: Set,
}

fn named<P: Place>(place: P, value: &Value) -> Named {
    match form_of(place, Some(value)) {
        ValueForm::Scalar(_)
        | ValueForm::Opaque
        | ValueForm::Map(MapForm::Atomic)
        | ValueForm::List(ListForm::Atomic) => Named { itself: true, below: Set::new() },
        ValueForm::Map(MapForm::Granular) | ValueForm::Any => {
            let mut set = Set::new();
            for (name, value) in value.as_object().into_iter().flatten() {
                let Some(place_below) = place_below(place, name) else { continue };
                let Named { itself, below } = named(place_below, value);
                let is_empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
                let is_member = itself || is_empty || !is_declared(place, name);
                set.put(is_member, below, || PathElement::field(name));
            }
            Named { itself: false, below: set }
        }
        ValueForm::List(form) => {
            let items = as_list(Some(value)).unwrap_or(&[]);
            Named { itself: false, below: named_items(place, form, items) }
        }
    }
}

fn named_items<P: Place>(place: P, form: ListForm, items: &[Value]) -> Set {
    let elements: Vec<_> = items.iter().filter_map(|item| Some((element_of(place, form, item).ok()?, item))).collect();
    let (mut seen, mut doubled) = (BTreeSet::new(), BTreeSet::new());
    for (element, _) in &elements {
        if !seen.insert(element) {
            doubled.insert(element);
        }
    }
    let mut set = Set::new();
    for (element, item) in &elements {
        // Items with the same name can only be owned together, without their fields.
        let item_place = place_of_items(place).filter(|_| !doubled.contains(element));
        let below = item_place.map_or_else(Set::new, |place| named(place, item).below);
        set.put(true, below, || element.clone());
    }
    set
}
