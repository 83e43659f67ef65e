//! The common parts of the two kinds of bindings.

use coracle_meta::fields::{Fields, FieldsMut, edit_at};
use coracle_meta::{FieldError, Object, names};
use coracle_release::Release;
use serde_json::Value;

use super::GROUP;
use crate::field_checks::{IMMUTABLE, Wrong, each_invalid, required, same};

pub(super) fn set_defaults(object: &mut Object) {
    edit_at(object, "roleRef", |role| role.fill_text("apiGroup", GROUP));
}

pub(super) fn bound_role(object: &Object) -> String {
    format!("{}/{}", object.text("roleRef.kind"), object.text("roleRef.name"))
}

/// The names of the subjects of a kind.
pub(super) fn subjects(object: &Object, kind: &str) -> String {
    let of_kind = object.list("subjects").iter().filter(|subject| subject.text("kind") == kind);
    let names = of_kind.map(|subject| match subject.text("namespace") {
        namespace if kind == "ServiceAccount" && !namespace.is_empty() => {
            format!("{namespace}/{}", subject.text("name"))
        }
        _ => subject.text("name").to_owned(),
    });
    names.collect::<Vec<_>>().join(", ")
}

/// In Kubernetes: `ValidateRoleBinding`.
pub(super) fn wrong_binding(object: &Object, kinds: &[&str]) -> Wrong {
    let role = object.at("roleRef");
    let mut wrong = Wrong::new();
    if role.text("apiGroup") != GROUP {
        wrong.push(FieldError::not_supported("roleRef.apiGroup", role.text("apiGroup"), &[GROUP]));
    }
    if !kinds.contains(&role.text("kind")) {
        wrong.push(FieldError::not_supported("roleRef.kind", role.text("kind"), kinds));
    }
    let name = role.text("name");
    wrong.extend(required(role, "name", "roleRef"));
    wrong.extend(each_invalid("roleRef.name", name, names::path_segment(name)));
    let is_namespaced = kinds.len() > 1;
    for (at, subject) in object.list("subjects").iter().enumerate() {
        wrong.extend(wrong_subject(subject, &format!("subjects[{at}]"), is_namespaced));
    }
    wrong
}

fn wrong_subject(subject: &Value, path: &str, is_namespaced: bool) -> Wrong {
    let mut wrong = required(subject, "name", path);
    let (name, group) = (subject.text("name"), subject.text("apiGroup"));
    let group_path = format!("{path}.apiGroup");
    match subject.text("kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                wrong.extend(each_invalid(&format!("{path}.name"), name, names::dns1123_subdomain(name)));
            }
            if !group.is_empty() {
                wrong.push(FieldError::not_supported(group_path, group, &[""]));
            }
            if !is_namespaced {
                wrong.extend(required(subject, "namespace", path));
            }
        }
        "User" | "Group" if group == GROUP => {}
        "User" | "Group" => wrong.push(FieldError::not_supported(group_path, group, &[GROUP])),
        other => {
            let known = ["ServiceAccount", "User", "Group"];
            wrong.push(FieldError::not_supported(format!("{path}.kind"), other, &known));
        }
    }
    wrong
}

/// The subjects of a binding are mutable, its role is not.
pub(super) fn wrong_change(new: &Object, old: &Object, release: &Release) -> Wrong {
    let (new, old) = (new.at("roleRef"), old.at("roleRef"));
    if same(new, old) {
        return Wrong::new();
    }
    // As Go prints it.
    let [group, kind, name] = ["apiGroup", "kind", "name"].map(|field| Value::from(new.text(field)));
    let printed = format!(r#"{{"APIGroup":{group},"Kind":{kind},"Name":{name}}}"#);
    let what = if release.has("ImmutableFieldsOneByOne") { IMMUTABLE } else { "cannot change roleRef" };
    vec![FieldError::invalid("roleRef", new.clone(), what).printed_as(printed)]
}
