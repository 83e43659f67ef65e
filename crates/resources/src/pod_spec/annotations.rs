//! Annotations with a meaning for pods. In Kubernetes: `ValidatePodSpecificAnnotations`.

use std::collections::BTreeSet;

use coracle_meta::FieldError;
use coracle_meta::fields::Fields;
use serde_json::Value;

use super::MIRROR;
use super::paths::relative_path;
use super::placement::wrong_tolerations;
use super::profiles::{APP_ARMOR, SECCOMP, SECCOMP_OF_POD};
use crate::field_checks::Wrong;

const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// The errors of the annotations of a pod or a template. `path` is that of the annotations.
pub(crate) fn wrong_annotations(annotations: &Value, spec: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let value = |name: &str| annotations.field_named(name).as_str();
    if let (Some(value), "") = (value(MIRROR), spec.text("nodeName")) {
        let what = "must set spec.nodeName if mirror pod annotation is set";
        wrong.push(FieldError::invalid(format!("{path}[{MIRROR}]"), value, what));
    }
    if let Some(text) = value(TOLERATIONS).filter(|text| !text.is_empty())
        && let Ok(Value::Array(tolerations)) = serde_json::from_str(text)
    {
        wrong.extend(wrong_tolerations(&tolerations, &format!("{path}.{TOLERATIONS}")));
    }
    if let Some(cost) = value(DELETION_COST).filter(|cost| !is_cost(cost)) {
        wrong.push(FieldError::invalid(format!("{path}[{DELETION_COST}]"), cost, "must be a 32bit integer"));
    }
    if let Some(profile) = value(SECCOMP_OF_POD) {
        wrong.extend(wrong_seccomp(profile, &format!("{path}.{SECCOMP_OF_POD}")));
    }
    let all: Vec<(&String, &str)> = annotations
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name, value.as_str().unwrap_or("")))
        .collect();
    for (name, profile) in all.iter().filter(|(name, _)| name.starts_with(SECCOMP)) {
        wrong.extend(wrong_seccomp(profile, &format!("{path}.{name}")));
    }
    let containers = super::all_containers(spec, "");
    let containers: BTreeSet<&str> = containers.iter().map(|(_, container)| container.text("name")).collect();
    for (name, profile) in all {
        let Some(container) = name.strip_prefix(APP_ARMOR) else { continue };
        let path = format!("{path}[{name}]");
        if !containers.contains(container) {
            wrong.push(FieldError::invalid(&path, container, "container not found"));
        }
        let is_known = matches!(profile, "" | "runtime/default" | "unconfined") || profile.starts_with("localhost/");
        if !is_known {
            wrong.push(FieldError::invalid(path, profile, format!("invalid AppArmor profile name: {profile:?}")));
        }
    }
    wrong
}

/// A number of 32 bits without a plus and without leading zeros. In Kubernetes: `GetDeletionCostFromPodAnnotations`.
fn is_cost(text: &str) -> bool {
    let begins_well = text == "0" || text.starts_with(|sign: char| sign == '-' || ('1'..='9').contains(&sign));
    begins_well && text.parse::<i32>().is_ok()
}

/// In Kubernetes: `ValidateSeccompProfile`.
fn wrong_seccomp(profile: &str, path: &str) -> Wrong {
    match profile {
        "runtime/default" | "docker/default" | "unconfined" => Wrong::new(),
        _ => match profile.strip_prefix("localhost/") {
            Some(file) => relative_path(file, path),
            None => vec![FieldError::invalid(path, profile, "must be a valid seccomp profile")],
        },
    }
}

/// The errors of a change of the annotations of a pod. In Kubernetes: `ValidatePodSpecificAnnotationUpdates`.
pub(crate) fn wrong_annotation_change(new: &Value, old: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let kind = |name: &str| {
        let is_app_armor = name.starts_with(APP_ARMOR);
        is_app_armor.then_some("AppArmor annotations").or((name == MIRROR).then_some("mirror pod annotation"))
    };
    let mut refuse = |name: &str, what: &str| {
        if let Some(kind) = kind(name) {
            wrong.push(FieldError::forbidden(format!("{path}[{name}]"), format!("may not {what} {kind}")));
        }
    };
    for (name, before) in old.as_object().into_iter().flatten() {
        if new.field_named(name) != before {
            refuse(name, "remove or update");
        }
    }
    for (name, _) in new.as_object().into_iter().flatten() {
        if old.field_named(name).is_null() {
            refuse(name, "add");
        }
    }
    wrong
}
