use std::sync::Arc;

use coracle_meta::Object;
use coracle_meta::fields::{Fields, edit_spec};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;

use super::GROUP;
use super::admin_access::AdminAccess;
use super::claim_spec::{drop_disabled, wrong_claim_spec};
use super::claim_status;
use crate::built_in::{SPEC_AND_METADATA, built_in};
use crate::field_checks::immutable;

/// `resourceclaims`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        prepare_create: |object, _, release| edit_spec(object, |spec| drop_disabled(spec, release)),
        prepare_update: |new, _, _, release| edit_spec(new, |spec| drop_disabled(spec, release)),
        validate_create: |object, release| wrong_claim_spec(object.at("spec"), "spec", release),
        validate_change: |new, old, _| immutable(new, old, "spec"),
        reset_by_status: SPEC_AND_METADATA,
        prepare_status: |new, old, _, release| claim_status::prepare(new, old, release),
        validate_status: |new, old, release| claim_status::wrong_status(new, old, release),
        columns: columns(),
        hooks: Arc::new(AdminAccess { requests: "spec.devices.requests" }),
        ..built_in(release, GROUP, "v1", "resourceclaims")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text("State", "A summary of the current state (allocated, pending, reserved, etc.).", |object| {
            state(object).into()
        }),
        TableColumn::age(),
    ]
}

fn state(object: &Object) -> String {
    let mut states = Vec::new();
    if object.is_terminating() {
        states.push("deleted");
    }
    match (object.has("status.allocation"), object.is_terminating()) {
        (false, false) => states.push("pending"),
        (false, true) => {}
        (true, _) => {
            states.push("allocated");
            if !object.list("status.reservedFor").is_empty() {
                states.push("reserved");
            }
        }
    }
    states.join(",")
}
