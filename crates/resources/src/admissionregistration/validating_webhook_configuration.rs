use coracle_registry::KindSpec;
use coracle_release::Release;

use super::webhook::configuration;

/// `validatingwebhookconfigurations`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    configuration(release, "validatingwebhookconfigurations")
}
