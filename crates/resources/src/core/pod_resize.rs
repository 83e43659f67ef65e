//! Validates a resize of a pod. In Kubernetes: `dropNonResizeUpdatesForContainers`, `ValidatePodResize`.

use coracle_api::pod_resources::quality_of_service;
use coracle_meta::fields::{Fields, FieldsMut, Tree};
use coracle_meta::{FieldError, Object};
use serde_json::Value;

use crate::field_checks::{Wrong, same};
use crate::pod_spec::{MIRROR, wrong_pod};

/// The old containers with the new resources and resize policies; the new containers if a name differs, which
/// validation refuses.
pub(super) fn keep_all_but_resources(new: &[Value], old: &[Value]) -> Value {
    if new.iter().zip(old).any(|(new, old)| new.text("name") != old.text("name")) {
        return new.into();
    }
    let merged = new.iter().zip(old).map(|(new, old)| {
        let mut kept = old.clone();
        if let Some(tree) = kept.as_object_mut() {
            put(tree, new, "resources");
            put(tree, new, "resizePolicy");
        }
        kept
    });
    merged.collect()
}

fn put(tree: &mut Tree, from: &Value, field: &str) {
    match from.at(field) {
        Value::Null => drop(tree.remove(field)),
        value => drop(tree.insert(field.to_owned(), value.clone())),
    }
}

/// The errors of a resize.
pub(super) fn wrong_resize(new: &Object, old: &Object) -> Wrong {
    if old.annotation(MIRROR).is_some() {
        return vec![FieldError::forbidden("[]", "static pods cannot be resized")];
    }
    if old.text("spec.os.name") == "windows" {
        return vec![FieldError::forbidden("[]", "windows pods cannot be resized")];
    }
    let mut wrong = wrong_pod(new.at("metadata"), new.at("spec"));
    let class_before = match old.text("status.qosClass") {
        "" => quality_of_service(old),
        class => class,
    };
    if quality_of_service(new) != class_before {
        // The message quotes the pod's status, which still has the previous class.
        let what = "Pod QOS Class may not change as a result of resizing";
        wrong.push(FieldError::invalid("spec", new.text("status.qosClass"), what));
    }
    let running = old.list("status.containerStatuses").iter().find(|status| status.has("state.running"));
    if running.is_some_and(|status| !status.has("resources")) {
        wrong.push(FieldError::forbidden("spec", "Pod running on node without support for resize"));
    }
    let has_pod_level = |pod: &Object| {
        ["requests", "limits"].iter().any(|list| pod.at("spec.resources").entries(list).next().is_some())
    };
    if has_pod_level(old) || has_pod_level(new) {
        let what = "resize of pods with pod-level resources is forbidden when InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled";
        wrong.push(FieldError::forbidden("[]", what));
        return wrong;
    }
    let reordered = wrong_order(new, old);
    if !reordered.is_empty() {
        wrong.extend(reordered);
        return wrong;
    }
    for list in ["initContainers", "containers"] {
        let pairs = new.at("spec").list(list).iter().zip(old.at("spec").list(list)).enumerate();
        for (at, (new, old)) in pairs.filter(|(_, (_, old))| list == "containers" || is_sidecar(old)) {
            wrong.extend(removed_resources(new, old, &format!("spec.{list}[{at}].resources")));
        }
    }
    for list in ["containers", "initContainers"] {
        for (new, old) in new.at("spec").list(list).iter().zip(old.at("spec").list(list)) {
            let (compared, what) = match (list, is_sidecar(new)) {
                ("containers", _) => (without_cpu_and_memory(new, old), "only cpu and memory resources are mutable"),
                (_, true) => (
                    without_cpu_and_memory(new, old),
                    "only cpu and memory resources for sidecar containers are mutable",
                ),
                (_, false) => (new.clone(), "resources for non-sidecar init containers are immutable"),
            };
            if !same(&compared, old) {
                wrong.push(FieldError::forbidden("spec", what));
            }
        }
    }
    wrong
}

fn is_sidecar(container: &Value) -> bool {
    container.text("restartPolicy") == "Always"
}

/// In Kubernetes: `validatePodResizeContainerOrdering`.
fn wrong_order(new: &Object, old: &Object) -> Wrong {
    let mut wrong = Wrong::new();
    for list in ["containers", "initContainers"] {
        let (new, old) = (new.at("spec").list(list), old.at("spec").list(list));
        if new.len() != old.len() {
            let what = format!("{list} may not be added or removed on resize");
            wrong.push(FieldError::forbidden(format!("spec.{list}"), what));
            continue;
        }
        let pairs = new.iter().zip(old).enumerate();
        let renamed = pairs.filter(|(_, (new, old))| new.text("name") != old.text("name"));
        let what = format!("{list} may not be renamed or reordered on resize");
        wrong.extend(renamed.map(|(at, _)| FieldError::forbidden(format!("spec.{list}[{at}].name"), &what)));
    }
    wrong
}

fn removed_resources(new: &Value, old: &Value, path: &str) -> Wrong {
    let is_removed = |list: &str| {
        let (new, old) = (new.at("resources").at(list), old.at("resources").at(list));
        old.as_object().into_iter().flatten().any(|(name, _)| new.field_named(name).is_null())
    };
    let removed = ["requests", "limits"].into_iter().filter(|list| is_removed(list));
    removed
        .map(|list| FieldError::forbidden(format!("{path}.{list}"), format!("resource {list} cannot be removed")))
        .collect()
}

/// The new container with the old amounts of CPU and memory, and without claims.
fn without_cpu_and_memory(new: &Value, old: &Value) -> Value {
    let mut compared = new.clone();
    let Some(tree) = compared.as_object_mut() else { return compared };
    let Some(resources) = tree.object_made("resources") else { return compared };
    resources.remove("claims");
    for list in ["requests", "limits"] {
        let Some(amounts) = resources.object_made(list) else { continue };
        for name in ["cpu", "memory"] {
            put(amounts, old.at("resources").at(list), name);
        }
        if amounts.is_empty() {
            resources.remove(list);
        }
    }
    if resources.is_empty() {
        tree.remove("resources");
    }
    compared
}
