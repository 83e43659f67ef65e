//! `rbac.authorization.k8s.io/v1`. Who may write roles that allow more than the writer may do is `auth`'s to say.

use coracle_ambient::Timestamp;
use coracle_meta::{Object, names};
use serde_json::Value;

use crate::cells::age;
use crate::columns;
use crate::rules::Rules;
use coracle_meta::fields::{Fields, FieldsMut, edit_at};

const GROUP: &str = "rbac.authorization.k8s.io";

/// `roles`.
pub(crate) const ROLE: Rules = Rules { name: names::path_segment, ..Rules::of(GROUP, "v1", "roles") };

/// `clusterroles`.
pub(crate) const CLUSTER_ROLE: Rules = Rules { name: names::path_segment, ..Rules::of(GROUP, "v1", "clusterroles") };

/// `rolebindings`.
pub(crate) const ROLE_BINDING: Rules = Rules {
    set_defaults,
    name: names::path_segment,
    columns: columns::ROLE_BINDING,
    cells,
    ..Rules::of(GROUP, "v1", "rolebindings")
};

/// `clusterrolebindings`.
pub(crate) const CLUSTER_ROLE_BINDING: Rules = Rules {
    set_defaults,
    name: names::path_segment,
    columns: columns::CLUSTER_ROLE_BINDING,
    cells,
    ..Rules::of(GROUP, "v1", "clusterrolebindings")
};

fn set_defaults(object: &mut Object) {
    edit_at(object, "roleRef", |role| role.fill_text("apiGroup", GROUP));
}

fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let role = format!("{}/{}", object.text(&["roleRef", "kind"]), object.text(&["roleRef", "name"]));
    let subjects = |kind: &str| -> Value {
        let of_kind = object.list("subjects").iter().filter(|subject| subject.text("kind") == kind);
        let names: Vec<String> = of_kind
            .map(|subject| match subject.text("namespace") {
                namespace if kind == "ServiceAccount" && !namespace.is_empty() => {
                    format!("{namespace}/{}", subject.text("name"))
                }
                _ => subject.text("name").to_owned(),
            })
            .collect();
        names.join(", ").into()
    };
    vec![
        object.name().into(),
        role.into(),
        age(object, now),
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    ]
}
