use std::collections::BTreeMap;

use serde_json::Value;

use super::path::{PathElement, values_equal};
use super::place::{Form, ListForm, MapForm, Place};
use super::set::Set;
use super::typed::{as_list, as_map, element_of, forms_of_both, place_below, place_of_items, value_below};

/// How an object changed. No field is in two of the sets. In Kubernetes: `typed.Comparison`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The fields that are gone.
    pub removed: Set,
    /// The fields that have another value.
    pub modified: Set,
    /// The fields that are new.
    pub added: Set,
}

/// Compares two versions of an object. In Kubernetes: `TypedValue.Compare`.
pub fn compare<P: Place>(place: P, old: &Value, new: &Value) -> Comparison {
    let mut walk = Walk { path: Vec::new(), comparison: Comparison::default() };
    walk.visit(place, Some(old), Some(new));
    walk.comparison
}

struct Walk {
    path: Vec<PathElement>,
    comparison: Comparison,
}

impl Walk {
    fn visit<P: Place>(&mut self, place: P, old: Option<&Value>, new: Option<&Value>) {
        if old.is_some() && old == new {
            return;
        }
        let (first, second) = forms_of_both(place, old, new);
        if let Some(form) = first {
            self.treat(form, place, old, new);
        }
        let is_leaf = self.treat(second, place, old, new);
        if !is_leaf {
            self.appeared_or_vanished(old, new);
        }
    }

    fn appeared_or_vanished(&mut self, old: Option<&Value>, new: Option<&Value>) {
        if old.is_none() {
            self.comparison.added.insert(&self.path);
        } else if new.is_none() {
            self.comparison.removed.insert(&self.path);
        }
    }

    /// Compares in one form; says whether the value was a leaf.
    fn treat<P: Place>(&mut self, form: Form, place: P, old: Option<&Value>, new: Option<&Value>) -> bool {
        let is_empty = match form {
            Form::Scalar(_) | Form::Opaque | Form::Map(MapForm::Atomic) | Form::List(ListForm::Atomic) => true,
            Form::Map(_) | Form::Any => {
                as_map(old).is_none_or(|map| map.is_empty()) && as_map(new).is_none_or(|map| map.is_empty())
            }
            Form::List(_) => as_list(old).is_none_or(<[_]>::is_empty) && as_list(new).is_none_or(<[_]>::is_empty),
        };
        if is_empty {
            self.leaf(old, new);
            return true;
        }
        match form {
            Form::List(form) => self.items(place, form, as_list(old).unwrap_or(&[]), as_list(new).unwrap_or(&[])),
            _ => self.fields(place, old, new),
        }
        false
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (Some(old), Some(new)) if values_equal(old, new) => {}
            (Some(_), Some(_)) => self.comparison.modified.insert(&self.path),
            _ => self.appeared_or_vanished(old, new),
        }
    }

    fn fields<P: Place>(&mut self, place: P, old: Option<&Value>, new: Option<&Value>) {
        let (old, new) = (as_map(old), as_map(new));
        let added = new.into_iter().flatten().filter(|(name, _)| old.is_none_or(|old| !old.contains_key(*name)));
        for name in old.into_iter().flatten().chain(added).map(|(name, _)| name) {
            let Some(below) = place_below(place, name) else { continue };
            self.path.push(PathElement::field(name));
            self.visit(below, value_below(old, name, below), value_below(new, name, below));
            self.path.pop();
        }
    }

    fn items<P: Place>(&mut self, place: P, form: ListForm, old: &[Value], new: &[Value]) {
        let mut both: BTreeMap<PathElement, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for item in old {
            if let Ok(element) = element_of(place, form, item) {
                both.entry(element).or_default().0.push(item);
            }
        }
        for item in new {
            if let Ok(element) = element_of(place, form, item) {
                both.entry(element).or_default().1.push(item);
            }
        }
        let Some(place) = place_of_items(place) else { return };
        for (element, (old, new)) in both {
            self.path.push(element);
            self.item(place, &old, &new);
            self.path.pop();
        }
    }

    /// Compares the items of one name; several of one name are owned together.
    fn item<P: Place>(&mut self, place: P, old: &[&Value], new: &[&Value]) {
        match (old, new) {
            ([] | [_], [] | [_]) => self.visit(place, old.first().copied(), new.first().copied()),
            ([_, _, ..], [_, _, ..]) => {
                let same = old.len() == new.len() && old.iter().zip(new).all(|(old, new)| values_equal(old, new));
                if !same {
                    self.comparison.modified.insert(&self.path);
                }
            }
            ([_, _, ..], _) => {
                if let [new] = new {
                    self.visit(place, None, Some(new));
                }
                self.comparison.removed.insert(&self.path);
            }
            (_, [_, _, ..]) => {
                if let [old] = old {
                    self.visit(place, Some(old), None);
                }
                self.comparison.added.insert(&self.path);
            }
        }
    }
}
