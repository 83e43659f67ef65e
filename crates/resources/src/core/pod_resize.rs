//! Validates a resize of a pod. In Kubernetes: `dropNonResizeUpdatesForContainers`, `ValidatePodResize`.

use coracle_api::pod_resources::quality_of_service;
use coracle_meta::fields::{Fields, FieldsMut, Tree};
use coracle_meta::{FieldError, Object};
use coracle_release::Release;
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
pub(super) fn wrong_resize(new: &Object, old: &Object, release: &Release) -> Wrong {
    if old.annotation(MIRROR).is_some() {
        return vec![FieldError::forbidden("[]", "static pods cannot be resized")];
    }
    if old.text("spec.os.name") == "windows" {
        return vec![FieldError::forbidden("[]", "windows pods cannot be resized")];
    }
    let mut wrong = wrong_pod(new.at("metadata"), new.at("spec"), release);
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
    let resizes_pods = release.enabled("InPlacePodLevelResourcesVerticalScaling");
    let is_pod_level = has_pod_level(old) || has_pod_level(new);
    if is_pod_level && resizes_pods {
        wrong.extend(wrong_pod_level(new.at("spec.resources"), old.at("spec.resources")));
    } else if is_pod_level {
        let what = "resize of pods with pod-level resources is forbidden when InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled";
        wrong.push(FieldError::forbidden("[]", what));
        return wrong;
    }
    let reordered = wrong_order(new, old);
    if !reordered.is_empty() {
        wrong.extend(reordered);
        return wrong;
    }
    let resizes_init = release.enabled(INIT_CONTAINERS);
    for list in ["initContainers", "containers"] {
        let pairs = new.at("spec").list(list).iter().zip(old.at("spec").list(list)).enumerate();
        let can_resize = |old: &Value| list == "containers" || resizes_init || is_sidecar(old);
        for (at, (new, old)) in pairs.filter(|(_, (_, old))| can_resize(old)) {
            wrong.extend(removed_resources(new, old, &format!("spec.{list}[{at}].resources")));
        }
    }
    for (new, old) in new.list("spec.containers").iter().zip(old.list("spec.containers")) {
        if !same(&without_cpu_and_memory(new, old, release), old) {
            wrong.push(FieldError::forbidden("spec", "only cpu and memory resources are mutable"));
        }
    }
    let pairs = new.list("spec.initContainers").iter().zip(old.list("spec.initContainers")).enumerate();
    wrong.extend(pairs.flat_map(|(at, (new, old))| wrong_init_container(new, old, at, release)));
    wrong
}

/// The gate that lets init containers be resized that are no sidecars.
const INIT_CONTAINERS: &str = "InPlacePodVerticalScalingInitContainers";

fn wrong_init_container(new: &Value, old: &Value, at: usize, release: &Release) -> Wrong {
    if !release.enabled(INIT_CONTAINERS) {
        let (compared, what) = if is_sidecar(new) {
            let compared = without_cpu_and_memory(new, old, release);
            (compared, "only cpu and memory resources for sidecar containers are mutable")
        } else {
            (new.clone(), "resources for non-sidecar init containers are immutable")
        };
        let is_same = same(&compared, old);
        return if is_same { Wrong::new() } else { vec![FieldError::forbidden("spec", what)] };
    }
    let path = format!("spec.initContainers[{at}]");
    let mut wrong = Wrong::new();
    if !same(&without_cpu_and_memory(new, old, release), old) {
        let what = "only cpu and memory resources for init or sidecar containers are mutable";
        wrong.push(FieldError::forbidden(&path, what));
    }
    if !is_sidecar(new) && !same(new, old) {
        let restarting =
            new.list("resizePolicy").iter().filter(|policy| policy.text("restartPolicy") == "RestartContainer");
        let what = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
        wrong.extend(restarting.map(|_| FieldError::forbidden(&path, what)));
    }
    wrong
}

/// The errors of a change of the resources of the whole pod. In Kubernetes: `validatePodLevelResourcesResize`.
fn wrong_pod_level(new: &Value, old: &Value) -> Wrong {
    if !old.is_null() && new.is_null() {
        return vec![FieldError::forbidden("spec.resources", "pod-level resources cannot be removed")];
    }
    let removed = ["requests", "limits"].into_iter().filter(|list| is_removed(new, old, list));
    let mut wrong: Wrong = removed
        .map(|list| {
            let what = format!("pod-level resource {list} cannot be removed");
            FieldError::forbidden(format!("spec.resources.{list}"), what)
        })
        .collect();
    let mut compared = new.clone();
    if let Some(resources) = compared.as_object_mut() {
        put_cpu_and_memory(resources, old);
    }
    if !same(&compared, old) {
        wrong.push(FieldError::forbidden("spec", "only cpu and memory resources are mutable at pod-level"));
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
    let (new, old) = (new.at("resources"), old.at("resources"));
    let removed = ["requests", "limits"].into_iter().filter(|list| is_removed(new, old, list));
    removed
        .map(|list| FieldError::forbidden(format!("{path}.{list}"), format!("resource {list} cannot be removed")))
        .collect()
}

fn is_removed(new: &Value, old: &Value, list: &str) -> bool {
    old.entries(list).any(|(name, _)| new.at(list).field_named(name).is_null())
}

/// The new container with the old amounts of CPU and memory, and in older releases without claims.
fn without_cpu_and_memory(new: &Value, old: &Value, release: &Release) -> Value {
    let mut compared = new.clone();
    let Some(tree) = compared.as_object_mut() else { return compared };
    let Some(resources) = tree.object_made("resources") else { return compared };
    if !release.has("ResizesKeepClaims") {
        resources.remove("claims");
    }
    put_cpu_and_memory(resources, old.at("resources"));
    if resources.is_empty() {
        tree.remove("resources");
    }
    compared
}

/// Replaces amounts of CPU and memory by the old ones.
fn put_cpu_and_memory(resources: &mut Tree, old: &Value) {
    for list in ["requests", "limits"] {
        let Some(amounts) = resources.object_made(list) else { continue };
        for name in ["cpu", "memory"] {
            put(amounts, old.at(list), name);
        }
        if amounts.is_empty() {
            resources.remove(list);
        }
    }
}
