//! The scheduling constraints of a pod: affinity, tolerations, topology spread.

use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use serde_json::Value;

use crate::field_checks::{Wrong, each_invalid, label_selector, one_of};

/// The effects of taints.
pub(crate) const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// The errors of `affinity`. In Kubernetes: `validateAffinity`.
pub(super) fn wrong_affinity(affinity: &Value, path: &str) -> Wrong {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    let mut wrong = Wrong::new();
    let node = affinity.at("nodeAffinity");
    if node.has(REQUIRED) {
        wrong.extend(node_selector(node.at(REQUIRED), &format!("{path}.nodeAffinity.{REQUIRED}")));
    }
    for (at, term) in node.list(PREFERRED).iter().enumerate() {
        let path = format!("{path}.nodeAffinity.{PREFERRED}[{at}]");
        wrong.extend(wrong_weight(term, &path));
        wrong.extend(wrong_node_term(term.at("preference"), false, &format!("{path}.preference")));
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let pods = affinity.at(kind);
        for (at, term) in pods.list(REQUIRED).iter().enumerate() {
            wrong.extend(wrong_pod_term(term, &format!("{path}.{kind}.{REQUIRED}[{at}]")));
        }
        for (at, weighted) in pods.list(PREFERRED).iter().enumerate() {
            let path = format!("{path}.{kind}.{PREFERRED}[{at}]");
            wrong.extend(wrong_weight(weighted, &path));
            wrong.extend(wrong_pod_term(weighted.at("podAffinityTerm"), &format!("{path}.podAffinityTerm")));
        }
    }
    wrong
}

fn wrong_weight(term: &Value, path: &str) -> Wrong {
    let weight = term.int("weight");
    if (1..=100).contains(&weight) {
        return Wrong::new();
    }
    vec![FieldError::invalid(format!("{path}.weight"), weight, "must be in the range 1-100")]
}

/// The errors of a node selector. In Kubernetes: `ValidateNodeSelector`.
pub(crate) fn node_selector(selector: &Value, path: &str) -> Wrong {
    let path = format!("{path}.nodeSelectorTerms");
    let terms = selector.list("nodeSelectorTerms");
    if terms.is_empty() {
        return vec![FieldError::required(path, "must have at least one node selector term")];
    }
    terms.iter().enumerate().flat_map(|(at, term)| wrong_node_term(term, true, &format!("{path}[{at}]"))).collect()
}

/// Invalid label values are refused if `checks_values`: in a requirement as opposed to a preference.
fn wrong_node_term(term: &Value, checks_values: bool, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    for (at, requirement) in term.list("matchExpressions").iter().enumerate() {
        let path = format!("{path}.matchExpressions[{at}]");
        let count = requirement.list("values").len();
        let values = format!("{path}.values");
        match (requirement.text("operator"), count) {
            ("In" | "NotIn", 0) => {
                wrong.push(FieldError::required(&values, "must be specified when `operator` is 'In' or 'NotIn'"));
            }
            ("Exists" | "DoesNotExist", 1..) => wrong.push(FieldError::forbidden(
                &values,
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )),
            ("Gt" | "Lt", count) if count != 1 => wrong
                .push(FieldError::required(&values, "must be specified single value when `operator` is 'Lt' or 'Gt'")),
            ("In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt", _) => {}
            (other, _) => {
                wrong.push(FieldError::invalid(format!("{path}.operator"), other, "not a valid selector operator"));
            }
        }
        let key = requirement.text("key");
        wrong.extend(each_invalid(&format!("{path}.key"), key, names::qualified_name(key)));
        let given = requirement.list("values").iter().filter_map(Value::as_str).enumerate();
        for (at, value) in given.filter(|_| checks_values) {
            wrong.extend(each_invalid(&format!("{values}[{at}]"), value, names::label_value(value)));
        }
    }
    for (at, requirement) in term.list("matchFields").iter().enumerate() {
        let path = format!("{path}.matchFields[{at}]");
        let values = requirement.list("values");
        match requirement.text("operator") {
            "In" | "NotIn" if values.len() != 1 => wrong.push(FieldError::required(
                format!("{path}.values"),
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
            )),
            "In" | "NotIn" => {}
            other => {
                wrong.push(FieldError::invalid(format!("{path}.operator"), other, "not a valid selector operator"));
            }
        }
        if requirement.text("key") != "metadata.name" {
            let key = requirement.text("key");
            wrong.push(FieldError::invalid(format!("{path}.key"), key, "not a valid field selector key"));
            continue;
        }
        for (at, name) in values.iter().filter_map(Value::as_str).enumerate() {
            wrong.extend(each_invalid(&format!("{path}.values[{at}]"), name, names::dns1123_subdomain(name)));
        }
    }
    wrong
}

fn wrong_pod_term(term: &Value, path: &str) -> Wrong {
    let mut wrong = label_selector(term.at("labelSelector"), &format!("{path}.labelSelector"));
    wrong.extend(label_selector(term.at("namespaceSelector"), &format!("{path}.namespaceSelector")));
    for name in term.list("namespaces").iter().filter_map(Value::as_str) {
        wrong.extend(each_invalid(&format!("{path}.namespace"), name, names::dns1123_label(name)));
    }
    wrong.extend(wrong_label_keys(term, path));
    let key = term.text("topologyKey");
    let key_path = format!("{path}.topologyKey");
    if key.is_empty() {
        wrong.push(FieldError::required(&key_path, "can not be empty"));
    }
    wrong.extend(each_invalid(&key_path, key, names::qualified_name(key)));
    wrong
}

/// The errors of tolerations. In Kubernetes: `ValidateTolerations`.
pub(crate) fn wrong_tolerations(tolerations: &[Value], path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    for (at, toleration) in tolerations.iter().enumerate() {
        let path = format!("{path}[{at}]");
        let (key, operator) = (toleration.text("key"), toleration.text("operator"));
        let (value, effect) = (toleration.text("value"), toleration.text("effect"));
        let operator_path = format!("{path}.operator");
        if !key.is_empty() {
            wrong.extend(each_invalid(&format!("{path}.key"), key, names::qualified_name(key)));
        } else if operator != "Exists" {
            let what = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            wrong.push(FieldError::invalid(&operator_path, operator, what));
        }
        if toleration.has("tolerationSeconds") && effect != "NoExecute" {
            let what = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            wrong.push(FieldError::invalid(format!("{path}.effect"), effect, what));
        }
        match operator {
            "Equal" | "" => {
                let sentences = names::label_value(value);
                if !sentences.is_empty() {
                    wrong.push(FieldError::invalid(&operator_path, value, sentences.join(";")));
                }
            }
            "Exists" if !value.is_empty() => {
                let what = "value must be empty when `operator` is 'Exists'";
                wrong.push(FieldError::invalid(&operator_path, value, what));
            }
            "Exists" => {}
            "Lt" | "Gt" => {
                let known = ["Equal", "Exists", "Lt", "Gt"];
                wrong.push(FieldError::not_supported(&operator_path, operator, &known));
            }
            _ => wrong.push(FieldError::not_supported(&operator_path, operator, &["Equal", "Exists"])),
        }
        if !effect.is_empty() && !EFFECTS.contains(&effect) {
            wrong.push(FieldError::not_supported(format!("{path}.effect"), effect, &EFFECTS));
        }
    }
    wrong
}

/// The errors of `topologySpreadConstraints`. In Kubernetes: `validateTopologySpreadConstraints`.
pub(super) fn wrong_spread(spec: &Value, path: &str) -> Wrong {
    let constraints = spec.list("topologySpreadConstraints");
    let mut wrong = Wrong::new();
    let mut last = BTreeMap::new();
    for (at, constraint) in constraints.iter().enumerate() {
        last.insert((constraint.text("topologyKey"), constraint.text("whenUnsatisfiable")), at);
    }
    for (at, constraint) in constraints.iter().enumerate() {
        let path = format!("{path}.topologySpreadConstraints[{at}]");
        let (key, action) = (constraint.text("topologyKey"), constraint.text("whenUnsatisfiable"));
        let skew = constraint.int("maxSkew");
        if skew <= 0 {
            wrong.push(FieldError::invalid(format!("{path}.maxSkew"), skew, "must be greater than zero"));
        }
        if key.is_empty() {
            wrong.push(FieldError::required(format!("{path}.topologyKey"), "can not be empty"));
        }
        let actions = ["DoNotSchedule", "ScheduleAnyway"];
        if !actions.contains(&action) {
            wrong.push(FieldError::not_supported(format!("{path}.whenUnsatisfiable"), action, &actions));
        }
        if last.get(&(key, action)).is_some_and(|last| *last > at) {
            let path = format!("{path}.{{topologyKey, whenUnsatisfiable}}");
            wrong.push(FieldError::duplicate(path, format!("{{{key}, {action}}}")));
        }
        if let Some(least) = constraint.int_if_set("minDomains") {
            if least <= 0 {
                wrong.push(FieldError::invalid(format!("{path}.minDomains"), least, "must be greater than zero"));
            }
            if action != "DoNotSchedule" {
                let what = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
                wrong.push(FieldError::invalid(format!("{path}.minDomains"), least, what));
            }
        }
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            if constraint.has(field) {
                wrong.extend(one_of(constraint, field, &path, &["Honor", "Ignore"]));
            }
        }
        wrong.extend(wrong_label_keys(constraint, &path));
        wrong.extend(label_selector(constraint.at("labelSelector"), &format!("{path}.labelSelector")));
    }
    wrong
}

/// The keys whose values come from the pod's own labels. The selector already has a requirement for each of them.
/// In Kubernetes: `ValidateMatchLabelKeysAndMismatchLabelKeys`.
fn wrong_label_keys(term: &Value, path: &str) -> Wrong {
    let selector = term.at("labelSelector");
    let keys = |list: &str| -> Vec<&str> { term.list(list).iter().filter_map(Value::as_str).collect() };
    let (matched, mismatched) = (keys("matchLabelKeys"), keys("mismatchLabelKeys"));
    let mut wrong = Wrong::new();
    for (list, keys) in [("matchLabelKeys", &matched), ("mismatchLabelKeys", &mismatched)] {
        let path = format!("{path}.{list}");
        if !keys.is_empty() && selector.is_null() {
            wrong.push(FieldError::forbidden(path, "must not be specified when labelSelector is not set"));
            continue;
        }
        for (at, key) in keys.iter().enumerate() {
            wrong.extend(each_invalid(&format!("{path}[{at}]"), key, names::qualified_name(key)));
        }
    }
    // The last one of duplicate keys counts.
    let places: BTreeMap<&str, usize> = matched.iter().enumerate().map(|(at, key)| (*key, at)).collect();
    let mut selected: BTreeSet<&str> = selector.entries("matchLabels").map(|(key, _)| key.as_str()).collect();
    for requirement in selector.list("matchExpressions") {
        let key = requirement.text("key");
        if let Some(at) = places.get(key)
            && selected.contains(key)
        {
            let what = "exists in both matchLabelKeys and labelSelector";
            wrong.push(FieldError::invalid(format!("{path}[{at}]"), key, what));
        }
        selected.insert(key);
    }
    let mismatched: BTreeSet<&str> = mismatched.into_iter().collect();
    for (at, key) in matched.iter().enumerate().filter(|(_, key)| mismatched.contains(*key)) {
        let what = "exists in both matchLabelKeys and mismatchLabelKeys";
        wrong.push(FieldError::invalid(format!("{path}.matchLabelKeys[{at}]"), *key, what));
    }
    wrong
}
