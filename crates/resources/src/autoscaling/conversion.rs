//! Converts between `autoscaling/v2`, in which autoscalers are stored, and `autoscaling/v1`, which has one field for
//! the CPU utilization and keeps everything else in annotations. In Kubernetes:
//! `pkg/apis/autoscaling/v1/conversion.go`.

use coracle_meta::Object;
use coracle_meta::fields::{Fields, Tree};
use serde_json::{Value, json};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// Converts an autoscaler from v1 to v2.
pub(super) fn to_v2(object: &mut Object) {
    if object.number("status.currentReplicas") == Some(0) {
        object.remove("status.currentReplicas");
    }
    let stored = |name: &str| object.annotation(name).and_then(|text| coracle_meta::json::from_str::<Value>(text).ok());
    let mut metrics: Vec<Value> = list_of(stored(METRICS)).iter().map(metric_to_v2).collect();
    let statuses: Vec<Value> = list_of(stored(CURRENT_METRICS)).iter().map(status_to_v2).collect();
    let conditions = list_of(stored(CONDITIONS));
    let behavior = stored(BEHAVIOR);
    for name in [METRICS, CURRENT_METRICS, CONDITIONS, BEHAVIOR] {
        object.remove(&["metadata", "annotations", name]);
    }
    let share = object.remove("spec.targetCPUUtilizationPercentage").filter(|share| !share.is_null());
    if share.is_some() || metrics.is_empty() {
        metrics.push(cpu_metric(share.unwrap_or_else(|| 80.into())));
    }
    object.set("spec.metrics", metrics);
    if let Some(behavior) = behavior {
        object.set("spec.behavior", recased(&behavior, char::to_ascii_lowercase));
    }
    let current = object.remove("status.currentCPUUtilizationPercentage").filter(|share| !share.is_null());
    if !statuses.is_empty() {
        object.set("status.currentMetrics", statuses);
    } else if let Some(share) = current {
        let metric =
            json!([{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": share}}}]);
        object.set("status.currentMetrics", metric);
    }
    if !conditions.is_empty() {
        object.set("status.conditions", conditions);
    }
}

/// Converts an autoscaler from v2 to v1.
pub(super) fn to_v1(object: &mut Object) {
    let metrics = list_of(object.remove("spec.metrics"));
    let statuses = list_of(object.remove("status.currentMetrics"));
    let conditions = list_of(object.remove("status.conditions"));
    let behavior = object.remove("spec.behavior").filter(|behavior| !behavior.is_null());
    let share_of = |metric: &Value| {
        let is_cpu = metric.text("type") == "Resource" && metric.text("resource.name") == "cpu";
        metric.int_if_set("resource.target.averageUtilization").filter(|_| is_cpu)
    };
    if let Some(share) = metrics.iter().find_map(share_of) {
        object.set("spec.targetCPUUtilizationPercentage", share);
    }
    let is_cpu = |status: &&Value| status.text("type") == "Resource" && status.text("resource.name") == "cpu";
    let current = statuses.iter().rfind(is_cpu).map(|status| status.at("resource.current.averageUtilization"));
    if let Some(share) = current.filter(|share| !share.is_null()) {
        object.set("status.currentCPUUtilizationPercentage", share.clone());
    }
    let others: Vec<Value> = metrics.iter().filter(|metric| share_of(metric).is_none()).map(metric_to_v1).collect();
    let mut keep = |name: &str, value: Vec<Value>| {
        if !value.is_empty() {
            object.set(&["metadata", "annotations", name], ordered(&Value::Array(value)));
        }
    };
    keep(METRICS, others);
    keep(CURRENT_METRICS, statuses.iter().map(status_to_v1).collect());
    keep(CONDITIONS, conditions);
    // v1 always prints it, v2 only if it is not zero.
    if object.at("status.currentReplicas").is_null() {
        object.set("status.currentReplicas", 0);
    }
    if let Some(behavior) = behavior {
        let text = ordered(&recased(&with_all_rules(behavior), char::to_ascii_uppercase));
        object.set(&["metadata", "annotations", BEHAVIOR], text);
    }
}

fn list_of(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

fn cpu_metric(share: Value) -> Value {
    let target = json!({"type": "Utilization", "averageUtilization": share});
    json!({"type": "Resource", "resource": {"name": "cpu", "target": target}})
}

/// The field of a metric's source, named after its type: `pods` for `Pods`.
fn source_field(metric: &Value) -> String {
    let kind = metric.text("type");
    let mut signs = kind.chars();
    signs.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(signs).collect()
}

fn metric_to_v1(metric: &Value) -> Value {
    let field = source_field(metric);
    let source = metric.at(&field);
    let target = source.at("target");
    let mut old = Tree::new();
    match field.as_str() {
        "resource" | "containerResource" => {
            copy(source, &mut old, &[("name", "name"), ("container", "container")]);
            let amounts = [("averageUtilization", "targetAverageUtilization"), ("averageValue", "targetAverageValue")];
            copy(target, &mut old, &amounts);
        }
        "object" => {
            copy(source, &mut old, &[("describedObject", "target")]);
            copy_metric(source, &mut old, "selector");
            copy(target, &mut old, &[("value", "targetValue"), ("averageValue", "averageValue")]);
        }
        "pods" => {
            copy_metric(source, &mut old, "selector");
            copy(target, &mut old, &[("averageValue", "targetAverageValue")]);
        }
        _ => {
            copy_metric(source, &mut old, "metricSelector");
            copy(target, &mut old, &[("value", "targetValue"), ("averageValue", "targetAverageValue")]);
        }
    }
    json!({"type": metric.text("type"), field: old})
}

fn metric_to_v2(metric: &Value) -> Value {
    let field = source_field(metric);
    let source = metric.at(&field);
    let (mut new, mut target) = (Tree::new(), Tree::new());
    let selector = if field == "external" { "metricSelector" } else { "selector" };
    match field.as_str() {
        "resource" | "containerResource" => copy(source, &mut new, &[("name", "name"), ("container", "container")]),
        _ => drop(new.insert("metric".to_owned(), named_metric(source, selector))),
    }
    copy(source, &mut new, &[("target", "describedObject")]);
    let amounts = [
        ("targetAverageUtilization", "averageUtilization"),
        ("targetAverageValue", "averageValue"),
        ("averageValue", "averageValue"),
    ];
    copy(source, &mut target, &amounts);
    if source.at("targetValue").as_str().is_some_and(|value| value != "0") {
        copy(source, &mut target, &[("targetValue", "value")]);
    }
    let kind = match () {
        () if target.contains_key("averageUtilization") => "Utilization",
        () if target.contains_key("averageValue") => "AverageValue",
        () => "Value",
    };
    target.insert("type".to_owned(), kind.into());
    new.insert("target".to_owned(), target.into());
    json!({"type": metric.text("type"), field: new})
}

fn status_to_v1(status: &Value) -> Value {
    let field = source_field(status);
    let source = status.at(&field);
    let mut old = Tree::new();
    let value_name =
        if matches!(field.as_str(), "object" | "external") { "currentValue" } else { "currentAverageValue" };
    copy(source, &mut old, &[("name", "name"), ("container", "container"), ("describedObject", "target")]);
    if source.has("metric") {
        copy_metric(source, &mut old, if field == "external" { "metricSelector" } else { "selector" });
    }
    let current = source.at("current");
    copy(current, &mut old, &[("averageUtilization", "currentAverageUtilization"), ("value", value_name)]);
    let average_name = if field == "object" { "averageValue" } else { "currentAverageValue" };
    copy(current, &mut old, &[("averageValue", average_name)]);
    json!({"type": status.text("type"), field: old})
}

fn status_to_v2(status: &Value) -> Value {
    let field = source_field(status);
    let source = status.at(&field);
    let (mut new, mut current) = (Tree::new(), Tree::new());
    match field.as_str() {
        "resource" | "containerResource" => copy(source, &mut new, &[("name", "name"), ("container", "container")]),
        "external" => drop(new.insert("metric".to_owned(), named_metric(source, "metricSelector"))),
        _ => drop(new.insert("metric".to_owned(), named_metric(source, "selector"))),
    }
    copy(source, &mut new, &[("target", "describedObject")]);
    let amounts = [
        ("currentAverageUtilization", "averageUtilization"),
        ("currentAverageValue", "averageValue"),
        ("averageValue", "averageValue"),
        ("currentValue", "value"),
    ];
    copy(source, &mut current, &amounts);
    new.insert("current".to_owned(), current.into());
    json!({"type": status.text("type"), field: new})
}

fn named_metric(source: &Value, selector: &str) -> Value {
    let mut metric = Tree::new();
    copy(source, &mut metric, &[("metricName", "name"), (selector, "selector")]);
    metric.into()
}

fn copy_metric(source: &Value, to: &mut Tree, selector: &str) {
    copy(source.at("metric"), to, &[("name", "metricName"), ("selector", selector)]);
}

fn copy(from: &Value, to: &mut Tree, names: &[(&str, &str)]) {
    for (name, other) in names {
        if from.has(name) {
            to.insert((*other).to_owned(), from.at(name).clone());
        }
    }
}

/// Kubernetes writes the behaviour with all its fields, unset ones as null.
fn with_all_rules(mut behavior: Value) -> Value {
    for direction in ["scaleUp", "scaleDown"] {
        if let Some(rules) = behavior.get_mut(direction).and_then(Value::as_object_mut) {
            for field in ["stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance"] {
                rules.entry(field).or_insert(Value::Null);
            }
        }
    }
    behavior
}

/// The same tree with the first letter of every name in another case.
fn recased(value: &Value, case: fn(&char) -> char) -> Value {
    let rename = |name: &String| -> String {
        let mut signs = name.chars();
        signs.next().map(|first| case(&first)).into_iter().chain(signs).collect()
    };
    match value {
        Value::Object(tree) => {
            tree.iter().map(|(name, value)| (rename(name), recased(value, case))).collect::<Tree>().into()
        }
        Value::Array(items) => items.iter().map(|item| recased(item, case)).collect::<Vec<_>>().into(),
        other => other.clone(),
    }
}

/// JSON with Kubernetes' order of fields, so that the annotation is equal to Kubernetes'.
fn ordered(value: &Value) -> String {
    const ORDER: [&str; 24] = [
        "type",
        "status",
        "target",
        "name",
        "metricName",
        "metricSelector",
        "container",
        "lastTransitionTime",
        "reason",
        "message",
        "targetAverageUtilization",
        "targetValue",
        "targetAverageValue",
        "currentAverageUtilization",
        "currentValue",
        "currentAverageValue",
        "ScaleUp",
        "ScaleDown",
        "StabilizationWindowSeconds",
        "SelectPolicy",
        "Policies",
        "Type",
        "Value",
        "PeriodSeconds",
    ];
    let rank = |name: &str| ORDER.iter().position(|own| *own == name).unwrap_or(ORDER.len());
    match value {
        Value::Object(tree) => {
            let mut entries: Vec<_> = tree.iter().collect();
            entries.sort_by_key(|(name, _)| rank(name));
            let fields: Vec<_> = entries
                .iter()
                .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), ordered(value)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(ordered).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(spec: Value) -> Object {
        let mut object = Object::from_value(json!({"spec": spec})).unwrap();
        to_v1(&mut object);
        to_v2(&mut object);
        object
    }

    #[test]
    fn the_share_of_cpu_has_its_own_field_in_v1() {
        let mut object = Object::from_value(json!({"spec": {"metrics": [cpu_metric(60.into())]}})).unwrap();
        to_v1(&mut object);
        assert_eq!(object.number("spec.targetCPUUtilizationPercentage"), Some(60));
        assert_eq!(object.annotation(METRICS), None);
    }

    #[test]
    fn fields_that_v1_lacks_survive_in_annotations() {
        let metric =
            |name: &str, amount: Value| json!({"type": "Resource", "resource": {"name": name, "target": amount}});
        let memory = metric("memory", json!({"type": "AverageValue", "averageValue": "1Gi"}));
        let pods = json!({"type": "Pods", "pods": {
            "metric": {"name": "hits", "selector": {"matchLabels": {"a": "b"}}},
            "target": {"type": "AverageValue", "averageValue": "10"},
        }});
        let behavior = json!({"scaleUp": {"selectPolicy": "Max", "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}]}});
        let spec = json!({"metrics": [memory, pods], "behavior": behavior});
        let object = round_trip(spec.clone());
        assert_eq!(object.at("spec.metrics"), &spec["metrics"]);
        assert_eq!(object.at("spec.behavior.scaleUp.policies"), &spec["behavior"]["scaleUp"]["policies"]);
        assert_eq!(object.annotation(BEHAVIOR), None);
    }

    #[test]
    fn v1_says_how_many_replicas_there_are_where_there_are_none() {
        let status = json!({"desiredReplicas": 0});
        let mut object = Object::from_value(json!({"spec": {}, "status": status})).unwrap();
        to_v1(&mut object);
        assert_eq!(object.at("status"), &json!({"currentReplicas": 0, "desiredReplicas": 0}));
        to_v2(&mut object);
        assert_eq!(object.at("status"), &status);
    }

    #[test]
    fn without_any_metric_there_is_the_share_of_cpu() {
        let mut object = Object::from_value(json!({"spec": {}})).unwrap();
        to_v2(&mut object);
        assert_eq!(object.at("spec.metrics"), &json!([cpu_metric(80.into())]));
    }
}
