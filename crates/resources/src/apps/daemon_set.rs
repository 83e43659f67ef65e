use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, LabelSelector, Object};
use serde_json::{Value, json};

use crate::cells::{age, containers, labels, selector};
use crate::checks::{
    Wrong, amount_of, count_or_share, immutable, is_empty_selector, label_selector, matches_template,
    not_more_than_all, not_negative,
};
use crate::columns;
use crate::pod_spec::{self, wrong_lasting_template};
use crate::rules::{BY_SPEC, Rules};
use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_spec};

/// `daemonsets.apps`. In Kubernetes: `pkg/registry/apps/daemonset`.
pub(crate) const DAEMON_SET: Rules = Rules {
    set_defaults: |object| {
        edit_spec(object, set_defaults);
        if object.annotation(TEMPLATE_GENERATION).is_none() {
            count_templates(object, 0);
        }
    },
    prepare_create: |object, _| count_templates(object, template_generation(object).max(1)),
    prepare_update: |new, old, _| {
        let changed = new.at("spec.template") != old.at("spec.template");
        count_templates(new, template_generation(old) + i64::from(changed));
    },
    generation: BY_SPEC,
    validate: |object| {
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
        wrong.extend(wrong_lasting_template(spec.at("template"), "spec.template", "DaemonSet"));
        wrong.extend(not_negative(spec, "minReadySeconds", "spec"));
        wrong.extend(wrong_strategy(spec.at("updateStrategy"), "spec.updateStrategy"));
        wrong.extend(not_negative(spec, "revisionHistoryLimit", "spec"));
        wrong
    },
    validate_change: |new, old| immutable(new, old, "spec.selector"),
    warnings: |new, old| pod_spec::warnings_of_kind(new, old, "spec.template"),
    hidden_annotations: &[TEMPLATE_GENERATION],
    columns: columns::DAEMON_SET,
    cells,
    ..Rules::of("apps", "v1", "daemonsets")
};

/// In `apps/v1` the count of templates has no field and lives in an annotation.
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

fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let status = object.at("status");
    let [names, images] = containers(object.list("spec.template.spec.containers"));
    vec![
        object.name().into(),
        status.int("desiredNumberScheduled").into(),
        status.int("currentNumberScheduled").into(),
        status.int("numberReady").into(),
        status.int("updatedNumberScheduled").into(),
        status.int("numberAvailable").into(),
        labels(object.at("spec.template.spec.nodeSelector")),
        age(object, now),
        names,
        images,
        selector(object.at("spec.selector")),
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
