use std::collections::BTreeMap;

use coracle_meta::{FieldError, JsonKey};
use serde_json::{Map, Value};

use super::node::Structural;
use super::path::{MOST_TEXT, path_below};
use crate::table::ListKind;

impl Structural {
    /// The duplicate items in lists of type `set` and `map`. In Kubernetes: `listtype.ValidateListSetsAndMaps`.
    pub fn doubled_items(&self, resource: &Map<String, Value>) -> Vec<FieldError> {
        let mut doubled = Doubled::default();
        visit_fields(self, resource, "", &mut doubled);
        doubled.errors
    }
}

#[derive(Default)]
struct Doubled {
    errors: Vec<FieldError>,
    bytes: usize,
}

impl Doubled {
    fn add(&mut self, path: &str, index: usize, error: impl FnOnce(String) -> FieldError) {
        if self.bytes > MOST_TEXT {
            self.errors.push(FieldError::invalid_unprinted("", ""));
        } else {
            self.bytes += path.len();
            self.errors.push(error(format!("{path}[{index}]")));
        }
    }
}

fn visit_fields(schema: &Structural, fields: &Map<String, Value>, path: &str, errors: &mut Doubled) {
    for (name, value) in fields {
        if let Some(below) = schema.additional.schema() {
            visit(below, value, &path_below(path, "[", name, "]"), errors);
        }
        if let Some(below) = schema.properties.get(name) {
            let dot = if path.is_empty() { "" } else { "." };
            visit(below, value, &path_below(path, dot, name, ""), errors);
        }
    }
}

fn visit(schema: &Structural, value: &Value, path: &str, errors: &mut Doubled) {
    match value {
        Value::Object(fields) => visit_fields(schema, fields, path, errors),
        Value::Array(items) => {
            match schema.list_kind() {
                ListKind::Set => doubled(items, path, errors),
                ListKind::Map { keys } => doubled_keys(items, &keys, path, errors),
                ListKind::Atomic { .. } => {}
            }
            if let Some(below) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    visit(below, item, &format!("{path}[{index}]"), errors);
                }
            }
        }
        _ => {}
    }
}

/// Reports the second of equal items, and not the third.
fn doubled(items: &[Value], path: &str, errors: &mut Doubled) {
    let mut seen: BTreeMap<JsonKey<'_>, usize> = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        let count = seen.entry(JsonKey(item)).or_default();
        *count += 1;
        if *count == 2 {
            errors.add(path, index, |field| FieldError::duplicate(field, item.clone()));
        }
    }
}

fn doubled_keys(items: &[Value], keys: &[String], path: &str, errors: &mut Doubled) {
    if let Some((index, item)) = items.iter().enumerate().find(|(_, item)| !item.is_object() && !item.is_null()) {
        let what = "must be an object for an array of list-type map";
        errors.add(path, index, |field| FieldError::invalid(field, item.clone(), what));
        return;
    }
    let key_of = |item: &Value| -> Value {
        let pairs = keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
        Value::Object(pairs.collect())
    };
    doubled(&items.iter().map(key_of).collect::<Vec<_>>(), path, errors);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(schema: Value, list: Vec<Value>) -> Vec<String> {
        let schema = Structural::from_json(&json!({"type": "object", "properties": {"l": schema}}));
        let Value::Object(resource) = json!({ "l": list }) else { unreachable!() };
        schema.doubled_items(&resource).into_iter().map(|error| error.message()).collect()
    }

    #[test]
    fn the_second_of_equal_items_is_named_in_lists_of_any_length() {
        let count = 50_000;
        let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}});
        let mut items: Vec<Value> = (0..count).map(Value::from).collect();
        assert!(fields(set.clone(), items.clone()).is_empty());
        items.extend([json!(7), json!(7), json!(7.0)]);
        assert_eq!(fields(set, items), ["l[50000]: Duplicate value: 7"]);
        let map = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object"}});
        let mut items: Vec<Value> = (0..count).map(|at| json!({"k": at, "v": 1})).collect();
        items.push(json!({"k": 3, "v": 2}));
        assert_eq!(fields(map, items), ["l[50000]: Duplicate value: {\"k\":3}"]);
    }
}
