//! The two kinds of webhook configurations, which differ in their names.

use coracle_meta::fields::Fields;
use coracle_registry::{Generation, KindSpec, TableColumn};

use super::GROUP;
use super::webhook::wrong_webhooks;
use crate::built_in::built_in;

/// `mutatingwebhookconfigurations`.
pub(crate) fn mutating() -> KindSpec {
    webhooks("mutatingwebhookconfigurations")
}

/// `validatingwebhookconfigurations`.
pub(crate) fn validating() -> KindSpec {
    webhooks("validatingwebhookconfigurations")
}

fn webhooks(plural: &str) -> KindSpec {
    KindSpec {
        generation: Generation::Fields(&["webhooks"]),
        validate: wrong_webhooks,
        columns: columns(),
        takes_any_finalizer: true,
        ..built_in(GROUP, "v1", plural)
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::integer(
            "Webhooks",
            "Webhooks indicates the number of webhooks registered in this configuration",
            |object| object.list("webhooks").len().into(),
        ),
        TableColumn::age(),
    ]
}
