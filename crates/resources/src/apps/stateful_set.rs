use std::collections::BTreeSet;
use std::sync::Arc;

use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_spec};
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{KindSpec, Scale, SelectorForm, Subresource, TableColumn};
use coracle_release::Release;
use serde_json::{Value, json};

use crate::built_in::{built_in, drop_newly_used};
use crate::cells::{containers, images};
use crate::field_checks::{
    Wrong, amount_of, count_or_share, each_invalid, immutable, not_more_than_all, not_negative, one_of, same,
    selector_and_template,
};
use crate::pod_spec::{self, wrong_lasting_template};
use crate::status_counts::{wrong_collisions, wrong_counts, wrong_order};
use crate::volume_claim_spec::wrong_claim_spec;

/// `statefulsets.apps`. In Kubernetes: `pkg/registry/apps/statefulset`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, release| edit_spec(object, |spec| set_defaults(spec, release)),
        name: names::dns1123_label,
        prepare_create: |object, _, release| {
            pod_spec::drop_disabled(object, None, "spec.template.spec", release);
            drop_unavailable(object, None, release);
        },
        prepare_update: |new, old, _, release| {
            pod_spec::drop_disabled(new, Some(old), "spec.template.spec", release);
            drop_unavailable(new, Some(old), release);
        },
        validate: |object, release| wrong_spec(object.at("spec"), "spec", release),
        validate_create: |object, _| match object.at("spec.serviceName").as_str().unwrap_or_default() {
            "" => Wrong::new(),
            service => each_invalid("spec.serviceName", service, names::dns1123_label(service)),
        },
        validate_change,
        validate_status: |new, old, _| wrong_status(new, old),
        warnings,
        columns: columns(),
        subresources: vec![Subresource::Projection(Arc::new(Scale::of_replicas(SelectorForm::LabelSelector)))],
        ..built_in(release, "apps", "v1", "statefulsets")
    }
}

/// The gate of a rolling update that replaces several pods at once.
const MAX_UNAVAILABLE: &str = "MaxUnavailableStatefulSet";

/// Drops the field of a feature that is off, unless the old object uses it.
fn drop_unavailable(new: &mut Object, old: Option<&Object>, release: &Release) {
    if !release.enabled(MAX_UNAVAILABLE) {
        drop_newly_used(new, old, &["spec.updateStrategy.rollingUpdate.maxUnavailable"]);
    }
}

fn set_defaults(spec: &mut Tree, release: &Release) {
    spec.fill_text("podManagementPolicy", "OrderedReady");
    if let Some(strategy) = spec.object_made("updateStrategy") {
        if strategy.text("type").is_empty() {
            strategy.fill_text("type", "RollingUpdate");
            strategy.fill("rollingUpdate", json!({}));
        }
        if strategy.text("type") == "RollingUpdate"
            && let Some(rolling) = strategy.object_in("rollingUpdate")
        {
            rolling.fill("partition", 0);
            if release.enabled(MAX_UNAVAILABLE) {
                rolling.fill("maxUnavailable", 1);
            }
        }
    }
    if let Some(policy) = spec.object_made("persistentVolumeClaimRetentionPolicy") {
        policy.fill_text("whenDeleted", "Retain");
        policy.fill_text("whenScaled", "Retain");
    }
    spec.fill("replicas", 1);
    spec.fill("revisionHistoryLimit", 10);
    // The templates are whole claims, whose own defaults apply, too.
    spec.each_in("volumeClaimTemplates", |claim| {
        claim.insert("apiVersion".to_owned(), "v1".into());
        claim.insert("kind".to_owned(), "PersistentVolumeClaim".into());
        if let Some(status) = claim.object_made("status") {
            status.fill_text("phase", "Pending");
        }
    });
}

fn warnings(new: &Object, old: Option<&Object>, release: &Release) -> Vec<String> {
    let mut warnings = pod_spec::warnings_of_kind(new, old, "spec.template", release);
    if new.int("spec.revisionHistoryLimit") < 0 {
        warnings.push(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
                .to_owned(),
        );
    }
    warnings
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text("Ready", "Number of the pod with ready state", |object| {
            format!("{}/{}", object.int("status.readyReplicas"), object.int("spec.replicas")).into()
        }),
        TableColumn::age(),
        containers("spec.template.spec.containers").wide(),
        images("spec.template.spec.containers").wide(),
    ]
}

/// In Kubernetes: `ValidateStatefulSetSpec`.
fn wrong_spec(spec: &Value, path: &str, release: &Release) -> Wrong {
    let mut wrong = Wrong::new();
    let policy = spec.text("podManagementPolicy");
    if !["OrderedReady", "Parallel"].contains(&policy) {
        let what = "must be 'OrderedReady' or 'Parallel'";
        wrong.push(FieldError::invalid(format!("{path}.podManagementPolicy"), policy, what));
    }
    let strategy = spec.at("updateStrategy");
    let rolling = strategy.at("rollingUpdate");
    let rolling_path = format!("{path}.updateStrategy.rollingUpdate");
    match strategy.text("type") {
        "OnDelete" if !rolling.is_null() => {
            let what = "only allowed for updateStrategy 'RollingUpdate'";
            wrong.push(FieldError::invalid(rolling_path, rolling.clone(), what).printed_as(go_rolling(rolling)));
        }
        "OnDelete" => {}
        "RollingUpdate" => wrong.extend(wrong_rolling(rolling, &rolling_path)),
        _ => {
            let what = "must be 'RollingUpdate' or 'OnDelete'";
            let printed = format!(r#"{{"Type":{},"RollingUpdate":{}}}"#, strategy.at("type"), go_rolling(rolling));
            let error = FieldError::invalid(format!("{path}.updateStrategy"), strategy.clone(), what);
            wrong.push(error.printed_as(printed));
        }
    }
    let retention = spec.at("persistentVolumeClaimRetentionPolicy");
    for when in ["whenDeleted", "whenScaled"] {
        let path = format!("{path}.persistentVolumeClaimRetentionPolicy");
        wrong.extend(one_of(retention, when, &path, &["Retain", "Delete"]));
    }
    for count in ["replicas", "minReadySeconds", "ordinals.start"] {
        wrong.extend(not_negative(spec, count, path));
    }
    for (at, claim) in spec.list("volumeClaimTemplates").iter().enumerate() {
        wrong.extend(wrong_claim_spec(claim.at("spec"), &format!("{path}.volumeClaimTemplates[{at}].spec")));
    }
    wrong.extend(selector_and_template(spec, path, "statefulset"));
    wrong.extend(wrong_lasting_template(&as_of_pods(spec), &format!("{path}.template"), "StatefulSet", release));
    wrong
}

/// The parameters of a rolling update as Go prints them.
fn go_rolling(rolling: &Value) -> String {
    if rolling.is_null() {
        return "null".to_owned();
    }
    format!(r#"{{"Partition":{},"MaxUnavailable":{}}}"#, rolling.int("partition"), rolling.at("maxUnavailable"))
}

/// In Kubernetes: `validateRollingUpdateStatefulSet`.
fn wrong_rolling(rolling: &Value, path: &str) -> Wrong {
    let mut wrong = not_negative(rolling, "partition", path);
    let unavailable = rolling.at("maxUnavailable");
    if !unavailable.is_null() {
        let path = format!("{path}.maxUnavailable");
        wrong.extend(count_or_share(unavailable, &path));
        if amount_of(unavailable) == 0 {
            wrong.push(FieldError::invalid(path.as_str(), unavailable.clone(), "cannot be 0"));
        }
        wrong.extend(not_more_than_all(unavailable, &path));
    }
    wrong
}

/// The template as in pods: with the volumes of the claims, and without a host name.
fn as_of_pods(spec: &Value) -> Value {
    let mut template = spec.at("template").clone();
    let Some(pod) = template.get_mut("spec").and_then(Value::as_object_mut) else { return template };
    pod.remove("subdomain");
    pod.remove("hostname");
    let names: Vec<&str> = spec.list("volumeClaimTemplates").iter().map(|claim| claim.text("metadata.name")).collect();
    let mut volumes: Vec<Value> =
        names.iter().map(|name| json!({ "name": name, "persistentVolumeClaim": { "claimName": name } })).collect();
    let claimed: BTreeSet<&str> = names.into_iter().collect();
    let own = spec.list("template.spec.volumes").iter();
    volumes.extend(own.filter(|volume| !claimed.contains(volume.text("name"))).cloned());
    if !volumes.is_empty() {
        pod.insert("volumes".to_owned(), volumes.into());
    }
    template
}

fn validate_change(new: &Object, old: &Object, release: &Release) -> Wrong {
    const FREE: [&str; 7] = [
        "replicas",
        "template",
        "updateStrategy",
        "minReadySeconds",
        "ordinals",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
    ];
    if release.has("ImmutableFieldsOneByOne") {
        const FIXED: [&str; 4] = ["selector", "volumeClaimTemplates", "serviceName", "podManagementPolicy"];
        return FIXED.into_iter().flat_map(|field| immutable(new, old, &format!("spec.{field}"))).collect();
    }
    let (new, old) = (new.at("spec"), old.at("spec"));
    let names = [new, old].into_iter().filter_map(Value::as_object).flatten().map(|(name, _)| name.as_str());
    let all_same =
        names.filter(|name| !FREE.contains(name)).all(|name| same(new.field_named(name), old.field_named(name)));
    if all_same {
        return Wrong::new();
    }
    let what = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
    vec![FieldError::forbidden("spec", what)]
}
/// In Kubernetes: `ValidateStatefulSetStatusUpdate`.
fn wrong_status(new: &Object, old: &Object) -> Wrong {
    const COUNTS: [&str; 7] = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ];
    let mut wrong = wrong_counts(new, &COUNTS);
    for count in ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"] {
        wrong.extend(wrong_order(new, count, "replicas", "cannot be greater than status.replicas"));
    }
    let what = "cannot be greater than status.readyReplicas";
    wrong.extend(wrong_order(new, "availableReplicas", "readyReplicas", what));
    wrong.extend(wrong_collisions(new, old));
    wrong
}
