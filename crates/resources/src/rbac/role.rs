use coracle_meta::names;
use coracle_registry::KindSpec;
use coracle_release::Release;

use super::GROUP;
use super::policy_rules::wrong_rules;
use crate::built_in::built_in;

/// `roles`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        name: names::path_segment,
        validate: |object, _| wrong_rules(object, true),
        ..built_in(release, GROUP, "v1", "roles")
    }
}
