use coracle_registry::KindSpec;
use coracle_release::Release;

use super::webhook::configuration;

/// `mutatingwebhookconfigurations`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    configuration(release, "mutatingwebhookconfigurations")
}
