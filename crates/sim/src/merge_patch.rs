use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::members::{Members, member};

/// The JSON merge patch (RFC 7386) from `before` to `after`; `None` if no merge patch exists, because a new value
/// contains a null. Members with equal bytes are not parsed.
pub(crate) fn merge_patch(before: &Members<'_>, after: &Members<'_>) -> Option<String> {
    let mut patch = String::from("{");
    write(before, after, "", &mut patch)?;
    Some(patch)
}

/// The same, with `its_patch` as the patch of the member `but`, which is not compared.
pub(crate) fn merge_patch_but(before: &Members<'_>, after: &Members<'_>, but: &str, its_patch: &str) -> Option<String> {
    let mut patch = String::from("{");
    if its_patch != "{}" {
        member(but, &mut patch);
        patch.push_str(its_patch);
    }
    write(before, after, but, &mut patch)?;
    Some(patch)
}

/// Writes the members of a patch and the closing brace.
fn write(before: &Members<'_>, after: &Members<'_>, but: &str, patch: &mut String) -> Option<()> {
    let mut gone: BTreeMap<&str, &RawValue> = before.iter().collect();
    for (name, new) in after.iter() {
        let old = gone.remove(name).map(RawValue::get);
        match (old, new.get()) {
            (Some(old), new) if old == new || name == but => {}
            (Some(old), new) if old.starts_with('{') && new.starts_with('{') => {
                member(name, patch);
                patch.push('{');
                write(&Members::of(old)?, &Members::of(new)?, "", patch)?;
            }
            (_, new) if holds_null(new) => return None,
            (_, new) => {
                member(name, patch);
                patch.push_str(new);
            }
        }
    }
    for name in gone.into_keys() {
        member(name, patch);
        patch.push_str("null");
    }
    patch.push('}');
    Some(())
}

/// Applies a JSON merge patch (RFC 7386) to an object.
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

/// Whether a value is null or contains a null that a merge patch would read as "remove". In an array, a null is a
/// value.
fn holds_null(json: &str) -> bool {
    fn has(value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Object(map) => map.values().any(has),
            _ => false,
        }
    }
    json.contains("null") && coracle_meta::json::from_str(json).is_ok_and(|value| has(&value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn patch_of(before: &str, after: &str) -> Option<String> {
        merge_patch(&Members::of(before)?, &Members::of(after)?)
    }

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
        fn the_patch_turns_one_object_into_the_other(before in maps(), after in maps()) {
            let text = |map: &Map<String, Value>| Value::Object(map.clone()).to_string();
            match patch_of(&text(&before), &text(&after)) {
                Some(patch) => {
                    let mut made = before.clone();
                    patch_map(&mut made, &serde_json::from_str(&patch).unwrap());
                    prop_assert_eq!(made, after);
                }
                None => prop_assert!(holds_null(&text(&after))),
            }
        }
    }

    #[test]
    fn the_patch_contains_only_differences() {
        let patch = patch_of(
            r#"{"same":{"a":[1,2]},"gone":1,"\"":"old","map":{"a":1,"b":2}}"#,
            r#"{"map":{"b":3,"a":1},"same":{"a":[1,2]},"\"":"new","new":{"a":[null]}}"#,
        );
        assert_eq!(patch.unwrap(), r#"{"map":{"b":3},"\"":"new","new":{"a":[null]},"gone":null}"#);
        assert_eq!(patch_of("{}", r#"{"a":{"b":null}}"#), None, "that would remove it");
        let (before, after) = (Members::of(r#"{"a":1,"b":1}"#).unwrap(), Members::of(r#"{"a":2,"b":2}"#).unwrap());
        let but = |its_patch| merge_patch_but(&before, &after, "a", its_patch).unwrap();
        assert_eq!((&*but("{}"), &*but(r#"{"c":3}"#)), (r#"{"b":2}"#, r#"{"a":{"c":3},"b":2}"#));
    }
}
