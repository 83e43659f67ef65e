//! Counters that the devices of a slice share.

use coracle_meta::FieldError;
use coracle_meta::fields::Fields;
use serde_json::Value;

use super::bounded::wrong_set;
use super::naming::wrong_label;
use crate::field_checks::Wrong;

const MOST_SETS: usize = 8;
const MOST_CONSUMED_SETS: usize = 2;
const MOST_COUNTERS: usize = 32;

/// The errors of the sets of counters of a slice. In Kubernetes: `validateCounterSet`.
pub(super) fn wrong_shared_counters(sets: &[Value], path: &str) -> Wrong {
    wrong_sets(sets, MOST_SETS, path, "name")
}

/// The errors of what a device consumes of them. In Kubernetes: `validateDeviceCounterConsumption`.
pub(super) fn wrong_consumption(sets: &[Value], path: &str) -> Wrong {
    wrong_sets(sets, MOST_CONSUMED_SETS, path, "counterSet")
}

fn wrong_sets(sets: &[Value], most: usize, path: &str, name_field: &str) -> Wrong {
    let check = |set: &Value, path: &str| {
        let (name, name_path) = (set.text(name_field), format!("{path}.{name_field}"));
        let mut wrong = match name {
            "" => vec![FieldError::required(name_path, "")],
            name => wrong_label(name, &name_path),
        };
        wrong.extend(wrong_counters(set, &format!("{path}.counters")));
        wrong
    };
    wrong_set(sets, most, path, check, |set| set.text(name_field).to_owned())
}

fn wrong_counters(set: &Value, path: &str) -> Wrong {
    match set.entries("counters").count() {
        0 => vec![FieldError::required(path, "")],
        count if count > MOST_COUNTERS => vec![FieldError::too_many(path, count, MOST_COUNTERS)],
        _ => set.entries("counters").flat_map(|(name, _)| wrong_label(name, path)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(wrong: &[FieldError]) -> Vec<String> {
        wrong.iter().map(FieldError::message).collect()
    }

    #[test]
    fn each_set_has_a_name_and_counters() {
        let good = json!({"name": "a", "counters": {"memory": {"value": "1Gi"}}});
        assert_eq!(wrong_shared_counters(std::slice::from_ref(&good), "s"), []);
        assert_eq!(
            said(&wrong_shared_counters(&[json!({}), good.clone(), good], "s")),
            ["s[0].name: Required value", "s[0].counters: Required value", "s[2]: Duplicate value: \"a\""]
        );
    }

    #[test]
    fn a_device_consumes_of_at_most_two_sets() {
        let set = |name: &str| json!({"counterSet": name, "counters": {"c": {"value": "1"}}});
        assert_eq!(wrong_consumption(&[set("a"), set("b")], "c"), []);
        let what = "c: Too many: 3: must have at most 2 items";
        assert_eq!(said(&wrong_consumption(&[set("a"), set("b"), set("c")], "c")), [what]);
    }
}
