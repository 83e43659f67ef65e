use coracle_ambient::Timestamp;
use coracle_meta::Object;
use serde_json::{Value, json};

use crate::cells::{age, containers};
use crate::columns;
use crate::pod_spec;
use crate::rules::{BY_SPEC, Rules};
use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_spec};

/// `statefulsets.apps`. In Kubernetes: `pkg/registry/apps/statefulset`.
pub(crate) const STATEFUL_SET: Rules = Rules {
    set_defaults: |object| edit_spec(object, set_defaults),
    generation: BY_SPEC,
    warnings,
    columns: columns::STATEFUL_SET,
    cells,
    ..Rules::of("apps", "v1", "statefulsets")
};

fn set_defaults(spec: &mut Tree) {
    spec.fill_text("podManagementPolicy", "OrderedReady");
    if let Some(strategy) = spec.object_made("updateStrategy") {
        if strategy.text("type").is_empty() {
            strategy.fill_text("type", "RollingUpdate");
            strategy.fill("rollingUpdate", json!({}));
        }
        if strategy.text("type") == "RollingUpdate" {
            if let Some(rolling) = strategy.object_in("rollingUpdate") {
                rolling.fill("partition", 0);
            }
        }
    }
    if let Some(policy) = spec.object_made("persistentVolumeClaimRetentionPolicy") {
        policy.fill_text("whenDeleted", "Retain");
        policy.fill_text("whenScaled", "Retain");
    }
    spec.fill("replicas", 1);
    spec.fill("revisionHistoryLimit", 10);
    // The templates hold whole claims, whose own defaults come along.
    spec.each_in("volumeClaimTemplates", |claim| {
        claim.fill("apiVersion", "v1");
        claim.fill("kind", "PersistentVolumeClaim");
        if let Some(status) = claim.object_made("status") {
            status.fill_text("phase", "Pending");
        }
    });
}

fn warnings(new: &Object, old: Option<&Object>) -> Vec<String> {
    let mut warnings = pod_spec::warnings_of_kind(new, old, "spec.template");
    if new.int("spec.revisionHistoryLimit") < 0 {
        warnings.push(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
                .to_owned(),
        );
    }
    warnings
}

fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let ready = format!("{}/{}", object.int("status.readyReplicas"), object.int("spec.replicas"));
    let [names, images] = containers(object.list("spec.template.spec.containers"));
    vec![object.name().into(), ready.into(), age(object, now), names, images]
}
