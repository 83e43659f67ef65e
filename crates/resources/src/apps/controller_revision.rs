use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, GroupVersion, Object};
use serde_json::Value;

use crate::cells::age;
use crate::checks::{Wrong, immutable_bytes, not_negative};
use crate::columns;
use crate::rules::Rules;
use coracle_meta::fields::Fields;

/// `controllerrevisions.apps`. In Kubernetes: `pkg/registry/apps/controllerrevision`.
pub(crate) const CONTROLLER_REVISION: Rules = Rules {
    validate: |object| not_negative(object, "revision", ""),
    validate_create: |object| match object.at("data") {
        Value::Object(_) => Wrong::new(),
        Value::Null => vec![FieldError::required("data", "data is mandatory")],
        _ => vec![FieldError::required("data", "data must be a valid JSON object")],
    },
    validate_change: |new, old| immutable_bytes(new, old, "data"),
    columns: columns::CONTROLLER_REVISION,
    cells,
    ..Rules::of("apps", "v1", "controllerrevisions")
};

fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    vec![object.name().into(), controller(object).into(), object.int("revision").into(), age(object, now)]
}

/// `statefulset.apps/web`, or `<none>`.
fn controller(object: &Object) -> String {
    let owners = object.owner_references();
    let Some(owner) = owners.iter().find(|owner| owner.controller == Some(true)) else { return "<none>".to_owned() };
    let group = GroupVersion::parse(&owner.api_version).unwrap_or_default().group;
    let kind = owner.kind.to_lowercase();
    if group.is_empty() { format!("{kind}/{}", owner.name) } else { format!("{kind}.{group}/{}", owner.name) }
}
