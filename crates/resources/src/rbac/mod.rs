//! `rbac.authorization.k8s.io/v1`. Who may write roles that allow more than the writer may do is `auth`'s to say.

use coracle_meta::fields::{Fields, FieldsMut, edit_at};
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{KindSpec, TableColumn};
use serde_json::Value;

use crate::built_in::built_in;
use crate::checks::{Wrong, each_invalid, label_selector, required, same};

const GROUP: &str = "rbac.authorization.k8s.io";

/// `roles`.
pub(crate) fn role() -> KindSpec {
    KindSpec {
        name: names::path_segment,
        validate: |object| wrong_rules(object, true),
        ..built_in(GROUP, "v1", "roles")
    }
}

/// `clusterroles`.
pub(crate) fn cluster_role() -> KindSpec {
    KindSpec {
        name: names::path_segment,
        validate: |object| {
            let mut wrong = wrong_rules(object, false);
            wrong.extend(wrong_aggregation(object.at("aggregationRule")));
            wrong
        },
        ..built_in(GROUP, "v1", "clusterroles")
    }
}

/// `rolebindings`.
pub(crate) fn role_binding() -> KindSpec {
    KindSpec {
        set_defaults,
        name: names::path_segment,
        validate: |object| wrong_binding(object, &["Role", "ClusterRole"]),
        validate_change: wrong_change,
        columns: binding_columns(),
        ..built_in(GROUP, "v1", "rolebindings")
    }
}

/// `clusterrolebindings`.
pub(crate) fn cluster_role_binding() -> KindSpec {
    KindSpec {
        set_defaults,
        name: names::path_segment,
        validate: |object| wrong_binding(object, &["ClusterRole"]),
        validate_change: wrong_change,
        columns: cluster_binding_columns(),
        ..built_in(GROUP, "v1", "clusterrolebindings")
    }
}

fn cluster_binding_columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Role",
            "RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.",
            |object| bound_role(object).into(),
        ),
        TableColumn::age(),
        TableColumn::text("Users", "Users in the clusterRoleBinding", |object| subjects(object, "User").into()).wide(),
        TableColumn::text("Groups", "Groups in the clusterRoleBinding", |object| subjects(object, "Group").into())
            .wide(),
        TableColumn::text("ServiceAccounts", "ServiceAccounts in the clusterRoleBinding", |object| {
            subjects(object, "ServiceAccount").into()
        })
        .wide(),
    ]
}

fn set_defaults(object: &mut Object) {
    edit_at(object, "roleRef", |role| role.fill_text("apiGroup", GROUP));
}

fn binding_columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Role",
            "RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.",
            |object| bound_role(object).into(),
        ),
        TableColumn::age(),
        TableColumn::text("Users", "Users in the roleBinding", |object| subjects(object, "User").into()).wide(),
        TableColumn::text("Groups", "Groups in the roleBinding", |object| subjects(object, "Group").into()).wide(),
        TableColumn::text("ServiceAccounts", "ServiceAccounts in the roleBinding", |object| {
            subjects(object, "ServiceAccount").into()
        })
        .wide(),
    ]
}

fn bound_role(object: &Object) -> String {
    format!("{}/{}", object.text(&["roleRef", "kind"]), object.text(&["roleRef", "name"]))
}

/// The subjects of a kind, by name.
fn subjects(object: &Object, kind: &str) -> String {
    let of_kind = object.list("subjects").iter().filter(|subject| subject.text("kind") == kind);
    let names = of_kind.map(|subject| match subject.text("namespace") {
        namespace if kind == "ServiceAccount" && !namespace.is_empty() => {
            format!("{namespace}/{}", subject.text("name"))
        }
        _ => subject.text("name").to_owned(),
    });
    names.collect::<Vec<_>>().join(", ")
}

/// In Kubernetes: `ValidatePolicyRule`.
fn wrong_rules(object: &Object, is_namespaced: bool) -> Wrong {
    let mut wrong = Wrong::new();
    for (at, rule) in object.list("rules").iter().enumerate() {
        let path = |field: &str| format!("rules[{at}].{field}");
        let has = |field: &str| !rule.list(field).is_empty();
        if !has("verbs") {
            wrong.push(FieldError::required(path("verbs"), "verbs must contain at least one value"));
        }
        if has("nonResourceURLs") {
            let mut refuse = |what: &str| {
                let urls = rule.at("nonResourceURLs").clone();
                wrong.push(FieldError::invalid(path("nonResourceURLs"), urls, what));
            };
            if is_namespaced {
                refuse("namespaced rules cannot apply to non-resource URLs");
            }
            if has("apiGroups") || has("resources") || has("resourceNames") {
                refuse("rules cannot apply to both regular resources and non-resource URLs");
            }
            continue;
        }
        if !has("apiGroups") {
            let what = "resource rules must supply at least one api group";
            wrong.push(FieldError::required(path("apiGroups"), what));
        }
        if !has("resources") {
            let what = "resource rules must supply at least one resource";
            wrong.push(FieldError::required(path("resources"), what));
        }
    }
    wrong
}

fn wrong_aggregation(rule: &Value) -> Wrong {
    const PATH: &str = "aggregationRule.clusterRoleSelectors";
    let selectors = rule.list("clusterRoleSelectors");
    if !rule.is_null() && selectors.is_empty() {
        let what = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        return vec![FieldError::required(PATH, what)];
    }
    let selectors = selectors.iter().enumerate();
    selectors.flat_map(|(at, selector)| label_selector(selector, &format!("{PATH}[{at}]"))).collect()
}

/// In Kubernetes: `ValidateRoleBinding`.
fn wrong_binding(object: &Object, kinds: &[&str]) -> Wrong {
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

/// Who has a role may change, the role of a binding may not.
fn wrong_change(new: &Object, old: &Object) -> Wrong {
    let (new, old) = (new.at("roleRef"), old.at("roleRef"));
    if same(new, old) {
        return Wrong::new();
    }
    // As Go prints it.
    let [group, kind, name] = ["apiGroup", "kind", "name"].map(|field| Value::from(new.text(field)));
    let printed = format!(r#"{{"APIGroup":{group},"Kind":{kind},"Name":{name}}}"#);
    vec![FieldError::invalid("roleRef", new.clone(), "cannot change roleRef").printed_as(printed)]
}
