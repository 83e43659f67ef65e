use coracle_meta::names;
use coracle_registry::KindSpec;

use super::GROUP;
use super::policy_rules::wrong_rules;
use crate::built_in::built_in;

/// `roles`.
pub(crate) fn kind() -> KindSpec {
    KindSpec {
        name: names::path_segment,
        validate: |object| wrong_rules(object, true),
        ..built_in(GROUP, "v1", "roles")
    }
}
