use std::sync::Arc;

use coracle_meta::fields::{Fields, FieldsMut, edit_spec};
use coracle_meta::{FieldError, Object};
use coracle_registry::{Generation, KindSpec, Scale, SelectorForm, Subresource, TableColumn};
use coracle_release::Release;
use serde_json::{Value, json};

use crate::built_in::built_in;
use crate::cells::{containers, images, selector_text};
use crate::field_checks::{
    Wrong, amount_of, count_or_share, immutable, not_more_than_all, not_negative, selector_and_template,
};
use crate::pod_spec::{self, wrong_lasting_template};
use crate::status_counts::{wrong_collisions, wrong_counts, wrong_order};

/// `deployments.apps`. In Kubernetes: `pkg/registry/apps/deployment`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, _| set_defaults(object),
        // Rollbacks were requested by an annotation, so changes of annotations count, too.
        generation: Generation::Fields(&["spec", "metadata.annotations"]),
        reset_by_status: &["spec", "metadata.labels"],
        validate_status: |new, old, _| wrong_status(new, old),
        prepare_create: |object, _, release| pod_spec::drop_disabled(object, None, "spec.template.spec", release),
        prepare_update: |new, old, _, release| pod_spec::drop_disabled(new, Some(old), "spec.template.spec", release),
        validate: |object, release| {
            let spec = object.at("spec");
            let mut wrong = not_negative(spec, "replicas", "spec");
            wrong.extend(selector_and_template(spec, "spec", "deployment"));
            wrong.extend(wrong_lasting_template(spec.at("template"), "spec.template", "ReplicaSet", release));
            wrong.extend(wrong_strategy(spec.at("strategy"), "spec.strategy"));
            for count in ["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"] {
                wrong.extend(not_negative(spec, count, "spec"));
            }
            let deadline = spec.int("progressDeadlineSeconds");
            if spec.has("progressDeadlineSeconds") && deadline <= spec.int("minReadySeconds") {
                let what = "must be greater than minReadySeconds";
                wrong.push(FieldError::invalid("spec.progressDeadlineSeconds", deadline, what));
            }
            wrong
        },
        validate_change: |new, old, _| immutable(new, old, "spec.selector"),
        warnings: |new, old, release| pod_spec::warnings_of_named_kind(new, old, "spec.template", release),
        columns: columns(),
        subresources: vec![Subresource::Projection(Arc::new(Scale::of_replicas(SelectorForm::LabelSelector)))],
        ..built_in(release, "apps", "v1", "deployments")
    }
}

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

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Ready",
            "Number of the pod with ready state",
            |object| format!("{}/{}", object.int("status.readyReplicas"), object.int("spec.replicas")).into(),
        ),
        TableColumn::text(
            "Up-to-date",
            "Total number of non-terminating pods targeted by this deployment that have the desired template spec.",
            |object| object.int("status.updatedReplicas").into(),
        ),
        TableColumn::text(
            "Available",
            "Total number of available non-terminating pods (ready for at least minReadySeconds) targeted by this deployment.",
            |object| object.int("status.availableReplicas").into(),
        ),
        TableColumn::age(),
        containers("spec.template.spec.containers").wide(),
        images("spec.template.spec.containers").wide(),
        TableColumn::text(
            "Selector",
            "Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the ones affected by this deployment.",
            |object| selector_text(object.at("spec.selector")).unwrap_or_else(|| "<invalid>".to_owned()).into(),
        ).wide(),
    ]
}

/// In Kubernetes: `ValidateDeploymentStrategy`.
fn wrong_strategy(strategy: &Value, path: &str) -> Wrong {
    let rolling_path = format!("{path}.rollingUpdate");
    let rolling = strategy.at("rollingUpdate");
    match (strategy.text("type"), rolling.is_null()) {
        ("Recreate", false) => {
            let what = "may not be specified when strategy `type` is 'Recreate'";
            vec![FieldError::forbidden(rolling_path, what)]
        }
        ("Recreate", true) => Wrong::new(),
        ("RollingUpdate", true) => {
            vec![FieldError::required(rolling_path, "this should be defaulted and never be nil")]
        }
        ("RollingUpdate", false) => {
            let [unavailable, surge] = ["maxUnavailable", "maxSurge"].map(|name| rolling.at(name));
            let [unavailable_path, surge_path] =
                ["maxUnavailable", "maxSurge"].map(|name| format!("{rolling_path}.{name}"));
            let mut wrong = count_or_share(unavailable, &unavailable_path);
            wrong.extend(count_or_share(surge, &surge_path));
            if amount_of(unavailable) == 0 && amount_of(surge) == 0 {
                let what = "may not be 0 when `maxSurge` is 0";
                wrong.push(FieldError::invalid(&unavailable_path, unavailable.clone(), what));
            }
            wrong.extend(not_more_than_all(unavailable, &unavailable_path));
            wrong
        }
        _ => vec![FieldError::not_supported(path, strategy.clone(), &["Recreate", "RollingUpdate"])],
    }
}
/// In Kubernetes: `ValidateDeploymentStatusUpdate`.
fn wrong_status(new: &Object, old: &Object) -> Wrong {
    const COUNTS: [&str; 8] = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ];
    let mut wrong = wrong_counts(new, &COUNTS);
    for count in ["updatedReplicas", "readyReplicas", "availableReplicas"] {
        wrong.extend(wrong_order(new, count, "replicas", "cannot be greater than status.replicas"));
    }
    wrong.extend(wrong_order(new, "availableReplicas", "readyReplicas", "cannot be greater than readyReplicas"));
    wrong.extend(wrong_collisions(new, old));
    wrong
}
