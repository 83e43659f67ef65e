use std::collections::BTreeSet;

use serde_json::Value;

/// The maximum number of returned paths.
const PATHS_TOLD: usize = 16;

/// The paths at which two objects differ, sorted: the deepest ones that lead only through maps.
pub(super) fn changed_paths(before: &Value, after: &Value) -> Vec<String> {
    let mut found = Vec::new();
    gather("", Some(before), Some(after), &mut found);
    found
}

fn gather(path: &str, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<String>) {
    if before == after || found.len() == PATHS_TOLD {
        return;
    }
    let (Some(Value::Object(before)), Some(Value::Object(after))) = (before, after) else {
        return found.push(path.to_owned());
    };
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        gather(&inner, before.get(name), after.get(name), found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_deepest_changed_paths_are_returned_and_a_list_is_one_path() {
        let before = json!({"kind": "Pod", "spec": {"a": {"b": 1, "c": [1]}, "gone": 1}});
        let after = json!({"kind": "Pod", "spec": {"a": {"b": 1, "c": [2]}, "new": {"x": 1}}});
        assert_eq!(changed_paths(&before, &after), ["spec.a.c", "spec.gone", "spec.new"]);
        assert!(changed_paths(&before, &before).is_empty());
    }

    #[test]
    fn the_number_of_returned_paths_is_limited() {
        let many: serde_json::Map<_, _> = (0..100).map(|number| (number.to_string(), number.into())).collect();
        assert_eq!(changed_paths(&json!({}), &many.into()).len(), PATHS_TOLD);
    }
}
