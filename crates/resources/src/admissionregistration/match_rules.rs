//! The requests that a webhook or a policy matches. In Kubernetes: `validateRuleWithOperations`,
//! `validateMatchResources`.

use std::collections::{BTreeMap, BTreeSet};

use coracle_expression::{Type, admission_environment};
use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, JsonKey, names};
use serde_json::Value;

use super::expressions::wrong_expression;
use crate::field_checks::{Wrong, each_invalid, label_selector, one_of};

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const MOST_CONDITIONS: usize = 64;

/// The errors of the constraints of a policy or of its binding.
pub(super) fn wrong_match(constraints: &Value, path: &str) -> Wrong {
    let mut wrong = one_of(constraints, "matchPolicy", path, &["Equivalent", "Exact"]);
    for selector in ["namespaceSelector", "objectSelector"] {
        wrong.extend(label_selector(constraints.at(selector), &format!("{path}.{selector}")));
    }
    for list in ["resourceRules", "excludeResourceRules"] {
        for (at, rule) in constraints.list(list).iter().enumerate() {
            let path = format!("{path}.{list}[{at}]");
            let names = rule.list("resourceNames");
            let mut seen = BTreeSet::new();
            for (at, name) in names.iter().enumerate() {
                let text = name.as_str().unwrap_or_default();
                let path = format!("{path}.resourceNames[{at}]");
                wrong.extend(each_invalid(&path, text, names::path_segment(text)));
                if !seen.insert(JsonKey(name)) {
                    wrong.push(FieldError::duplicate(path, text));
                }
            }
            wrong.extend(wrong_rule(rule, &path));
        }
    }
    wrong
}

/// The errors of the operations of a mutating policy or of its binding: the removal of an object cannot be changed.
pub(super) fn wrong_mutating_operations(constraints: &Value, path: &str) -> Wrong {
    let known = ["*", "CONNECT", "CREATE", "UPDATE"];
    let operations = constraints.list("resourceRules").iter().flat_map(|rule| rule.list("operations"));
    let unknown = operations.filter(|operation| !known.iter().any(|known| known == *operation));
    let path = format!("{path}.resourceRules.operations");
    unknown.map(|operation| FieldError::not_supported(&path, operation.clone(), &known)).collect()
}

/// The errors of a rule: operations on resources of groups and versions.
pub(super) fn wrong_rule(rule: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    for (list, what) in [
        ("operations", "if '*' is present, must not specify other operations"),
        ("apiGroups", "if '*' is present, must not specify other API groups"),
        ("apiVersions", "if '*' is present, must not specify other API versions"),
    ] {
        let values = rule.list(list);
        let path = format!("{path}.{list}");
        if values.is_empty() {
            wrong.push(FieldError::required(&path, ""));
        }
        if values.len() > 1 && values.iter().any(|value| value == "*") {
            wrong.push(FieldError::invalid(path, values, what));
        }
    }
    for (at, operation) in rule.list("operations").iter().enumerate() {
        if !OPERATIONS.iter().any(|known| known == operation) {
            let path = format!("{path}.operations[{at}]");
            wrong.push(FieldError::not_supported(path, operation.clone(), &OPERATIONS));
        }
    }
    for (at, version) in rule.list("apiVersions").iter().enumerate() {
        if version == "" {
            wrong.push(FieldError::required(format!("{path}.apiVersions[{at}]"), ""));
        }
    }
    wrong.extend(wrong_resources(rule.list("resources"), &format!("{path}.resources")));
    if rule.has("scope") {
        wrong.extend(one_of(rule, "scope", path, &["*", "Cluster", "Namespaced"]));
    }
    wrong
}

fn wrong_resources(resources: &[Value], path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    if resources.is_empty() {
        wrong.push(FieldError::required(path, ""));
    }
    let texts: Vec<&str> = resources.iter().filter_map(Value::as_str).collect();
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, text) in texts.iter().enumerate() {
        first.entry(text).or_insert(at);
    }
    for (at, text) in texts.iter().enumerate() {
        let path = format!("{path}[{at}]");
        let Some((resource, part)) = text.split_once('/') else {
            if text.is_empty() {
                wrong.push(FieldError::required(path, ""));
            }
            continue;
        };
        for all in [format!("{resource}/*"), format!("*/{part}")] {
            if first.get(all.as_str()).is_some_and(|first| *first < at) {
                let what = format!("if '{all}' is present, must not specify {text}");
                wrong.push(FieldError::invalid(&path, *text, what));
            }
        }
    }
    if texts.len() > 1 && texts.contains(&"*/*") {
        wrong.push(FieldError::invalid(path, resources, "if '*/*' is present, must not specify other resources"));
    }
    // As in Kubernetes, the last resource without a subresource decides.
    let last_whole = texts.iter().rfind(|text| !text.contains('/') && !text.is_empty());
    if texts.contains(&"*") && last_whole.is_some_and(|text| *text != "*") {
        let what = "if '*' is present, must not specify other resources without subresources";
        wrong.push(FieldError::invalid(path, resources, what));
    }
    wrong
}

/// The errors of match conditions, except those of their expressions.
pub(super) fn wrong_conditions(conditions: &[Value], path: &str, has_parameters: bool) -> Wrong {
    let mut wrong = Wrong::new();
    let environment = admission_environment(has_parameters, true, None);
    if conditions.len() > MOST_CONDITIONS {
        wrong.push(FieldError::too_many(path, conditions.len(), MOST_CONDITIONS));
    }
    let mut seen = BTreeSet::new();
    for (at, condition) in conditions.iter().enumerate() {
        let text = condition.text("expression").trim();
        if text.is_empty() {
            wrong.push(FieldError::required(format!("{path}[{at}].expression"), ""));
        } else {
            let path = format!("{path}[{at}].expression");
            wrong.extend(wrong_expression(text, &environment, &[Type::Bool], path));
        }
        let name = condition.text("name");
        let path = format!("{path}[{at}].name");
        if name.is_empty() {
            wrong.push(FieldError::required(path, ""));
            continue;
        }
        wrong.extend(each_invalid(&path, name, names::qualified_name(name)));
        if !seen.insert(name) {
            wrong.push(FieldError::duplicate(path, name));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(wrong: Wrong) -> Vec<String> {
        wrong.iter().map(FieldError::message).collect()
    }

    #[test]
    fn a_rule_names_operations_groups_versions_and_resources() {
        let good =
            json!({"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/*", "*/status"]});
        assert!(messages(wrong_rule(&good, "r")).is_empty());
        let required = ["r.operations", "r.apiGroups", "r.apiVersions", "r.resources"]
            .map(|path| format!("{path}: Required value"));
        assert_eq!(messages(wrong_rule(&json!({}), "r")), required);
    }

    #[test]
    fn resources_that_overlap_a_wildcard_are_refused() {
        let said = messages(wrong_resources(&[json!("pods/*"), json!("pods/log")], "r"));
        assert_eq!(said, ["r[1]: Invalid value: \"pods/log\": if 'pods/*' is present, must not specify pods/log"]);
        let said = messages(wrong_resources(&[json!("*"), json!("pods")], "r"));
        let what = "if '*' is present, must not specify other resources without subresources";
        assert_eq!(said, [format!("r: Invalid value: [\"*\",\"pods\"]: {what}")]);
    }
}
