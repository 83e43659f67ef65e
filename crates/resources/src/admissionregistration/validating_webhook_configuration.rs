use coracle_registry::KindSpec;

use super::webhook::configuration;

/// `validatingwebhookconfigurations`.
pub(crate) fn kind() -> KindSpec {
    configuration("validatingwebhookconfigurations")
}
