use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_spec};
use coracle_meta::{FieldError, LabelSelector, Object};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::{Value, json};

use crate::built_in::built_in;
use crate::cells::{containers, images, labels, selector};
use crate::field_checks::{
    Wrong, amount_of, count_or_share, immutable, is_empty_selector, label_selector, matches_template,
    not_more_than_all, not_negative,
};
use crate::pod_spec::{self, wrong_lasting_template};
use crate::status_counts::{wrong_collisions, wrong_counts};

/// `daemonsets.apps`. In Kubernetes: `pkg/registry/apps/daemonset`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, _| {
            edit_spec(object, set_defaults);
            if object.annotation(TEMPLATE_GENERATION).is_none() {
                count_templates(object, 0);
            }
        },
        prepare_create: |object, _, release| {
            pod_spec::drop_disabled(object, None, "spec.template.spec", release);
            count_templates(object, template_generation(object).max(1));
        },
        prepare_update: |new, old, _, release| {
            pod_spec::drop_disabled(new, Some(old), "spec.template.spec", release);
            let changed = new.at("spec.template") != old.at("spec.template");
            count_templates(new, template_generation(old) + i64::from(changed));
        },
        validate_status: |new, old, _| wrong_status(new, old),
        validate: |object, release| {
            let spec = object.at("spec");
            let selector = spec.at("selector");
            let mut wrong = label_selector(selector, "spec.selector");
            if let Ok(parsed) = LabelSelector::from_json((!selector.is_null()).then_some(selector)) {
                wrong.extend(matches_template(&parsed, spec.at("template"), "spec.template"));
            }
            if !selector.is_null() && is_empty_selector(selector) {
                let what = "empty selector is invalid for daemonset";
                wrong.push(FieldError::invalid("spec.selector", selector.clone(), what));
            }
            wrong.extend(wrong_lasting_template(spec.at("template"), "spec.template", "DaemonSet", release));
            wrong.extend(not_negative(spec, "minReadySeconds", "spec"));
            wrong.extend(wrong_strategy(spec.at("updateStrategy"), "spec.updateStrategy"));
            wrong.extend(not_negative(spec, "revisionHistoryLimit", "spec"));
            wrong
        },
        validate_change: |new, old, _| immutable(new, old, "spec.selector"),
        warnings: |new, old, release| pod_spec::warnings_of_kind(new, old, "spec.template", release),
        hidden_annotations: &[TEMPLATE_GENERATION],
        columns: columns(),
        ..built_in(release, "apps", "v1", "daemonsets")
    }
}

/// In `apps/v1` the template generation has no field and is an annotation.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn template_generation(object: &Object) -> i64 {
    object.annotation(TEMPLATE_GENERATION).and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn count_templates(object: &mut Object, count: i64) {
    object.set(&["metadata", "annotations", TEMPLATE_GENERATION], count.to_string());
}

fn set_defaults(spec: &mut Tree) {
    if let Some(strategy) = spec.object_made("updateStrategy") {
        strategy.fill_text("type", "RollingUpdate");
        if strategy.text("type") == "RollingUpdate" {
            strategy.fill("rollingUpdate", json!({}));
            if let Some(rolling) = strategy.object_in("rollingUpdate") {
                rolling.fill("maxUnavailable", 1);
                rolling.fill("maxSurge", 0);
            }
        }
    }
    spec.fill("revisionHistoryLimit", 10);
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::integer(
            "Desired",
            "The total number of nodes that should be running the daemon pod (including nodes correctly running the daemon pod). More info: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/",
            |object| object.int("status.desiredNumberScheduled").into(),
        ),
        TableColumn::integer(
            "Current",
            "The number of nodes that are running at least 1 daemon pod and are supposed to run the daemon pod. More info: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/",
            |object| object.int("status.currentNumberScheduled").into(),
        ),
        TableColumn::integer(
            "Ready",
            "The number of nodes that should be running the daemon pod and have one or more of the daemon pod running and ready.",
            |object| object.int("status.numberReady").into(),
        ),
        TableColumn::integer(
            "Up-to-date",
            "The total number of nodes that are running updated daemon pod",
            |object| object.int("status.updatedNumberScheduled").into(),
        ),
        TableColumn::integer(
            "Available",
            "The number of nodes that should be running the daemon pod and have one or more of the daemon pod running and available (ready for at least spec.minReadySeconds)",
            |object| object.int("status.numberAvailable").into(),
        ),
        TableColumn::text(
            "Node Selector",
            "NodeSelector is a selector which must be true for the pod to fit on a node. Selector which must match a node's labels for the pod to be scheduled on that node. More info: https://kubernetes.io/docs/concepts/configuration/assign-pod-node/",
            |object| labels(object.at("spec.template.spec.nodeSelector")),
        ),
        TableColumn::age(),
        containers("spec.template.spec.containers").wide(),
        images("spec.template.spec.containers").wide(),
        TableColumn::text(
            "Selector",
            "A label query over pods that are managed by the daemon set. Must match in order to be controlled. If empty, defaulted to labels on Pod template. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors",
            |object| selector(object.at("spec.selector")),
        ).wide(),
    ]
}

/// In Kubernetes: `ValidateDaemonSetUpdateStrategy`.
fn wrong_strategy(strategy: &Value, path: &str) -> Wrong {
    let rolling_path = format!("{path}.rollingUpdate");
    let rolling = strategy.at("rollingUpdate");
    match (strategy.text("type"), rolling.is_null()) {
        ("OnDelete", _) => Wrong::new(),
        ("RollingUpdate", true) => vec![FieldError::required(rolling_path, "")],
        ("RollingUpdate", false) => {
            let both = ["maxUnavailable", "maxSurge"];
            let all = both.iter().map(|name| (rolling.at(name), format!("{rolling_path}.{name}")));
            let mut wrong: Wrong = all
                .flat_map(|(value, path)| {
                    count_or_share(value, &path).into_iter().chain(not_more_than_all(value, &path))
                })
                .collect();
            let [has_unavailable, has_surge] = both.map(|name| amount_of(rolling.at(name)) != 0);
            if has_unavailable && has_surge {
                let (path, what) =
                    (format!("{rolling_path}.maxSurge"), "may not be set when maxUnavailable is non-zero");
                wrong.push(FieldError::invalid(path, rolling.at("maxSurge").clone(), what));
            } else if !has_unavailable && !has_surge {
                let path = format!("{rolling_path}.maxUnavailable");
                wrong.push(FieldError::required(path, "cannot be 0 when maxSurge is 0"));
            }
            wrong
        }
        _ => vec![FieldError::not_supported(path, strategy.clone(), &["RollingUpdate", "OnDelete"])],
    }
}
/// In Kubernetes: `ValidateDaemonSetStatusUpdate`.
fn wrong_status(new: &Object, old: &Object) -> Wrong {
    const COUNTS: [&str; 9] = [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ];
    let mut wrong = wrong_counts(new, &COUNTS);
    wrong.extend(wrong_collisions(new, old));
    wrong
}
