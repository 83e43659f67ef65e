//! What of a value was there before, and whether it is as it was.
//! In Kubernetes: `CorrelatedObject` of `apiserver/pkg/cel/common`.

use serde_json::{Map, Value};

use super::node::Structural;

impl Structural {
    /// Whether a value is as it was. Lists of type `map` may have their items in another order; what the schema does not
    /// describe is never taken to be as it was. In Kubernetes: `CachedDeepEqual`.
    pub fn is_same(&self, new: &Value, old: &Value) -> bool {
        match (new, old) {
            (Value::Array(items), Value::Array(before)) if self.list_type == "map" => {
                let is_same = |below: &Structural, item| {
                    self.item_before(item, old).is_some_and(|before| below.is_same(item, before))
                };
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

    /// What was there in place of an item: in lists of type `map` the item with the same keys, in others nothing.
    pub fn item_before<'v>(&self, item: &Value, old: &'v Value) -> Option<&'v Value> {
        if self.list_type != "map" || self.list_map_keys.is_empty() {
            return None;
        }
        let has_same_keys = |before: &&Value| {
            before.is_object() && self.list_map_keys.iter().all(|key| before.get(key) == item.get(key))
        };
        old.as_array()?.iter().find(has_same_keys)
    }

    /// What was there in place of a field; nothing where the schema does not describe it.
    pub(super) fn field_before<'v>(&self, name: &str, old: &'v Map<String, Value>) -> Option<&'v Value> {
        self.below(name).and(old.get(name))
    }

    fn below(&self, name: &str) -> Option<&Structural> {
        self.properties.get(name).or_else(|| self.additional.schema())
    }
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
        assert_eq!(map.item_before(&json!({"k": "b", "v": 3}), &json!([one, two])), Some(&two));
        let atomic = schema(json!({"type": "array", "items": {"type": "string"}}));
        assert!(!atomic.is_same(&json!(["a", "b"]), &json!(["b", "a"])));
        assert!(atomic.is_same(&json!(["a", "b"]), &json!(["a", "b"])));
        assert_eq!(atomic.item_before(&json!("a"), &json!(["a"])), None);
    }

    #[test]
    fn what_no_schema_describes_is_not_compared() {
        let open = schema(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"a": {"type": "string"}}}));
        assert!(open.is_same(&json!({"a": "x"}), &json!({"a": "x"})));
        assert!(!open.is_same(&json!({"b": "x"}), &json!({"b": "x"})));
    }

    #[test]
    fn what_is_as_it_was_is_not_held_against_a_change() {
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
