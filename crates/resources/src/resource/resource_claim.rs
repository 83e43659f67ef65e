use coracle_meta::Object;
use coracle_meta::fields::Fields;
use coracle_registry::{KindSpec, TableColumn};

use super::GROUP;
use crate::built_in::{SPEC_AND_METADATA, built_in};

/// `resourceclaims`.
pub(crate) fn kind() -> KindSpec {
    KindSpec { reset_by_status: SPEC_AND_METADATA, columns: columns(), ..built_in(GROUP, "v1", "resourceclaims") }
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
