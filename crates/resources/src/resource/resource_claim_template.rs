use std::sync::Arc;

use coracle_meta::Object;
use coracle_meta::fields::{Fields, edit_at};
use coracle_registry::{KindSpec, TableColumn};

use super::GROUP;
use super::admin_access::AdminAccess;
use super::claim_spec::{drop_disabled, wrong_claim_spec};
use crate::built_in::built_in;
use crate::field_checks::{Wrong, annotations, immutable, labels};

/// `resourceclaimtemplates`.
pub(crate) fn kind() -> KindSpec {
    KindSpec {
        prepare_create: |object, _| edit_at(object, "spec.spec", drop_disabled),
        prepare_update: |new, _, _| edit_at(new, "spec.spec", drop_disabled),
        validate: wrong,
        validate_change: |new, old| immutable(new, old, "spec"),
        columns: columns(),
        hooks: Arc::new(AdminAccess { requests: "spec.spec.devices.requests" }),
        ..built_in(GROUP, "v1", "resourceclaimtemplates")
    }
}

/// In Kubernetes: `validateResourceClaimTemplateSpec`.
fn wrong(object: &Object) -> Wrong {
    let metadata = object.at("spec.metadata");
    let mut wrong = annotations(metadata.at("annotations"), "spec.metadata.annotations");
    wrong.extend(labels(metadata.at("labels"), "spec.metadata.labels"));
    wrong.extend(wrong_claim_spec(object.at("spec.spec"), "spec.spec"));
    wrong
}

fn columns() -> Vec<TableColumn> {
    vec![TableColumn::name(), TableColumn::age()]
}
