use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use serde_json::Value;

use super::bounded::wrong_list;
use crate::field_checks::{Wrong, each_invalid};

const MOST: usize = 4;
const GOOD: &str = "bindingConditions";
const BAD: &str = "bindingFailureConditions";

/// The errors of the conditions for which a pod waits before it is bound. In Kubernetes: `validateDeviceBindingParameters`.
pub(super) fn wrong_binding_conditions(holder: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let listed = |field: &str| -> Vec<&str> { holder.list(field).iter().filter_map(Value::as_str).collect() };
    for field in [GOOD, BAD] {
        wrong.extend(wrong_list(holder.list(field), MOST, &format!("{path}.{field}"), |condition, path| {
            let name = condition.as_str().unwrap_or_default();
            each_invalid(path, name, names::qualified_name(name))
        }));
        let mut seen = BTreeSet::new();
        for (at, name) in listed(field).into_iter().enumerate() {
            let path = format!("{path}.{field}[{at}]");
            if !seen.insert(name) {
                wrong.push(FieldError::duplicate(&path, name));
            }
            if field == BAD && listed(GOOD).contains(&name) {
                let what = "bindingFailureConditions must not overlap with bindingConditions";
                wrong.push(FieldError::invalid(path, name, what));
            }
        }
    }
    for (missing, present) in [(GOOD, BAD), (BAD, GOOD)] {
        if listed(missing).is_empty() && !listed(present).is_empty() {
            let what = format!("{missing} are required to use {present}");
            wrong.push(FieldError::invalid(format!("{path}.{missing}"), holder.at(missing).clone(), what));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_of_success_and_failure_come_together_and_differ() {
        let said = |device: Value| -> Vec<String> {
            wrong_binding_conditions(&device, "d").iter().map(FieldError::message).collect()
        };
        assert_eq!(said(json!({})), [""; 0]);
        assert_eq!(said(json!({GOOD: ["a.io/b"], BAD: ["a.io/c"]})), [""; 0]);
        assert_eq!(
            said(json!({GOOD: ["a"]})),
            ["d.bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use \
              bindingConditions"]
        );
        assert_eq!(
            said(json!({GOOD: ["a"], BAD: ["a", "a"]})),
            [
                "d.bindingFailureConditions[0]: Invalid value: \"a\": bindingFailureConditions must not overlap with \
                 bindingConditions",
                "d.bindingFailureConditions[1]: Duplicate value: \"a\"",
                "d.bindingFailureConditions[1]: Invalid value: \"a\": bindingFailureConditions must not overlap with \
                 bindingConditions",
            ]
        );
        let what = "d.bindingConditions: Too many: 5: must have at most 4 items";
        assert_eq!(said(json!({GOOD: ["a", "b", "c", "d", "e"], BAD: ["f"]})), [what]);
    }
}
