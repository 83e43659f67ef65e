use std::collections::BTreeSet;

use coracle_meta::parse_time;
use serde_json::Value;

/// The fields of the metadata that each write changes.
const BOOKKEEPING: [&str; 3] = ["resourceVersion", "generation", "managedFields"];

/// The path of the first field in which two states of an object differ. Two times count as equal: when a write is made
/// again, only they change. So do two texts in `names`: those of instances of the writer.
pub(super) fn first_difference(before: &Value, after: &Value, names: &BTreeSet<&str>) -> Option<String> {
    let path = differs("", before, after, names)?;
    Some(path.trim_start_matches('.').to_owned())
}

fn differs(path: &str, before: &Value, after: &Value, names: &BTreeSet<&str>) -> Option<String> {
    let is_time = |value: &Value| value.as_str().is_some_and(|text| parse_time(text).is_some());
    let is_name = |value: &Value| value.as_str().is_some_and(|text| names.contains(text));
    match (before, after) {
        (Value::Object(one), Value::Object(other)) => {
            let fields: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            let is_counted = |name: &&String| path != ".metadata" || !BOOKKEEPING.contains(&name.as_str());
            let field =
                |object: &serde_json::Map<String, Value>, name: &str| object.get(name).cloned().unwrap_or_default();
            fields
                .into_iter()
                .filter(is_counted)
                .find_map(|name| differs(&format!("{path}.{name}"), &field(one, name), &field(other, name), names))
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let pairs = one.iter().zip(other).enumerate();
            pairs.into_iter().find_map(|(index, (one, other))| differs(&format!("{path}[{index}]"), one, other, names))
        }
        (one, other) if one == other || (is_time(one) && is_time(other)) || (is_name(one) && is_name(other)) => None,
        _ => Some(path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_field_is_named_and_times_bookkeeping_and_names_of_instances_are_not_counted() {
        let object = |version: &str, time: &str, status: &str| {
            let condition = json!({"lastTransitionTime": time, "status": status});
            json!({"metadata": {"name": "a", "resourceVersion": version}, "status": {"conditions": [condition]}})
        };
        let none = BTreeSet::new();
        let before = object("1", "2026-01-01T00:00:00Z", "True");
        assert_eq!(first_difference(&before, &object("2", "2026-01-01T00:00:09Z", "True"), &none), None);
        let changed = first_difference(&before, &object("2", "2026-01-01T00:00:09Z", "False"), &none);
        assert_eq!(changed.as_deref(), Some("status.conditions[0].status"));
        let never = first_difference(&before, &object("2", "never", "True"), &none);
        assert_eq!(never.as_deref(), Some("status.conditions[0].lastTransitionTime"));
        let longer = first_difference(&json!({"a": [1]}), &json!({"a": [1, 2]}), &none);
        assert_eq!(longer.as_deref(), Some("a"));
        let by = |name: &str| first_difference(&json!({"by": "one"}), &json!({"by": name}), &["one", "other"].into());
        assert_eq!((by("other"), by("alice").as_deref()), (None, Some("by")));
    }
}
