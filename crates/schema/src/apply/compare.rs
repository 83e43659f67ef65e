use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::path::{PathElement, values_equal};
use super::place::{ListForm, MapForm, Place, ValueForm};
use super::set::Set;
use super::typed::{as_list, as_map, element_of, forms_of_both, place_below, place_of_items, value_below};

/// The difference between two versions of an object. The sets are disjoint. In Kubernetes: `typed.Comparison`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The removed fields.
    pub removed: Set,
    /// The fields with another value.
    pub modified: Set,
    /// The new fields.
    pub added: Set,
}

/// Compares two versions of an object. In Kubernetes: `TypedValue.Compare`.
pub fn compare<P: Place>(place: P, old: &Value, new: &Value) -> Comparison {
    change(place, Some(old), Some(new)).below
}

/// The change of one place.
#[derive(Default)]
struct Change {
    removed: bool,
    modified: bool,
    added: bool,
    below: Comparison,
}

impl Change {
    fn appeared_or_vanished(&mut self, old: Option<&Value>, new: Option<&Value>) {
        if old.is_none() {
            self.added = true;
        } else if new.is_none() {
            self.removed = true;
        }
    }

    /// Compares in one form; returns whether the value was a leaf.
    fn treat<P: Place>(&mut self, form: ValueForm, place: P, old: Option<&Value>, new: Option<&Value>) -> bool {
        let is_empty = match form {
            ValueForm::Scalar(_)
            | ValueForm::Opaque
            | ValueForm::Map(MapForm::Atomic)
            | ValueForm::List(ListForm::Atomic) => true,
            ValueForm::Map(_) | ValueForm::Any => {
                as_map(old).is_none_or(|map| map.is_empty()) && as_map(new).is_none_or(|map| map.is_empty())
            }
            ValueForm::List(_) => as_list(old).is_none_or(<[_]>::is_empty) && as_list(new).is_none_or(<[_]>::is_empty),
        };
        if is_empty {
            match (old, new) {
                (Some(old), Some(new)) => self.modified |= !values_equal(old, new),
                _ => self.appeared_or_vanished(old, new),
            }
            return true;
        }
        match form {
            ValueForm::List(form) => self.below.items(place, form, as_list(old), as_list(new)),
            _ => self.below.fields(place, as_map(old), as_map(new)),
        }
        false
    }
}

fn change<P: Place>(place: P, old: Option<&Value>, new: Option<&Value>) -> Change {
    let mut change = Change::default();
    if old.is_some() && old == new {
        return change;
    }
    let (first, second) = forms_of_both(place, old, new);
    if let Some(form) = first {
        change.treat(form, place, old, new);
    }
    let is_leaf = change.treat(second, place, old, new);
    if !is_leaf {
        change.appeared_or_vanished(old, new);
    }
    change
}

/// Compares the items with one name; several items with one name are owned together.
fn change_of_items<P: Place>(place: P, old: &[&Value], new: &[&Value]) -> Change {
    match (old, new) {
        ([] | [_], [] | [_]) => change(place, old.first().copied(), new.first().copied()),
        ([_, _, ..], [_, _, ..]) => {
            let same = old.len() == new.len() && old.iter().zip(new).all(|(old, new)| values_equal(old, new));
            Change { modified: !same, ..Change::default() }
        }
        ([_, _, ..], _) => {
            let of_rest = new.first().map_or_else(Change::default, |new| change(place, None, Some(new)));
            Change { removed: true, ..of_rest }
        }
        (_, [_, _, ..]) => {
            let of_rest = old.first().map_or_else(Change::default, |old| change(place, Some(old), None));
            Change { added: true, ..of_rest }
        }
    }
}

impl Comparison {
    fn put(&mut self, change: Change, element: impl Fn() -> PathElement) {
        self.removed.put(change.removed, change.below.removed, &element);
        self.modified.put(change.modified, change.below.modified, &element);
        self.added.put(change.added, change.below.added, &element);
    }

    fn fields<P: Place>(&mut self, place: P, old: Option<&Map<String, Value>>, new: Option<&Map<String, Value>>) {
        let added = new.into_iter().flatten().filter(|(name, _)| old.is_none_or(|old| !old.contains_key(*name)));
        for name in old.into_iter().flatten().chain(added).map(|(name, _)| name) {
            let Some(below) = place_below(place, name) else { continue };
            let change = change(below, value_below(old, name, below), value_below(new, name, below));
            self.put(change, || PathElement::field(name));
        }
    }

    fn items<P: Place>(&mut self, place: P, form: ListForm, old: Option<&[Value]>, new: Option<&[Value]>) {
        let Some(item_place) = place_of_items(place) else { return };
        let mut both: BTreeMap<PathElement, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for item in old.unwrap_or(&[]) {
            if let Ok(element) = element_of(place, form, item) {
                both.entry(element).or_default().0.push(item);
            }
        }
        for item in new.unwrap_or(&[]) {
            if let Ok(element) = element_of(place, form, item) {
                both.entry(element).or_default().1.push(item);
            }
        }
        for (element, (old, new)) in both {
            self.put(change_of_items(item_place, &old, &new), || element.clone());
        }
    }
}
