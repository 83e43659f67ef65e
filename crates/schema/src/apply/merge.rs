use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value};

use super::path::PathElement;
use super::place::{ListForm, MapForm, Place, ValueForm};
use super::typed::{as_list, as_map, element_of, form_of, place_below, place_of_items};

/// Merges an applied configuration into an object: leaves are the configuration's, nothing is removed, and items of
/// lists that the configuration contains have its order. In Kubernetes: `TypedValue.Merge`.
pub fn merge<P: Place>(place: P, live: &Value, config: &Value) -> Value {
    merged(place, Some(live), Some(config)).unwrap_or(Value::Null)
}

fn merged<P: Place>(place: P, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    let form = match config {
        None => form_of(place, live),
        Some(_) => form_of(place, config),
    };
    match form {
        ValueForm::Scalar(_)
        | ValueForm::Opaque
        | ValueForm::Map(MapForm::Atomic)
        | ValueForm::List(ListForm::Atomic) => leaf(live, config),
        ValueForm::Map(MapForm::Granular) | ValueForm::Any => {
            let (live_map, config_map) = (as_map(live), as_map(config));
            let is_empty = live_map.is_none_or(Map::is_empty) && config_map.is_none_or(Map::is_empty);
            if is_empty { leaf(live, config) } else { merged_fields(place, live_map, config_map) }
        }
        ValueForm::List(form) => {
            let (live_items, config_items) = (as_list(live).unwrap_or(&[]), as_list(config).unwrap_or(&[]));
            if live_items.is_empty() && config_items.is_empty() {
                leaf(live, config)
            } else {
                merged_items(place, form, live_items, config_items)
            }
        }
    }
}

fn leaf(live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    config.or(live).cloned()
}

fn merged_fields<P: Place>(
    place: P,
    live: Option<&Map<String, Value>>,
    config: Option<&Map<String, Value>>,
) -> Option<Value> {
    let mut out = Map::new();
    let added = config.into_iter().flatten().filter(|(name, _)| live.is_none_or(|live| !live.contains_key(*name)));
    for name in live.into_iter().flatten().chain(added).map(|(name, _)| name) {
        let (live, config) = (live.and_then(|map| map.get(name)), config.and_then(|map| map.get(name)));
        let below = match place_below(place, name) {
            Some(place) => merged(place, live, config),
            None => leaf(live, config),
        };
        if let Some(value) = below {
            out.insert(name.clone(), value);
        }
    }
    (!out.is_empty()).then_some(Value::Object(out))
}

fn merged_items<P: Place>(place: P, form: ListForm, live: &[Value], config: &[Value]) -> Option<Value> {
    let live = Indexed::new(place, form, live);
    let config = Indexed::new(place, form, config);
    let item_place = place_of_items(place)?;
    let mut shared: VecDeque<_> = config.order.iter().filter(|element| live.items.contains_key(element)).collect();
    let mut next_shared = shared.pop_front();
    let (mut out, mut done) = (Vec::new(), std::collections::BTreeSet::new());
    let (mut left, mut right) = (0, 0);
    while left < live.order.len() || right < config.order.len() {
        if let (Some(ours), Some(theirs)) = (live.order.get(left), config.order.get(right)) {
            if ours == theirs {
                out.extend(merged(item_place, live.unique(ours), config.unique(ours)));
                done.insert(ours.clone());
                (left, right) = (left + 1, right + 1);
                next_shared = shared.pop_front();
                continue;
            }
            // The configuration has another item here first; this item follows at its place in the configuration.
            if config.items.contains_key(ours) && next_shared.is_some_and(|next| next != ours) {
                left += 1;
                continue;
            }
        }
        if let Some(ours) = live.order.get(left) {
            if !config.items.contains_key(ours) {
                out.extend(merged(item_place, Some(live.all[left]), None));
                left += 1;
                continue;
            }
            if done.contains(ours) {
                left += 1;
            }
        }
        if let Some(theirs) = config.order.get(right) {
            out.extend(merged(item_place, live.unique(theirs), config.unique(theirs)));
            done.insert(theirs.clone());
            right += 1;
            if next_shared == Some(theirs) {
                next_shared = shared.pop_front();
            }
        }
    }
    (!out.is_empty()).then_some(Value::Array(out))
}

/// The items of a list by their names, and the names in order.
struct Indexed<'v> {
    order: Vec<PathElement>,
    all: Vec<&'v Value>,
    /// `None` for a name of several items.
    items: BTreeMap<PathElement, Option<&'v Value>>,
}

impl<'v> Indexed<'v> {
    fn new<P: Place>(place: P, form: ListForm, list: &'v [Value]) -> Self {
        let mut indexed = Self { order: Vec::new(), all: Vec::new(), items: BTreeMap::new() };
        for item in list {
            let Ok(element) = element_of(place, form, item) else { continue };
            indexed.items.entry(element.clone()).and_modify(|slot| *slot = None).or_insert(Some(item));
            indexed.order.push(element);
            indexed.all.push(item);
        }
        indexed
    }

    fn unique(&self, element: &PathElement) -> Option<&'v Value> {
        self.items.get(element).copied().flatten()
    }
}
