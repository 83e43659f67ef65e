use std::sync::Arc;

use coracle_meta::Object;
use coracle_meta::fields::{Fields, edit_at};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;

use super::GROUP;
use super::admin_access::AdminAccess;
use super::claim_spec::{drop_disabled, wrong_claim_spec};
use crate::built_in::built_in;
use crate::field_checks::{Wrong, annotations, immutable, labels};

/// `resourceclaimtemplates`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        prepare_create: |object, _, release| edit_at(object, "spec.spec", |spec| drop_disabled(spec, release)),
        prepare_update: |new, _, _, release| edit_at(new, "spec.spec", |spec| drop_disabled(spec, release)),
        validate: |object, release| wrong(object, release),
        validate_change: |new, old, _| immutable(new, old, "spec"),
        columns: columns(),
        hooks: Arc::new(AdminAccess { requests: "spec.spec.devices.requests" }),
        ..built_in(release, GROUP, "v1", "resourceclaimtemplates")
    }
}

/// In Kubernetes: `validateResourceClaimTemplateSpec`.
fn wrong(object: &Object, release: &Release) -> Wrong {
    let metadata = object.at("spec.metadata");
    let mut wrong = annotations(metadata.at("annotations"), "spec.metadata.annotations");
    wrong.extend(labels(metadata.at("labels"), "spec.metadata.labels"));
    wrong.extend(wrong_claim_spec(object.at("spec.spec"), "spec.spec", release));
    wrong
}

fn columns() -> Vec<TableColumn> {
    vec![TableColumn::name(), TableColumn::age()]
}
