use coracle_ambient::Timestamp;
use coracle_meta::Object;
use serde_json::{Value, json};

use crate::cells::{age, containers, labels, selector};
use crate::columns;
use crate::pod_spec;
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
    warnings: |new, old| pod_spec::warnings_of_kind(new, old, "spec.template"),
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
