use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, GroupVersion, Object};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use crate::built_in::built_in;
use crate::field_checks::{Wrong, immutable_bytes, not_negative};

/// `controllerrevisions.apps`. In Kubernetes: `pkg/registry/apps/controllerrevision`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        validate: |object, _| not_negative(object, "revision", ""),
        validate_create: |object, _| match object.at("data") {
            Value::Object(_) => Wrong::new(),
            Value::Null => vec![FieldError::required("data", "data is mandatory")],
            _ => vec![FieldError::required("data", "data must be a valid JSON object")],
        },
        validate_change: |new, old, _| immutable_bytes(new, old, "data"),
        columns: columns(),
        ..built_in(release, "apps", "v1", "controllerrevisions")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text("Controller", "Controller of the object", |object| controller(object).into()),
        TableColumn::text("Revision", "revision indicates the revision of the state represented by Data.", |object| {
            object.int("revision").into()
        }),
        TableColumn::age(),
    ]
}

/// `statefulset.apps/web`, or `<none>`.
fn controller(object: &Object) -> String {
    let owners = object.owner_references();
    let Some(owner) = owners.iter().find(|owner| owner.controller == Some(true)) else { return "<none>".to_owned() };
    let group = GroupVersion::parse(&owner.api_version).unwrap_or_default().group;
    let kind = owner.kind.to_lowercase();
    if group.is_empty() { format!("{kind}/{}", owner.name) } else { format!("{kind}.{group}/{}", owner.name) }
}
