//! Correlates the parts of a value with its previous version.
//! In Kubernetes: `CorrelatedObject` of `apiserver/pkg/cel/common`.

use std::collections::BTreeMap;

use coracle_meta::JsonKey;
use serde_json::{Map, Value};

use super::node::Structural;

impl Structural {
    /// Whether a value is unchanged. Lists of type `map` may have their items in another order; a value without a
    /// schema never counts as unchanged. In Kubernetes: `CachedDeepEqual`.
    pub fn is_same(&self, new: &Value, old: &Value) -> bool {
        match (new, old) {
            (Value::Array(items), Value::Array(before)) if self.list_type == "map" => {
                let items_before = self.items_before(Some(old));
                let is_same =
                    |below: &Structural, item| items_before.of(item).is_some_and(|before| below.is_same(item, before));
                items.len() == before.len()
                    && items.iter().all(|item| self.items.as_deref().is_some_and(|below| is_same(below, item)))
            }
            (Value::Object(fields), Value::Object(before)) => {
                let is_same = |name: &String, value| match (self.below(name), before.get(name)) {
                    (Some(below), Some(before)) => below.is_same(value, before),
                    _ => false,
                };
                fields.len() == before.len() && fields.iter().all(|(name, value)| is_same(name, value))
            }
            (new, old) => new == old,
        }
    }

    /// The previous items of a list of type `map`, by their keys; empty for other lists.
    pub fn items_before<'v>(&'v self, old: Option<&'v Value>) -> ItemsBefore<'v> {
        let keys = self.list_map_keys.as_slice();
        let items = old.and_then(Value::as_array).filter(|_| self.list_type == "map" && !keys.is_empty());
        let mut before = ItemsBefore { keys, items: BTreeMap::new() };
        for item in items.into_iter().flatten().filter(|item| item.is_object()) {
            before.items.entry(keys_of(item, keys)).or_insert(item);
        }
        before
    }

    /// The previous value of a field; `None` if the schema does not describe it.
    pub(super) fn field_before<'v>(&self, name: &str, old: &'v Map<String, Value>) -> Option<&'v Value> {
        self.below(name).and(old.get(name))
    }

    fn below(&self, name: &str) -> Option<&Structural> {
        self.properties.get(name).or_else(|| self.additional.schema())
    }
}

/// The previous items of a list, by their keys. The first of several items with the same keys counts.
#[derive(Debug)]
pub struct ItemsBefore<'v> {
    keys: &'v [String],
    items: BTreeMap<Vec<Option<JsonKey<'v>>>, &'v Value>,
}

impl<'v> ItemsBefore<'v> {
    /// The previous version of an item.
    pub fn of(&self, item: &Value) -> Option<&'v Value> {
        if self.items.is_empty() { None } else { self.items.get(keys_of(item, self.keys).as_slice()).copied() }
    }
}

fn keys_of<'v>(item: &'v Value, keys: &[String]) -> Vec<Option<JsonKey<'v>>> {
    keys.iter().map(|key| item.get(key).map(JsonKey)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema(schema: Value) -> Structural {
        Structural::from_json(&schema)
    }

    #[test]
    fn items_with_keys_are_as_they_were_wherever_they_stand() {
        let map = schema(json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}}));
        let (one, two) = (json!({"k": "a", "v": 1}), json!({"k": "b", "v": 2}));
        assert!(map.is_same(&json!([one, two]), &json!([two, one])));
        assert!(!map.is_same(&json!([one]), &json!([two, one])));
        let old = json!([one, two, {"k": "b", "v": 4}, 5]);
        assert_eq!(map.items_before(Some(&old)).of(&json!({"k": "b", "v": 3})), Some(&two));
        let atomic = schema(json!({"type": "array", "items": {"type": "string"}}));
        assert!(!atomic.is_same(&json!(["a", "b"]), &json!(["b", "a"])));
        assert!(atomic.is_same(&json!(["a", "b"]), &json!(["a", "b"])));
        assert_eq!(atomic.items_before(Some(&json!(["a"]))).of(&json!("a")), None);
    }

    #[test]
    fn items_of_long_lists_are_found_by_their_keys() {
        let map = schema(
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "l"],
            "items": {"type": "object", "properties": {"k": {"type": "integer"}, "v": {"type": "integer", "maximum": 3}}}}),
        );
        let old: Vec<Value> = (0..50_000).map(|at| json!({"k": at, "v": 9})).collect();
        let new: Vec<Value> = old.iter().rev().cloned().collect();
        assert!(map.is_same(&json!(new), &json!(old)));
        assert!(map.validate_change(&json!(new), &json!(old), "l").is_empty());
    }

    #[test]
    fn values_without_a_schema_are_not_compared() {
        let open = schema(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"a": {"type": "string"}}}));
        assert!(open.is_same(&json!({"a": "x"}), &json!({"a": "x"})));
        assert!(!open.is_same(&json!({"b": "x"}), &json!({"b": "x"})));
    }

    #[test]
    fn unchanged_values_are_not_validated_again() {
        let spec = schema(json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "maxLength": 2},
            "items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer", "maximum": 3}}}},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 1}},
        }}));
        let said = |new: &Value, old: &Value| -> Vec<String> {
            spec.validate_change(new, old, "spec").iter().map(|error| error.field.clone()).collect()
        };
        let old = json!({"name": "long", "items": [{"k": "a", "v": 9}], "set": ["aa"]});
        assert_eq!(said(&old, &old), [""; 0]);
        let moved = json!({"name": "long", "items": [{"k": "b", "v": 1}, {"k": "a", "v": 9}], "set": ["aa"]});
        assert_eq!(said(&moved, &old), [""; 0], "an item with keys is known wherever it stands");
        let grown = json!({"name": "longer", "items": [{"k": "a", "v": 8}], "set": ["aa", "b"]});
        assert_eq!(said(&grown, &old), ["spec.items[0].v", "spec.name", "spec.set[0]"]);
        assert_eq!(said(&json!({"set": ["b"]}), &json!({"set": []})), ["spec.name"], "what lacks a field has changed");
    }
}
