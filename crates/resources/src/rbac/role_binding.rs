use coracle_meta::names;
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;

use super::GROUP;
use super::bindings::{bound_role, set_defaults, subjects, wrong_binding, wrong_change};
use crate::built_in::built_in;

/// `rolebindings`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, _| set_defaults(object),
        name: names::path_segment,
        validate: |object, _| wrong_binding(object, &["Role", "ClusterRole"]),
        validate_change: wrong_change,
        columns: columns(),
        ..built_in(release, GROUP, "v1", "rolebindings")
    }
}

fn columns() -> Vec<TableColumn> {
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
