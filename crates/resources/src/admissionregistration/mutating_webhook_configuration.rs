use coracle_registry::KindSpec;

use super::webhook::configuration;

/// `mutatingwebhookconfigurations`.
pub(crate) fn kind() -> KindSpec {
    configuration("mutatingwebhookconfigurations")
}
