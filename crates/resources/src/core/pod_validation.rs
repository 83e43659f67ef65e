//! Validates a change of a pod. In Kubernetes: `ValidatePodUpdate`.

use std::collections::BTreeSet;

use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_spec};
use coracle_meta::{FieldError, JsonKey, Object, names};
use serde_json::Value;

use super::pod_placement::{wrong_node_affinity_change, wrong_node_selector_change};
use crate::field_checks::{Wrong, same};
use crate::pod_spec::{wrong_annotation_change, wrong_tolerations};

const CHANGEABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// The errors of a change of a pod's annotations and its spec.
pub(super) fn wrong_change(new: &Object, old: &Object) -> Wrong {
    let annotations = "metadata.annotations";
    let mut wrong = wrong_annotation_change(new.at(annotations), old.at(annotations), annotations);
    for list in ["containers", "initContainers"] {
        if new.at("spec").list(list).len() != old.at("spec").list(list).len() {
            let what = "pod updates may not add or remove containers";
            wrong.push(FieldError::forbidden(format!("spec.{list}"), what));
            return wrong;
        }
    }
    if let Some((deadline, is_last)) = wrong_deadline(new, old) {
        wrong.push(deadline);
        if is_last {
            return wrong;
        }
    }
    wrong.extend(wrong_added_tolerations(new, old));
    wrong.extend(wrong_added_gates(new, old));
    if same(new.at("spec"), old.at("spec")) {
        return wrong;
    }
    let mut rest = new.clone();
    forget_changeable(&mut rest, old);
    if !old.list("spec.schedulingGates").is_empty() {
        wrong.extend(wrong_node_selector_change(new.at("spec.nodeSelector"), old.at("spec.nodeSelector")));
        let affinity = "spec.affinity.nodeAffinity";
        if !same(new.at(affinity), old.at(affinity)) {
            wrong.extend(wrong_node_affinity_change(new.at(affinity), old.at(affinity)));
        }
        forget_placement(&mut rest, old);
    }
    if !same(rest.at("spec"), old.at("spec")) {
        wrong.push(FieldError::forbidden("spec", format!("{CHANGEABLE}\n{}", changed_fields(&rest, old))));
    }
    wrong
}

/// Unlike Kubernetes: the message names the changed fields instead of a difference of Go structs.
fn changed_fields(new: &Object, old: &Object) -> String {
    let (new, old) = (new.at("spec"), old.at("spec"));
    let names: BTreeSet<&String> = [new, old].into_iter().filter_map(Value::as_object).flat_map(Tree::keys).collect();
    let changed = names.into_iter().filter(|name| !same(new.field_named(name), old.field_named(name)));
    changed.map(|name| format!("spec.{name}")).collect::<Vec<_>>().join(", ")
}

/// The errors of the new deadline, and whether Kubernetes ends the validation there.
fn wrong_deadline(new: &Object, old: &Object) -> Option<(FieldError, bool)> {
    const PATH: &str = "spec.activeDeadlineSeconds";
    let (new, old) = (new.int_if_set(PATH), old.int_if_set(PATH));
    let Some(new) = new else {
        let what = "must not update from a positive integer to nil value";
        return old.map(|_| (FieldError::invalid(PATH, Value::Null, what), false));
    };
    let out_of_range = names::in_range(new, 0, i64::from(i32::MAX)).into_iter().next();
    let raised = old.filter(|old| new > *old).map(|_| "must be less than or equal to previous value".to_owned());
    let what = out_of_range.or(raised)?;
    Some((FieldError::invalid(PATH, new, what), true))
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
    let kept: BTreeSet<_> = kept.iter().map(JsonKey).collect();
    if old.list(PATH).iter().any(|toleration| !kept.contains(&JsonKey(&without_seconds(toleration)))) {
        let what = "existing toleration can not be modified except its tolerationSeconds";
        return vec![FieldError::forbidden(PATH, what)];
    }
    wrong_tolerations(new.list(PATH), PATH)
}

fn wrong_added_gates(new: &Object, old: &Object) -> Wrong {
    const PATH: &str = "spec.schedulingGates";
    let before: BTreeSet<&str> = old.list(PATH).iter().map(|gate| gate.text("name")).collect();
    let is_old = |gate: &Value| before.contains(gate.text("name"));
    let added = new.list(PATH).iter().enumerate().filter(|(_, gate)| !is_old(gate));
    added
        .map(|(at, gate)| {
            let what = format!("only deletion is allowed, but found new scheduling gate '{}'", gate.text("name"));
            FieldError::forbidden(format!("{PATH}[{at}].name"), what)
        })
        .collect()
}

/// Restores the old values of mutable fields.
fn forget_changeable(new: &mut Object, old: &Object) {
    let old_spec = old.at("spec").clone();
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
    });
}

/// Restores the old values of the placement of a gated pod, whose change is validated separately.
fn forget_placement(new: &mut Object, old: &Object) {
    let old_spec = old.at("spec").clone();
    edit_spec(new, |spec| {
        put(spec, &old_spec, "nodeSelector");
        let before = old_spec.at("affinity").clone();
        if before.has("nodeAffinity") {
            spec.object_made("affinity");
        }
        if let Some(affinity) = spec.object_in("affinity") {
            put(affinity, &before, "nodeAffinity");
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

    #[test]
    fn a_gated_pod_may_be_narrowed_and_not_moved() {
        let gated = |spec: Value| {
            let mut spec = spec;
            spec["schedulingGates"] = json!([{"name": "a/b"}]);
            spec["containers"] = json!([{}]);
            pod(spec)
        };
        let old = gated(json!({"nodeSelector": {"a": "b"}}));
        assert!(wrong_change(&gated(json!({"nodeSelector": {"a": "b", "c": "d"}})), &old).is_empty());
        let wrong = wrong_change(&gated(json!({"nodeSelector": {"c": "d"}})), &old);
        assert_eq!(
            wrong[0].message(),
            "spec.nodeSelector: Invalid value: {\"c\":\"d\"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        );
        let with_term = |expressions: Value| {
            let terms = json!({"nodeSelectorTerms": [{"matchExpressions": expressions}]});
            gated(json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}))
        };
        let one = json!({"key": "a", "operator": "Exists"});
        let other = json!({"key": "b", "operator": "Exists"});
        assert!(wrong_change(&with_term(json!([one, other])), &with_term(json!([one]))).is_empty());
        let wrong = wrong_change(&with_term(json!([other])), &with_term(json!([one])));
        let path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]";
        assert_eq!((wrong.len(), wrong[0].field.as_str()), (1, path));
    }
}
