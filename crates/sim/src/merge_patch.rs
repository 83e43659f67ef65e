use serde_json::{Map, Value};

/// The JSON merge patch (RFC 7386) that makes `after` of `before`; `None` if no merge patch can, because a value that is new holds
/// a null.
pub(crate) fn merge_patch(before: &Map<String, Value>, after: &Map<String, Value>) -> Option<Map<String, Value>> {
    merge_patch_but(before, after, &[])
}

/// As [`merge_patch`], as if what lies at the path were in neither.
pub(crate) fn merge_patch_but(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    path: &[&str],
) -> Option<Map<String, Value>> {
    let is_left_out = |name: &str| path == [name];
    let mut patch = Map::new();
    for (name, new) in after.iter().filter(|(name, _)| !is_left_out(name)) {
        match (before.get(name), new) {
            (Some(old), new) if old == new => {}
            (Some(Value::Object(old)), Value::Object(new)) => {
                let path = path.split_first().filter(|(first, _)| *first == name).map_or(&[][..], |(_, rest)| rest);
                patch.insert(name.clone(), Value::Object(merge_patch_but(old, new, path)?));
            }
            (_, new) if holds_null(new) => return None,
            (_, new) => drop(patch.insert(name.clone(), new.clone())),
        }
    }
    let gone = before.keys().filter(|name| !after.contains_key(*name) && !is_left_out(name));
    patch.extend(gone.map(|name| (name.clone(), Value::Null)));
    Some(patch)
}

/// Merges a JSON merge patch (RFC 7386) into what an object was.
///
/// ```
/// use coracle_sim::patch_map;
/// use serde_json::json;
///
/// let mut map = json!({"a": {"b": 1, "c": 2}}).as_object().unwrap().clone();
/// patch_map(&mut map, json!({"a": {"b": null, "d": 3}}).as_object().unwrap());
/// assert_eq!(json!(map), json!({"a": {"c": 2, "d": 3}}));
/// ```
pub fn patch_map(target: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, value) in patch {
        match value {
            Value::Null => drop(target.remove(name)),
            Value::Object(patch) => {
                let mut inner = match target.remove(name) {
                    Some(Value::Object(inner)) => inner,
                    _ => Map::new(),
                };
                patch_map(&mut inner, patch);
                target.insert(name.clone(), Value::Object(inner));
            }
            other => drop(target.insert(name.clone(), other.clone())),
        }
    }
}

/// Whether a value is or has a null where a merge patch would take it for "remove". Inside of arrays a null is a value.
fn holds_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.values().any(holds_null),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn maps() -> impl Strategy<Value = Map<String, Value>> {
        let leaf = prop_oneof![
            4 => (0..3).prop_map(Value::from),
            1 => Just(Value::Null),
            1 => Just(json!([1, null])),
            1 => Just(json!({})),
        ];
        let value = leaf.prop_recursive(3, 24, 4, |inner| {
            proptest::collection::btree_map("[abc]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect()))
        });
        proptest::collection::btree_map("[abc]", value, 0..4).prop_map(|map| map.into_iter().collect())
    }

    proptest! {
        #[test]
        fn the_patch_makes_one_of_the_other(before in maps(), after in maps()) {
            match merge_patch(&before, &after) {
                Some(patch) => {
                    let mut made = before.clone();
                    patch_map(&mut made, &patch);
                    prop_assert_eq!(made, after);
                }
                None => prop_assert!(holds_null(&Value::Object(after))),
            }
        }

        #[test]
        fn what_is_left_out_might_as_well_not_be_there(before in maps(), after in maps(), inner in (maps(), maps())) {
            let (mut before, mut after) = (before, after);
            before.insert("a".to_owned(), Value::Object(inner.0));
            after.insert("a".to_owned(), Value::Object(inner.1));
            let without = |map: &Map<String, Value>| {
                let mut map = map.clone();
                map.get_mut("a").and_then(Value::as_object_mut).map(|inner| inner.remove("b"));
                map
            };
            let mut left_out = merge_patch_but(&before, &after, &["a", "b"]);
            // Maps that differ in what is left out alone have a patch with nothing in it.
            if let Some(patch) = &mut left_out && patch.get("a").is_some_and(|inner| inner == &json!({})) {
                patch.remove("a");
            }
            prop_assert_eq!(left_out, merge_patch(&without(&before), &without(&after)));
        }
    }
}
