use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, JsonKey, Object};
use coracle_registry::KindSpec;
use coracle_release::Release;

use super::GROUP;
use super::binding_parts::{columns, wrong_references};
use super::match_rules::wrong_match;
use super::reserved_names;
use crate::built_in::built_in;
use crate::field_checks::Wrong;

/// `validatingadmissionpolicybindings`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        validate: |object, _| wrong(object),
        columns: columns(),
        takes_any_finalizer: true,
        validate_create: reserved_names::wrong_name,
        warnings: reserved_names::warnings,
        ..built_in(release, GROUP, "v1", "validatingadmissionpolicybindings")
    }
}

/// In Kubernetes: `validateValidatingAdmissionPolicyBindingSpec`.
fn wrong(object: &Object) -> Wrong {
    let spec = object.at("spec");
    let mut wrong = wrong_references(spec);
    let actions = spec.list("validationActions");
    if actions.is_empty() {
        let what = "at least one validation action is required";
        wrong.push(FieldError::required("spec.validationActions", what).declared());
    }
    let mut seen = BTreeSet::new();
    for (at, action) in actions.iter().enumerate() {
        let path = format!("spec.validationActions[{at}]");
        if !["Audit", "Deny", "Warn"].iter().any(|known| known == action) {
            wrong.push(FieldError::not_supported(&path, action.clone(), &["Audit", "Deny", "Warn"]));
        }
        if !seen.insert(JsonKey(action)) {
            wrong.push(FieldError::duplicate(path, action.clone()));
        }
    }
    let has = |action: &str| actions.iter().any(|own| own == action);
    if has("Deny") && has("Warn") {
        let what = "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
        wrong.push(FieldError::invalid("spec.validationActions", actions, what));
    }
    if spec.has("matchResources") {
        wrong.extend(wrong_match(spec.at("matchResources"), "spec.matchResources"));
    }
    wrong
}
