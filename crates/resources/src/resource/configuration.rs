//! The configuration of drivers: opaque parameters.

use coracle_meta::FieldError;
use coracle_meta::fields::Fields;
use serde_json::Value;

use crate::field_checks::Wrong;
use crate::storage::csi_driver::wrong_driver_name;

/// The maximum number of configurations of a class or a claim.
pub(super) const MOST_CONFIGURATIONS: usize = 32;
const LONGEST_PARAMETERS: usize = 10 << 10;

/// Whether a validated value is already stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// The value is new.
    New,
    /// The value is unchanged; limits of later versions do not apply to it.
    Stored,
}

/// In Kubernetes: `validateDeviceConfiguration`.
pub(super) fn wrong_configuration(configuration: &Value, path: &str, standing: Standing) -> Wrong {
    let path = format!("{path}.opaque");
    let opaque = configuration.at("opaque");
    if opaque.is_null() {
        return vec![FieldError::required(path, "")];
    }
    let mut wrong = wrong_driver_name(opaque.text("driver"), &format!("{path}.driver"));
    let longest = (standing == Standing::New).then_some(LONGEST_PARAMETERS);
    wrong.extend(wrong_foreign(opaque.at("parameters"), &format!("{path}.parameters"), longest));
    wrong
}

/// The errors of an opaque object. In Kubernetes: `validateRawExtension`.
pub(super) fn wrong_foreign(value: &Value, path: &str, longest: Option<usize>) -> Wrong {
    match longest {
        _ if value.is_null() => vec![FieldError::required(path, "")],
        Some(longest) if value.to_string().len() > longest => vec![FieldError::too_long(path, longest)],
        _ if value.is_object() => Wrong::new(),
        _ => vec![FieldError::invalid(path, "<value omitted>", "must be a valid JSON object")],
    }
}
