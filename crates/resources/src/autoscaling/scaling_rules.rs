//! The metrics and the behaviour of an autoscaler. In Kubernetes: `validateMetrics`, `validateBehavior`.

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Quantity, names};
use serde_json::Value;

use crate::field_checks::{Wrong, each_invalid, one_of, quantity_not_negative};
use crate::pod_spec::name_of_container;

use super::reference::wrong_described_object;

const LONGEST_WINDOW: i64 = 3600;
const LONGEST_PERIOD: i64 = 1800;

/// The types of metrics in the order of Kubernetes' checks, each with its field.
const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];
const KINDS: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];

/// The errors of the metrics of a specification.
pub(super) fn wrong_metrics(spec: &Value, path: &str) -> Wrong {
    let metrics = spec.list("metrics");
    let mut wrong = Wrong::new();
    for (at, metric) in metrics.iter().enumerate() {
        wrong.extend(wrong_metric(metric, &format!("{path}[{at}]")));
    }
    let counts_without_pods = |metric: &Value| ["Object", "External"].contains(&metric.text("type"));
    if spec.int_if_set("minReplicas") == Some(0) && !metrics.iter().any(counts_without_pods) {
        let what = "must specify at least one Object or External metric to support scaling to zero replicas";
        wrong.push(FieldError::forbidden(path, what));
    }
    wrong
}

fn wrong_metric(metric: &Value, path: &str) -> Wrong {
    let kind = metric.text("type");
    let kind_path = format!("{path}.type");
    let mut wrong = Wrong::new();
    if kind.is_empty() {
        wrong.push(FieldError::required(&kind_path, "must specify a metric source type"));
    }
    if !KINDS.contains(&kind) {
        // Two separate checks report this.
        let unknown = FieldError::not_supported(kind_path, kind, &KINDS);
        wrong.extend([unknown.clone(), unknown]);
    }
    let present: Vec<&str> =
        SOURCES.into_iter().map(|(_, member)| member).filter(|member| metric.has(member)).collect();
    if let Some(first) = present.first() {
        wrong.extend(wrong_source(first, metric.at(first), &format!("{path}.{first}")));
    }
    let expected = SOURCES.into_iter().find(|(known, _)| *known == kind).map(|(_, member)| member);
    if let Some(expected) = expected.filter(|expected| !present.contains(expected)) {
        let what = "must populate information for the given metric source";
        wrong.push(FieldError::required(format!("{path}.{expected}"), what));
    }
    if present.len() != 1 {
        let others = present.into_iter().filter(|member| Some(*member) != expected);
        let what = "must populate the given metric source only";
        wrong.extend(others.map(|member| FieldError::forbidden(format!("{path}.{member}"), what)));
    }
    wrong
}

fn wrong_source(member: &str, source: &Value, path: &str) -> Wrong {
    let target = source.at("target");
    let target_path = format!("{path}.target");
    let mut wrong = Wrong::new();
    match member {
        "object" => {
            wrong.extend(wrong_described_object(source.at("describedObject"), &format!("{path}.describedObject")))
        }
        "resource" | "containerResource" => wrong.extend(wrong_resource(member, source, path)),
        _ => {}
    }
    if ["object", "external", "pods"].contains(&member) {
        wrong.extend(wrong_name(source.text("metric.name"), &format!("{path}.metric.name")));
    }
    wrong.extend(wrong_target(target, &target_path));
    let [value, average, share] = ["value", "averageValue", "averageUtilization"].map(|field| target.has(field));
    let at = |field: &str| format!("{target_path}.{field}");
    match member {
        "object" if !value && !average => {
            let what = "must set either a target value or averageValue";
            wrong.push(FieldError::required(at("averageValue"), what));
        }
        "external" if !value && !average => {
            let what = "must set either a target value for metric or a per-pod target";
            wrong.push(FieldError::required(at("averageValue"), what));
        }
        "external" if value && average => {
            let what = "may not set both a target value for metric and a per-pod target";
            wrong.push(FieldError::forbidden(at("value"), what));
        }
        "pods" if !average => {
            let what = "must specify a positive target averageValue";
            wrong.push(FieldError::required(at("averageValue"), what));
        }
        "resource" | "containerResource" if !share && !average => {
            let what = "must set either a target raw value or a target utilization";
            wrong.push(FieldError::required(at("averageUtilization"), what));
        }
        "resource" | "containerResource" if share && average => {
            let what = "may not set both a target raw value and a target utilization";
            wrong.push(FieldError::forbidden(at("averageValue"), what));
        }
        _ => {}
    }
    wrong
}

fn wrong_resource(member: &str, source: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let name = source.text("name");
    let is_of_container = member == "containerResource";
    match name {
        "" => wrong.push(FieldError::required(format!("{path}.name"), "must specify a resource name")),
        name if is_of_container => wrong.extend(name_of_container(name, &format!("{path}.name"))),
        _ => {}
    }
    if is_of_container {
        let path = format!("{path}.container");
        match source.text("container") {
            "" => wrong.push(FieldError::required(path, "must specify a container")),
            name => wrong.extend(each_invalid(&path, name, names::dns1123_label(name))),
        }
    }
    wrong
}

fn wrong_name(name: &str, path: &str) -> Wrong {
    if name.is_empty() {
        return vec![FieldError::required(path, "must specify a metric name")];
    }
    each_invalid(path, name, names::path_segment(name))
}

fn wrong_target(target: &Value, path: &str) -> Wrong {
    let kind = target.text("type");
    let mut wrong = Wrong::new();
    if kind.is_empty() {
        wrong.push(FieldError::required(format!("{path}.type"), "must specify a metric target type"));
    }
    if !["Utilization", "Value", "AverageValue"].contains(&kind) {
        let what = "must be either Utilization, Value, or AverageValue";
        wrong.push(FieldError::invalid(format!("{path}.type"), kind, what));
    }
    for field in ["value", "averageValue"] {
        if let Some(amount) = target.at(field).as_str().and_then(|text| Quantity::parse(text).ok())
            && (amount.is_zero() || amount.is_negative())
        {
            wrong.push(FieldError::invalid(format!("{path}.{field}"), amount.to_string(), "must be positive"));
        }
    }
    if let Some(share) = target.int_if_set("averageUtilization").filter(|share| *share < 1) {
        wrong.push(FieldError::invalid(format!("{path}.averageUtilization"), share, "must be greater than 0"));
    }
    wrong
}

/// The errors of the rules of one direction.
pub(super) fn wrong_rules(rules: &Value, path: &str) -> Wrong {
    if rules.is_null() {
        return Wrong::new();
    }
    let mut wrong = Wrong::new();
    let window_path = format!("{path}.stabilizationWindowSeconds");
    match rules.int_if_set("stabilizationWindowSeconds") {
        Some(window) if window < 0 => {
            wrong.push(FieldError::invalid(window_path, window, "must be greater than or equal to zero"));
        }
        Some(window) if window > LONGEST_WINDOW => {
            let what = format!("must be less than or equal to {LONGEST_WINDOW}");
            wrong.push(FieldError::invalid(window_path, window, what));
        }
        _ => {}
    }
    if rules.has("selectPolicy") {
        wrong.extend(one_of(rules, "selectPolicy", path, &["Disabled", "Max", "Min"]));
    }
    let policies = rules.list("policies");
    if policies.is_empty() {
        wrong.push(FieldError::required(format!("{path}.policies"), "must specify at least one Policy"));
    }
    for (at, policy) in policies.iter().enumerate() {
        let path = format!("{path}.policies[{at}]");
        wrong.extend(one_of(policy, "type", &path, &["Percent", "Pods"]));
        for field in ["value", "periodSeconds"] {
            if policy.int(field) <= 0 {
                let what = "must be greater than zero";
                wrong.push(FieldError::invalid(format!("{path}.{field}"), policy.int(field), what));
            }
        }
        let period = policy.int("periodSeconds");
        if period > LONGEST_PERIOD {
            let what = format!("must be less than or equal to {LONGEST_PERIOD}");
            wrong.push(FieldError::invalid(format!("{path}.periodSeconds"), period, what));
        }
    }
    wrong.extend(quantity_not_negative(rules.at("tolerance"), &format!("{path}.tolerance")));
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
    fn a_metric_has_the_source_of_its_kind_and_no_other() {
        let target = json!({"type": "Utilization", "averageUtilization": 50});
        let good = json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
        assert!(wrong_metric(&good, "m").is_empty());
        let mut other = good.clone();
        other["type"] = "Pods".into();
        assert_eq!(
            messages(wrong_metric(&other, "m")),
            ["m.pods: Required value: must populate information for the given metric source",]
        );
        let mut both = good;
        both["pods"] = json!({"metric": {"name": "p"}, "target": {"type": "AverageValue", "averageValue": "1"}});
        assert_eq!(
            messages(wrong_metric(&both, "m")),
            ["m.pods: Forbidden: must populate the given metric source only",]
        );
    }

    #[test]
    fn a_policy_changes_something_within_half_an_hour() {
        let rules = json!({"policies": [{"type": "Pods", "value": 0, "periodSeconds": 1801}]});
        assert_eq!(
            messages(wrong_rules(&rules, "r")),
            [
                "r.policies[0].value: Invalid value: 0: must be greater than zero",
                "r.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800",
            ]
        );
    }
}
