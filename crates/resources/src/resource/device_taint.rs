//! Taints of devices.

use coracle_ambient::Timestamp;
use coracle_meta::fields::{Fields, Tree};
use coracle_meta::{FieldError, format_time, names};
use serde_json::Value;

use crate::field_checks::{Wrong, each_invalid};

const EFFECTS: [&str; 3] = ["NoExecute", "NoSchedule", "None"];

/// Sets the time of a taint. In Kubernetes: `SetDefaults_DeviceTaint`.
pub(super) fn set_time(taint: &mut Tree, now: Timestamp) {
    if !taint.has("timeAdded") {
        taint.insert("timeAdded".to_owned(), format_time(now).into());
    }
}

/// The errors of a taint; an effect that the taint already has is valid. In Kubernetes: `validateDeviceTaint`.
pub(super) fn wrong_taint(taint: &Value, old: Option<&Value>, path: &str) -> Wrong {
    let (key, value, effect) = (taint.text("key"), taint.text("value"), taint.text("effect"));
    let mut wrong = each_invalid(&format!("{path}.key"), key, names::qualified_name(key));
    if !value.is_empty() {
        wrong.extend(each_invalid(&format!("{path}.value"), value, names::label_value(value)));
    }
    if old.is_none_or(|old| old.text("effect") != effect) {
        let path = format!("{path}.effect");
        if effect.is_empty() {
            wrong.push(FieldError::required(path, ""));
        } else if !EFFECTS.contains(&effect) {
            wrong.push(FieldError::not_supported(path, effect, &EFFECTS));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(wrong: &[FieldError]) -> Vec<String> {
        wrong.iter().map(FieldError::message).collect()
    }

    #[test]
    fn a_taint_has_a_known_effect_or_the_one_that_it_had() {
        let odd = json!({"key": "a.io/b", "effect": "Never"});
        let supported = "supported values: \"NoExecute\", \"NoSchedule\", \"None\"";
        assert_eq!(
            said(&wrong_taint(&odd, None, "t")),
            [format!("t.effect: Unsupported value: \"Never\": {supported}")]
        );
        assert_eq!(wrong_taint(&odd, Some(&odd), "t"), []);
        assert_eq!(said(&wrong_taint(&json!({"key": "k"}), None, "t")), ["t.effect: Required value"]);
    }
}
