//! Taints of devices, and what tolerates them.

use coracle_ambient::Timestamp;
use coracle_meta::fields::{Fields, Tree};
use coracle_meta::{FieldError, format_time, names};
use serde_json::Value;

use crate::field_checks::{Wrong, each_invalid};

/// The maximum number of taints of a device.
pub(super) const MOST_TAINTS: usize = 16;
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

/// The errors of the tolerations of a request. In Kubernetes: `validateDeviceToleration`.
pub(super) fn wrong_tolerations(tolerations: &[Value], path: &str) -> Wrong {
    let tolerations = tolerations.iter().enumerate();
    tolerations
        .flat_map(|(at, toleration)| wrong_toleration(toleration, &format!("{path}.tolerations[{at}]")))
        .collect()
}

fn wrong_toleration(toleration: &Value, path: &str) -> Wrong {
    let (key, value, effect) = (toleration.text("key"), toleration.text("value"), toleration.text("effect"));
    let mut wrong = Wrong::new();
    if !key.is_empty() {
        wrong.extend(each_invalid(&format!("{path}.key"), key, names::qualified_name(key)));
    }
    let (operator_path, value_path) = (format!("{path}.operator"), format!("{path}.value"));
    match toleration.text("operator") {
        "Exists" if !value.is_empty() => {
            wrong.push(FieldError::invalid(value_path, value, "must be empty for operator `Exists`"));
        }
        "Exists" => {}
        "Equal" => wrong.extend(each_invalid(&value_path, value, names::label_value(value))),
        "" => wrong.push(FieldError::required(operator_path, "")),
        other => wrong.push(FieldError::not_supported(operator_path, other, &["Equal", "Exists"])),
    }
    if !effect.is_empty() && !EFFECTS.contains(&effect) {
        wrong.push(FieldError::not_supported(format!("{path}.effect"), effect, &EFFECTS));
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

    #[test]
    fn a_toleration_has_a_value_only_where_it_compares() {
        let said = |toleration: Value| said(&wrong_toleration(&toleration, "t"));
        assert_eq!(said(json!({"operator": "Equal", "value": "v"})), [""; 0]);
        let what = "t.value: Invalid value: \"v\": must be empty for operator `Exists`";
        assert_eq!(said(json!({"operator": "Exists", "value": "v"})), [what]);
        assert_eq!(said(json!({})), ["t.operator: Required value"]);
        let what = "t.operator: Unsupported value: \"Near\": supported values: \"Equal\", \"Exists\"";
        assert_eq!(said(json!({"operator": "Near"})), [what]);
    }
}
