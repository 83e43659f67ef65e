//! The patch of `apply`: from the live object to the manifest, without fields that only others set.
//!
//! ```text
//! last applied --removed fields--> deletions \
//!                                             merged--> patch
//! live object --set or changed fields--> changes /
//! ```
//! In Kubernetes: `strategicpatch.CreateThreeWayMergePatch` and `jsonmergepatch`.

use std::collections::{BTreeMap, BTreeSet};

use coracle_schema::apply::Place;
use serde_json::{Map, Value, json};

use crate::values::show;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
const ELEMENT_ORDER: &str = "$setElementOrder";

/// Which differences a patch has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Changes,
    Deletions,
}

/// The patch, for kinds with merge keys, from `current` to `modified`; `original` was applied before.
pub(crate) fn strategic<P: Place>(original: &Value, modified: &Value, current: &Value, place: P) -> Value {
    let empty = Map::new();
    let [original, modified, current] = [original, modified, current].map(|value| value.as_object().unwrap_or(&empty));
    let changes = diff(current, modified, Some(place), Part::Changes, false);
    let deletions = diff(original, modified, Some(place), Part::Deletions, false);
    Value::Object(merge(deletions, changes, Some(place)))
}

/// The JSON merge patch from `current` to `modified`, for kinds without merge keys.
pub(crate) fn json_merge(original: &Value, modified: &Value, current: &Value) -> Value {
    let changes = json_diff(current, modified, Part::Changes);
    let deletions = json_diff(original, modified, Part::Deletions);
    Value::Object(merge(deletions, changes, None::<coracle_schema::apply::TablePlace<'_>>))
}

fn below<P: Place>(place: Option<P>, name: &str) -> Option<P> {
    place.and_then(|place| place.field(name).or_else(|| place.entry()))
}

fn diff<P: Place>(
    from: &Map<String, Value>,
    to: &Map<String, Value>,
    place: Option<P>,
    part: Part,
    retains_keys: bool,
) -> Map<String, Value> {
    let mut patch = Map::new();
    for (name, new) in to {
        let below = below(place, name);
        match (from.get(name), new) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                let strategy = below.map(Place::patch_strategy).unwrap_or_default();
                if strategy.replace {
                    if part == Part::Changes {
                        patch.insert(name.clone(), Value::Object(new.clone()));
                    }
                    continue;
                }
                let inner = diff(old, new, below, part, strategy.retain_keys);
                if !inner.is_empty() {
                    patch.insert(name.clone(), Value::Object(inner));
                }
            }
            (Some(Value::Array(old)), Value::Array(new)) => diff_lists(name, old, new, below, part, &mut patch),
            (Some(old), new) if old == new => {}
            (_, new) if part == Part::Changes => {
                patch.insert(name.clone(), new.clone());
            }
            _ => {}
        }
    }
    if part == Part::Deletions {
        let gone = from.keys().filter(|name| !to.contains_key(*name));
        patch.extend(gone.map(|name| (name.clone(), Value::Null)));
    }
    let kept: BTreeSet<&String> = to.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name).collect();
    let has_more = from.iter().any(|(name, value)| !value.is_null() && !to.contains_key(name));
    if retains_keys && !kept.is_empty() && (!patch.is_empty() || has_more) {
        patch.insert(RETAIN_KEYS.to_owned(), json!(kept));
    }
    patch
}

fn diff_lists<P: Place>(
    name: &str,
    old: &[Value],
    new: &[Value],
    place: Option<P>,
    part: Part,
    patch: &mut Map<String, Value>,
) {
    let strategy = place.map(Place::patch_strategy).unwrap_or_default();
    if !strategy.merge {
        if part == Part::Changes && old != new {
            patch.insert(name.to_owned(), new.to_vec().into());
        }
        return;
    }
    if old.is_empty() {
        if part == Part::Changes && !new.is_empty() {
            patch.insert(name.to_owned(), new.to_vec().into());
        }
        return;
    }
    let order = match strategy.merge_key.as_deref() {
        Some(key) => {
            diff_items(name, &Items { old, new, place: place.and_then(Place::item), merge_key: key }, part, patch)
        }
        None => diff_scalars(name, old, new, part, patch),
    };
    if let Some(order) = order.filter(|order| !order.is_empty()) {
        patch.insert(format!("{ELEMENT_ORDER}/{name}"), order.into());
    }
}

fn diff_scalars(
    name: &str,
    old: &[Value],
    new: &[Value],
    part: Part,
    patch: &mut Map<String, Value>,
) -> Option<Vec<Value>> {
    let missing_in = |list: &[Value], of: &[Value]| -> Vec<Value> {
        of.iter().filter(|item| !list.contains(item)).cloned().collect()
    };
    match part {
        Part::Changes => {
            let added = missing_in(old, new);
            if !added.is_empty() {
                patch.insert(name.to_owned(), added.into());
            }
            (old != new).then(|| new.to_vec())
        }
        Part::Deletions => {
            let mut gone = missing_in(new, old);
            gone.sort_by_key(show);
            gone.dedup();
            let is_changed = !gone.is_empty();
            if is_changed {
                patch.insert(format!("{DELETE_FROM_LIST}/{name}"), gone.into());
            }
            is_changed.then(|| new.to_vec())
        }
    }
}

/// Two versions of a list whose items have a merge key.
struct Items<'i, P> {
    old: &'i [Value],
    new: &'i [Value],
    place: Option<P>,
    merge_key: &'i str,
}

fn diff_items<P: Place>(
    name: &str,
    items: &Items<'_, P>,
    part: Part,
    patch: &mut Map<String, Value>,
) -> Option<Vec<Value>> {
    let Items { old, new, place, merge_key } = *items;
    let key = |item: &Value| item.get(merge_key).map(show).unwrap_or_default();
    let olds: BTreeMap<String, &Value> = old.iter().map(|item| (key(item), item)).collect();
    let mut items = Vec::new();
    for item in new {
        match (olds.get(&key(item)).and_then(|old| old.as_object()), item.as_object()) {
            (Some(old), Some(new)) => {
                let mut inner = diff(old, new, place, part, false);
                if !inner.is_empty() {
                    inner.insert(merge_key.to_owned(), new.get(merge_key).cloned().unwrap_or_default());
                    items.push(Value::Object(inner));
                }
            }
            _ if part == Part::Changes => items.push(item.clone()),
            _ => {}
        }
    }
    let news: BTreeSet<String> = new.iter().map(key).collect();
    if part == Part::Deletions {
        let gone = old.iter().filter(|item| !news.contains(&key(item)));
        items.extend(gone.map(|item| json!({merge_key: item.get(merge_key), DIRECTIVE: "delete"})));
    }
    let is_changed = !items.is_empty();
    if is_changed {
        patch.insert(name.to_owned(), items.into());
    }
    let is_reordered = old.iter().map(key).ne(new.iter().map(key));
    let is_ordered = is_changed || (part == Part::Changes && is_reordered);
    is_ordered.then(|| new.iter().map(|item| json!({merge_key: item.get(merge_key)})).collect())
}

/// Adds the changes to the deletions, which have other fields, or other items of lists.
fn merge<P: Place>(
    mut deletions: Map<String, Value>,
    changes: Map<String, Value>,
    place: Option<P>,
) -> Map<String, Value> {
    let orders: BTreeMap<String, Value> = (deletions.iter().chain(&changes))
        .filter_map(|(name, order)| {
            Some((name.strip_prefix(ELEMENT_ORDER)?.strip_prefix('/')?.to_owned(), order.clone()))
        })
        .collect();
    for (name, change) in changes {
        let merged = match (deletions.remove(&name), change) {
            (Some(Value::Object(gone)), Value::Object(change)) => {
                Value::Object(merge(gone, change, below(place, &name)))
            }
            (Some(Value::Array(gone)), Value::Array(change)) if !name.starts_with('$') => {
                let below = below(place, &name);
                let key = below.map(Place::patch_strategy).and_then(|strategy| strategy.merge_key);
                let mut items = merge_items(gone, change, key.as_deref(), below.and_then(Place::item));
                put_in_order(&mut items, orders.get(&name), key.as_deref());
                Value::Array(items)
            }
            (_, change) => change,
        };
        deletions.insert(name, merged);
    }
    deletions
}

fn merge_items<P: Place>(
    deletions: Vec<Value>,
    changes: Vec<Value>,
    key: Option<&str>,
    place: Option<P>,
) -> Vec<Value> {
    let Some(key) = key else { return changes };
    let mut left = deletions;
    let mut merged = Vec::new();
    for change in changes {
        let same = left.iter().position(|item| item.get(key) == change.get(key) && item.get(DIRECTIVE).is_none());
        merged.push(match (same.map(|index| left.remove(index)), change) {
            (Some(Value::Object(gone)), Value::Object(change)) => Value::Object(merge(gone, change, place)),
            (_, change) => change,
        });
    }
    merged.extend(left);
    merged
}

/// In the order which the patch itself states: the server refuses another.
fn put_in_order(items: &mut [Value], order: Option<&Value>, key: Option<&str>) {
    if let (Some(Value::Array(order)), Some(key)) = (order, key) {
        let place = |item: &Value| order.iter().position(|entry| entry.get(key) == item.get(key));
        items.sort_by_key(|item| place(item).unwrap_or(usize::MAX));
    }
}

fn json_diff(from: &Value, to: &Value, part: Part) -> Map<String, Value> {
    let empty = Map::new();
    let [from, to] = [from, to].map(|value| value.as_object().unwrap_or(&empty));
    let mut patch = Map::new();
    for (name, new) in to {
        match (from.get(name), new) {
            (Some(old @ Value::Object(_)), new @ Value::Object(_)) => {
                let inner = json_diff(old, new, part);
                if !inner.is_empty() {
                    patch.insert(name.clone(), Value::Object(inner));
                }
            }
            (old, new) if part == Part::Changes && old != Some(new) => {
                patch.insert(name.clone(), new.clone());
            }
            _ => {}
        }
    }
    if part == Part::Deletions {
        let gone = from.keys().filter(|name| !to.contains_key(*name));
        patch.extend(gone.map(|name| (name.clone(), Value::Null)));
    }
    patch
}

#[cfg(test)]
mod tests {
    use coracle_meta::GroupVersionKind;
    use coracle_release::Release;
    use coracle_schema::KindSchema;
    use coracle_schema::apply::TablePlace;
    use coracle_schema::patch::strategic_merge_patch as applied;
    use proptest::prelude::*;

    use super::*;

    fn pod_schema() -> KindSchema {
        KindSchema::built_in(&Release::default(), &GroupVersionKind::new("", "v1", "Pod"))
    }

    fn containers(list: Value) -> Value {
        json!({"spec": {"containers": list}})
    }

    #[test]
    fn items_are_changed_added_and_deleted_by_their_merge_key() {
        let schema = pod_schema();
        let original = containers(json!([{"name": "a", "image": "1"}, {"name": "b", "image": "1", "tty": true}]));
        let modified = containers(json!([{"name": "b", "image": "2"}, {"name": "c", "image": "1"}]));
        let current = containers(json!([
            {"name": "a", "image": "1"}, {"name": "b", "image": "1", "tty": true, "x": "default"},
            {"name": "injected", "image": "9"}]));
        let patch = strategic(&original, &modified, &current, TablePlace::root(&schema));
        assert_eq!(
            patch,
            json!({"spec": {
                "$setElementOrder/containers": [{"name": "b"}, {"name": "c"}],
                "containers": [
                    {"name": "b", "image": "2", "tty": null}, {"name": "c", "image": "1"},
                    {"name": "a", "$patch": "delete"}]}})
        );
        let result = applied(current, patch, TablePlace::root(&schema)).unwrap();
        let names: Vec<_> = result["spec"]["containers"].as_array().unwrap().iter().map(|item| &item["name"]).collect();
        assert_eq!(names, ["b", "c", "injected"]);
        assert_eq!(result["spec"]["containers"][0], json!({"name": "b", "image": "2", "x": "default"}));
    }

    #[test]
    fn an_equal_object_needs_no_patch_and_sets_of_texts_lose_their_items() {
        let schema = pod_schema();
        let object = containers(json!([{"name": "a", "ports": [{"containerPort": 80}]}]));
        assert_eq!(strategic(&object, &object, &object, TablePlace::root(&schema)), json!({}));
        let finalizers = |list: Value| json!({"metadata": {"finalizers": list}});
        let (original, modified) = (finalizers(json!(["a/a", "b/b"])), finalizers(json!(["b/b"])));
        let patch = strategic(&original, &modified, &original, TablePlace::root(&schema));
        assert_eq!(patch["metadata"]["$deleteFromPrimitiveList/finalizers"], json!(["a/a"]));
    }

    #[test]
    fn kinds_without_merge_keys_get_a_json_merge_patch() {
        let patch = json_merge(
            &json!({"a": 1, "b": {"c": 1, "d": 2}}),
            &json!({"b": {"d": 3}}),
            &json!({"a": 1, "b": {"c": 1, "d": 2}, "e": 5}),
        );
        assert_eq!(patch, json!({"a": null, "b": {"c": null, "d": 3}}));
    }

    fn pods() -> impl Strategy<Value = Value> {
        let container = ("[abc]", "[12]", prop::option::of("[xy]"), prop::collection::btree_set(80..83_u16, 0..3));
        let container = container.prop_map(|(name, image, policy, ports)| {
            let ports: Vec<Value> = ports.into_iter().map(|port| json!({"containerPort": port})).collect();
            let mut container = json!({"name": name, "image": image, "ports": ports});
            if let Some(policy) = policy {
                container["imagePullPolicy"] = policy.into();
            }
            container
        });
        let labels = prop::collection::btree_map("[ab]", "[12]", 0..3);
        (prop::collection::vec(container, 0..4), labels).prop_map(|(mut containers, labels)| {
            let mut seen = BTreeSet::new();
            containers.retain(|item| seen.insert(item["name"].to_string()));
            json!({"metadata": {"labels": labels}, "spec": {"containers": containers}})
        })
    }

    proptest! {
        /// With what was applied last as the live object, the server's own merge yields exactly the manifest.
        #[test]
        fn the_patch_applied_by_the_server_yields_the_manifest(original in pods(), modified in pods()) {
            let schema = pod_schema();
            let place = TablePlace::root(&schema);
            let patch = strategic(&original, &modified, &original, place);
            let result = applied(original, patch.clone(), place).unwrap();
            prop_assert_eq!(&result, &modified, "{}", patch);
            prop_assert_eq!(strategic(&modified, &modified, &result, place), json!({}));
        }

        #[test]
        fn the_json_merge_patch_yields_the_manifest(original in pods(), modified in pods()) {
            let patch = json_merge(&original, &modified, &original);
            prop_assert_eq!(coracle_schema::patch::merge_patch(original, patch).unwrap(), modified);
        }
    }
}
