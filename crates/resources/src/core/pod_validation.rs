//! What is wrong with a pod, and with a change of one. In Kubernetes: `ValidatePodCreate`, `ValidatePodUpdate`.

use std::collections::BTreeSet;

use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_spec};
use coracle_meta::{FieldError, Object, names};
use serde_json::Value;

use crate::field_checks::{Wrong, same};
use crate::pod_spec::{wrong_spec, wrong_tolerations};

/// What is wrong with a pod, new or changed.
pub(super) fn wrong_pod(pod: &Object) -> Wrong {
    let spec = pod.at("spec");
    let mut wrong = wrong_spec(spec, "spec");
    let mirror = pod.annotation("kubernetes.io/config.mirror");
    if let (Some(value), "") = (mirror, spec.text("nodeName")) {
        let path = "metadata.annotations[kubernetes.io/config.mirror]";
        wrong.push(FieldError::invalid(path, value, "must set spec.nodeName if mirror pod annotation is set"));
    }
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for (at, container) in spec.list(list).iter().enumerate() {
            let image = container.text("image");
            if image.trim() != image {
                let path = format!("spec.{list}[{at}].image");
                wrong.push(FieldError::invalid(path, image, "must not have leading or trailing whitespace"));
            }
        }
    }
    wrong
}

/// What is wrong with a new pod besides.
pub(super) fn wrong_create(pod: &Object) -> Wrong {
    let mut wrong = Wrong::new();
    if !pod.list("spec.ephemeralContainers").is_empty() {
        wrong.push(FieldError::forbidden("spec.ephemeralContainers", "cannot be set on create"));
    }
    if !pod.text("spec.nodeName").is_empty() && !pod.list("spec.schedulingGates").is_empty() {
        let what = "cannot be set until all schedulingGates have been cleared";
        wrong.push(FieldError::forbidden("spec.nodeName", what));
    }
    wrong
}

const CHANGEABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// What is wrong with a change of a pod's specification.
pub(super) fn wrong_change(new: &Object, old: &Object) -> Wrong {
    let mut wrong = Wrong::new();
    for list in ["containers", "initContainers"] {
        if new.at("spec").list(list).len() != old.at("spec").list(list).len() {
            let what = "pod updates may not add or remove containers";
            return vec![FieldError::forbidden(format!("spec.{list}"), what)];
        }
    }
    wrong.extend(wrong_deadline(new, old));
    wrong.extend(wrong_added_tolerations(new, old));
    wrong.extend(wrong_added_gates(new, old));
    if new.at("spec") == old.at("spec") {
        return wrong;
    }
    let mut rest = new.clone();
    forget_changeable(&mut rest, old);
    if !same(rest.at("spec"), old.at("spec")) {
        wrong.push(FieldError::forbidden("spec", format!("{CHANGEABLE}\n{}", changed_fields(&rest, old))));
    }
    wrong
}

/// Unlike Kubernetes: the fields that changed are named, because a difference of its Go structs would mean nothing
/// here.
fn changed_fields(new: &Object, old: &Object) -> String {
    let (new, old) = (new.at("spec"), old.at("spec"));
    let names: BTreeSet<&String> = [new, old].into_iter().filter_map(Value::as_object).flat_map(Tree::keys).collect();
    let changed = names.into_iter().filter(|name| !same(new.field_named(name), old.field_named(name)));
    changed.map(|name| format!("spec.{name}")).collect::<Vec<_>>().join(", ")
}

fn wrong_deadline(new: &Object, old: &Object) -> Wrong {
    const PATH: &str = "spec.activeDeadlineSeconds";
    match (new.int_if_set(PATH), old.int_if_set(PATH)) {
        (Some(new), Some(old)) if new > old => {
            vec![FieldError::invalid(PATH, new, "must be less than or equal to previous value")]
        }
        (Some(new), _) => {
            let sentences = names::in_range(new, 0, i64::from(i32::MAX));
            sentences.into_iter().map(|what| FieldError::invalid(PATH, new, what)).collect()
        }
        (None, Some(_)) => {
            vec![FieldError::invalid(PATH, Value::Null, "must not update from a positive integer to nil value")]
        }
        (None, None) => Wrong::new(),
    }
}

fn wrong_added_tolerations(new: &Object, old: &Object) -> Wrong {
    const PATH: &str = "spec.tolerations";
    let without_seconds = |toleration: &Value| {
        let mut toleration = toleration.clone();
        if let Some(tree) = toleration.as_object_mut() {
            tree.remove("tolerationSeconds");
        }
        toleration
    };
    let kept: Vec<Value> = new.list(PATH).iter().map(without_seconds).collect();
    if old.list(PATH).iter().any(|toleration| !kept.contains(&without_seconds(toleration))) {
        let what = "existing toleration can not be modified except its tolerationSeconds";
        return vec![FieldError::forbidden(PATH, what)];
    }
    if new.at(PATH) == old.at(PATH) { Wrong::new() } else { wrong_tolerations(new.list(PATH), PATH) }
}

fn wrong_added_gates(new: &Object, old: &Object) -> Wrong {
    const PATH: &str = "spec.schedulingGates";
    let is_old = |gate: &Value| old.list(PATH).iter().any(|old| old.text("name") == gate.text("name"));
    let added = new.list(PATH).iter().enumerate().filter(|(_, gate)| !is_old(gate));
    added
        .map(|(at, gate)| {
            let what = format!("only deletion is allowed, but found new scheduling gate '{}'", gate.text("name"));
            FieldError::forbidden(format!("{PATH}[{at}].name"), what)
        })
        .collect()
}

/// Puts the old values where a change is allowed.
fn forget_changeable(new: &mut Object, old: &Object) {
    let old_spec = old.at("spec").clone();
    let is_gated = !old.list("spec.schedulingGates").is_empty();
    edit_spec(new, |spec| {
        for list in ["containers", "initContainers"] {
            let mut before = old_spec.list(list).iter();
            spec.each_in(list, |container| put(container, before.next().unwrap_or(&Value::Null), "image"));
        }
        for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
            put(spec, &old_spec, field);
        }
        if old_spec.int("terminationGracePeriodSeconds") < 0 && spec.int("terminationGracePeriodSeconds") == 1 {
            put(spec, &old_spec, "terminationGracePeriodSeconds");
        }
        if is_gated {
            put(spec, &old_spec, "nodeSelector");
            let before = old_spec.at("affinity").clone();
            if let Some(affinity) = spec.object_in("affinity") {
                put(affinity, &before, "nodeAffinity");
            }
        }
    });
}

fn put(tree: &mut Tree, from: &Value, field: &str) {
    match from.at(field) {
        Value::Null => drop(tree.remove(field)),
        value => drop(tree.insert(field.to_owned(), value.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(spec: Value) -> Object {
        Object::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap()
    }

    #[test]
    fn an_image_may_change_and_a_command_may_not() {
        let old = pod(json!({"containers": [{"name": "c", "image": "a"}]}));
        assert!(wrong_change(&pod(json!({"containers": [{"name": "c", "image": "b"}]})), &old).is_empty());
        let wrong = wrong_change(&pod(json!({"containers": [{"name": "c", "image": "a", "command": ["x"]}]})), &old);
        assert!(wrong[0].message().ends_with("\nspec.containers"), "{}", wrong[0].message());
    }

    #[test]
    fn a_toleration_may_come_and_not_go() {
        let toleration = json!({"key": "a", "operator": "Exists"});
        let without = pod(json!({"containers": [{}]}));
        let with = pod(json!({"containers": [{}], "tolerations": [toleration]}));
        assert!(wrong_change(&with, &without).is_empty());
        assert_eq!(wrong_change(&without, &with)[0].field, "spec.tolerations");
    }
}
