use coracle_ambient::Timestamp;
use coracle_meta::Object;
use coracle_registry::Generation;
use serde_json::{Value, json};

use crate::cells::{age, containers, selector_text};
use crate::columns;
use crate::pod_spec;
use crate::rules::Rules;
use coracle_meta::fields::{Fields, FieldsMut, edit_spec};

/// `deployments.apps`. In Kubernetes: `pkg/registry/apps/deployment`.
pub(crate) const DEPLOYMENT: Rules = Rules {
    set_defaults,
    // A rollback used to be asked for by annotation, so annotations count, too.
    generation: Generation::Fields(&["spec", "metadata.annotations"]),
    kept_by_status: &["spec", "metadata.labels"],
    warnings: |new, old| pod_spec::warnings_of_named_kind(new, old, "spec.template"),
    columns: columns::DEPLOYMENT,
    cells,
    ..Rules::of("apps", "v1", "deployments")
};

fn set_defaults(object: &mut Object) {
    edit_spec(object, |spec| {
        spec.fill("replicas", 1);
        if let Some(strategy) = spec.object_made("strategy") {
            strategy.fill_text("type", "RollingUpdate");
            if strategy.text("type") == "RollingUpdate" {
                strategy.fill("rollingUpdate", json!({}));
                if let Some(rolling) = strategy.object_in("rollingUpdate") {
                    rolling.fill("maxUnavailable", "25%");
                    rolling.fill("maxSurge", "25%");
                }
            }
        }
        spec.fill("revisionHistoryLimit", 10);
        spec.fill("progressDeadlineSeconds", 600);
    });
}

fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let status = object.at("status");
    let ready = format!("{}/{}", status.int("readyReplicas"), object.int("spec.replicas"));
    let [names, images] = containers(object.list("spec.template.spec.containers"));
    let selector = selector_text(object.at("spec.selector")).unwrap_or_else(|| "<invalid>".to_owned());
    vec![
        object.name().into(),
        ready.into(),
        status.int("updatedReplicas").into(),
        status.int("availableReplicas").into(),
        age(object, now),
        names,
        images,
        selector.into(),
    ]
}
