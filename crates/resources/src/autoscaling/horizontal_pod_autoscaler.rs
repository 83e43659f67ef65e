use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_spec};
use coracle_meta::{FieldError, Object};
use coracle_registry::{Generation, KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::{Value, json};

use super::conversion;
use super::reference::wrong_reference;
use super::scaling_rules::{wrong_metrics, wrong_rules};
use crate::built_in::built_in;
use crate::cells::some_of;
use crate::field_checks::{Wrong, not_negative};
use crate::status_counts::wrong_counts;

/// `horizontalpodautoscalers.autoscaling` in v2. In Kubernetes: `pkg/registry/autoscaling/horizontalpodautoscaler`.
pub(crate) fn v2(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, _| edit_spec(object, set_defaults),
        validate: wrong,
        validate_status: |new, _, _| wrong_status(new),
        generation: if release.enabled("HPAGeneration") { Generation::BY_SPEC } else { Generation::None },
        prepare_create: |object, _, release| {
            if release.enabled("HPAGeneration") {
                object.set("metadata.generation", 1);
            }
        },
        columns: columns(),
        ..built_in(release, "autoscaling", "v2", "horizontalpodautoscalers")
    }
}

/// The same in v1. Its table is made from the v2 form.
pub(crate) fn v1(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, _| edit_spec(object, |spec| spec.fill("minReplicas", 1)),
        to_hub: conversion::to_v2,
        from_hub: conversion::to_v1,
        ..v2(release).in_version("autoscaling", "v1")
    }
}

fn set_defaults(spec: &mut Tree) {
    spec.fill("minReplicas", 1);
    if spec.list("metrics").is_empty() {
        let target = json!({"type": "Utilization", "averageUtilization": 80});
        let metric = json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]);
        spec.insert("metrics".to_owned(), metric);
    }
    if let Some(behavior) = spec.object_in("behavior") {
        let up = json!([
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ]);
        let down = json!([{"type": "Percent", "value": 100, "periodSeconds": 15}]);
        fill_rules(behavior, "scaleUp", up);
        fill_rules(behavior, "scaleDown", down);
        if let Some(rules) = behavior.object_in("scaleUp") {
            rules.fill("stabilizationWindowSeconds", 0);
        }
    }
}

fn fill_rules(behavior: &mut Tree, direction: &str, policies: Value) {
    if let Some(rules) = behavior.object_made(direction) {
        rules.fill("selectPolicy", "Max");
        rules.fill("policies", policies);
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Reference",
            "scaleTargetRef points to the target resource to scale, and is used to the pods for which metrics should be collected, as well as to actually change the replica count.",
            |object| target(object).into(),
        ),
        TableColumn::text(
            "Targets",
            "metrics contains the specifications for which to use to calculate the desired replica count (the maximum replica count across all metrics will be used).  The desired replica count is calculated multiplying the ratio between the target value and the current value by the current number of pods.  Ergo, metrics used must decrease as the pod count is increased, and vice-versa.  See the individual metric source types for more information about how each type of metric must respond.",
            |object| some_of(&metrics(object), 2, ", ", "<none>"),
        ),
        TableColumn::text(
            "MinPods",
            "minReplicas is the lower limit for the number of replicas to which the autoscaler can scale down.  It defaults to 1 pod.  minReplicas is allowed to be 0 if the alpha feature gate HPAScaleToZero is enabled and at least one Object or External metric is configured.  Scaling is active as long as at least one metric value is available.",
            |object| {
                object.int_if_set("spec.minReplicas").map_or("<unset>".to_owned(), |least| least.to_string()).into()
            },
        ),
        TableColumn::text(
            "MaxPods",
            "maxReplicas is the upper limit for the number of replicas to which the autoscaler can scale up. It cannot be less that minReplicas.",
            |object| object.int("spec.maxReplicas").into(),
        ),
        TableColumn::text(
            "Replicas",
            "currentReplicas is current number of replicas of pods managed by this autoscaler, as last seen by the autoscaler.",
            |object| object.int("status.currentReplicas").into(),
        ),
        TableColumn::age(),
    ]
}

fn wrong_most(most: i64, release: &Release) -> Option<FieldError> {
    const PATH: &str = "spec.maxReplicas";
    match (most, release.has("MissingValuesAreRequired")) {
        (1.., _) => None,
        (_, false) => Some(FieldError::invalid(PATH, most, "must be greater than 0")),
        (0, true) => Some(FieldError::required(PATH, "must be set and greater than 0").declared()),
        (_, true) => Some(FieldError::invalid(PATH, most, "must be greater than or equal to 1").declared()),
    }
}

/// In Kubernetes: `ValidateHorizontalPodAutoscalerStatusUpdate`.
fn wrong_status(new: &Object) -> Wrong {
    let conditions = new.list("status.conditions").iter().enumerate();
    let mut wrong: Wrong = conditions
        .flat_map(|(at, condition)| not_negative(condition, "observedGeneration", &format!("status.conditions[{at}]")))
        .collect();
    wrong.extend(wrong_counts(new, &["currentReplicas", "desiredReplicas"]));
    wrong
}

fn target(object: &Object) -> String {
    let target = object.at("spec.scaleTargetRef");
    format!("{}/{}", target.text("kind"), target.text("name"))
}

fn metrics(object: &Object) -> Vec<String> {
    let statuses = object.list("status.currentMetrics");
    let specs = object.list("spec.metrics").iter().enumerate();
    specs.map(|(at, spec)| metric(spec, statuses.get(at).unwrap_or(&Value::Null))).collect()
}

/// One metric: the current value and the target. In Kubernetes: `formatHPAMetrics`.
fn metric(spec: &Value, status: &Value) -> String {
    let (field, named) = match spec.text("type") {
        "External" => ("external", false),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".to_owned(),
    };
    let (own, current) = (spec.at(field), status.at(field).at("current"));
    let target = own.at("target");
    let amount = |value: &Value, missing: &str| value.as_str().unwrap_or(missing).to_owned();
    let percent = |value: &Value, missing: &str| value.as_i64().map_or(missing.to_owned(), |share| format!("{share}%"));
    let by_average = target.has("averageValue");
    let text = match (named, by_average) {
        (_, true) => {
            format!("{}/{}", amount(current.at("averageValue"), "<unknown>"), amount(target.at("averageValue"), "0"))
        }
        (true, false) => format!(
            "{}/{}",
            percent(current.at("averageUtilization"), "<unknown>"),
            percent(target.at("averageUtilization"), "<auto>")
        ),
        (false, false) => format!("{}/{}", amount(current.at("value"), "<unknown>"), amount(target.at("value"), "0")),
    };
    match (named, by_average && field != "pods") {
        (true, _) => format!("{}: {text}", own.text("name")),
        (false, true) => format!("{text} (avg)"),
        (false, false) => text,
    }
}

/// In Kubernetes: `validateHorizontalPodAutoscalerSpec`.
fn wrong(object: &Object, release: &Release) -> Wrong {
    let spec = object.at("spec");
    let (least, most) = (spec.int_if_set("minReplicas"), spec.int("maxReplicas"));
    let mut wrong = Wrong::new();
    let bound = i64::from(!release.enabled("HPAScaleToZero"));
    if let Some(least) = least.filter(|least| *least < bound) {
        let what = format!("must be greater than or equal to {bound}");
        wrong.push(FieldError::invalid("spec.minReplicas", least, what).declared());
    }
    wrong.extend(wrong_most(most, release));
    if least.is_some_and(|least| most < least) {
        wrong.push(FieldError::invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"));
    }
    wrong.extend(wrong_reference(spec.at("scaleTargetRef"), "spec.scaleTargetRef"));
    wrong.extend(wrong_metrics(spec, "spec.metrics"));
    for direction in ["scaleUp", "scaleDown"] {
        let path = format!("spec.behavior.{direction}");
        wrong.extend(wrong_rules(spec.at("behavior").at(direction), &path));
    }
    wrong
}
