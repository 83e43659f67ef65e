//! The pod failure policy of Jobs. In Kubernetes: `validatePodFailurePolicy`.

use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use serde_json::Value;

use crate::field_checks::{Wrong, each_invalid, one_of};

const MOST_RULES: usize = 20;
const MOST_PATTERNS: usize = 20;
const MOST_CODES: usize = 255;
const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];

/// The errors of the policy of a job's specification.
pub(super) fn wrong_failure_policy(spec: &Value, path: &str) -> Wrong {
    let rules = spec.list("podFailurePolicy.rules");
    let mut wrong = Wrong::new();
    if rules.len() > MOST_RULES {
        wrong.push(FieldError::too_many(format!("{path}.rules"), rules.len(), MOST_RULES));
    }
    for (at, rule) in rules.iter().enumerate() {
        wrong.extend(wrong_rule(spec, rule, &format!("{path}.rules[{at}]")));
    }
    wrong
}

fn wrong_rule(spec: &Value, rule: &Value, path: &str) -> Wrong {
    let mut wrong = said(rule, "action", path, &ACTIONS);
    if rule.text("action") == "FailIndex" && !spec.has("backoffLimitPerIndex") {
        let what = "requires the backoffLimitPerIndex to be set";
        wrong.push(FieldError::invalid(format!("{path}.action"), "FailIndex", what));
    }
    let patterns = rule.list("onPodConditions");
    if rule.has("onExitCodes") {
        wrong.extend(wrong_codes(spec, rule.at("onExitCodes"), &format!("{path}.onExitCodes")));
    }
    let patterns_path = format!("{path}.onPodConditions");
    if patterns.len() > MOST_PATTERNS {
        wrong.push(FieldError::too_many(&patterns_path, patterns.len(), MOST_PATTERNS));
    }
    for (at, pattern) in patterns.iter().enumerate() {
        let path = format!("{patterns_path}[{at}]");
        let kind = pattern.text("type");
        wrong.extend(each_invalid(&format!("{path}.type"), kind, names::qualified_name(kind)));
        wrong.extend(said(pattern, "status", &path, &["False", "True", "Unknown"]));
    }
    let what = match (rule.has("onExitCodes"), patterns.is_empty()) {
        (true, false) => "specifying both OnExitCodes and OnPodConditions is not supported",
        (false, true) => "specifying one of OnExitCodes and OnPodConditions is required",
        _ => return wrong,
    };
    wrong.push(FieldError::invalid_unprinted(path, what));
    wrong
}

/// A required value; the error lists the valid ones as Go prints a list.
fn said(holder: &Value, field: &str, path: &str, known: &[&str]) -> Wrong {
    if holder.text(field).is_empty() {
        let words: Vec<String> = known.iter().map(|word| format!("{word:?}")).collect();
        return vec![FieldError::required(format!("{path}.{field}"), format!("valid values: [{}]", words.join(" ")))];
    }
    one_of(holder, field, path, known)
}

fn wrong_codes(spec: &Value, codes: &Value, path: &str) -> Wrong {
    let mut wrong = said(codes, "operator", path, &["In", "NotIn"]);
    if let Some(name) = codes.at("containerName").as_str() {
        let lists = ["template.spec.containers", "template.spec.initContainers"].iter();
        let is_there = lists.flat_map(|list| spec.list(list)).any(|container| container.text("name") == name);
        if !is_there {
            let what = "must be one of the container or initContainer names in the pod template";
            wrong.push(FieldError::invalid(format!("{path}.containerName"), name, what));
        }
    }
    let values = codes.list("values");
    let values_path = format!("{path}.values");
    if values.is_empty() {
        wrong.push(FieldError::invalid(&values_path, codes.at("values").clone(), "at least one value is required"));
    } else if values.len() > MOST_CODES {
        wrong.push(FieldError::too_many(&values_path, values.len(), MOST_CODES));
    }
    let numbers: Vec<i64> = values.iter().map(|value| value.as_i64().unwrap_or(0)).collect();
    let mut seen = BTreeSet::new();
    for (at, number) in numbers.iter().enumerate() {
        let path = format!("{values_path}[{at}]");
        if *number == 0 && codes.text("operator") == "In" {
            wrong.push(FieldError::invalid(&path, 0, "must not be 0 for the In operator"));
        }
        if !seen.insert(*number) {
            wrong.push(FieldError::duplicate(path, *number));
        }
    }
    if !numbers.is_sorted() {
        wrong.push(FieldError::invalid(values_path, values, "must be ordered"));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(rule: &Value) -> Vec<String> {
        let spec = json!({"template": {"spec": {"containers": [{"name": "a"}]}}});
        wrong_rule(&spec, rule, "r").iter().map(FieldError::message).collect()
    }

    #[test]
    fn a_rule_is_about_codes_or_about_conditions() {
        let codes = json!({"containerName": "a", "operator": "In", "values": [1, 2]});
        assert!(messages(&json!({"action": "FailJob", "onExitCodes": codes})).is_empty());
        let said = messages(&json!({}));
        assert_eq!(
            said,
            [
                r#"r.action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]"#,
                "r: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
            ]
        );
    }

    #[test]
    fn codes_are_ordered_and_stand_once() {
        let codes = json!({"containerName": "b", "operator": "In", "values": [2, 0, 2]});
        assert_eq!(messages(&json!({"action": "Count", "onExitCodes": codes})).len(), 4);
    }
}
