use coracle_ambient::Timestamp;
use coracle_meta::{GroupVersion, Object};
use serde_json::Value;

use crate::cells::age;
use crate::columns;
use crate::rules::Rules;
use coracle_meta::fields::Fields;

/// `controllerrevisions.apps`. In Kubernetes: `pkg/registry/apps/controllerrevision`.
pub(crate) const CONTROLLER_REVISION: Rules =
    Rules { columns: columns::CONTROLLER_REVISION, cells, ..Rules::of("apps", "v1", "controllerrevisions") };

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
