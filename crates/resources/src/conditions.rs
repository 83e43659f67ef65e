//! Conditions of an object's status. In Kubernetes: `metav1validation.ValidateConditions`.

use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use coracle_release::Release;
use serde_json::Value;

use crate::field_checks::{Wrong, each_invalid};

const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
const LONGEST_REASON: usize = 1 << 10;
const LONGEST_MESSAGE: usize = 32 << 10;

/// The errors of a list of conditions.
pub(crate) fn wrong_conditions(conditions: &[Value], path: &str, release: &Release) -> Wrong {
    let mut wrong = Wrong::new();
    let mut seen = BTreeSet::new();
    for (at, condition) in conditions.iter().enumerate() {
        let path = format!("{path}[{at}]");
        let kind = condition.text("type");
        if !seen.insert(kind) {
            let path = if release.has(BY_FIELD) { path.clone() } else { format!("{path}.type") };
            wrong.push(FieldError::duplicate(path, kind));
        }
        wrong.extend(wrong_condition(condition, &path, release));
    }
    wrong
}

/// The behaviour in which an empty type or status is a missing value.
const BY_FIELD: &str = "ConditionErrorsByField";

fn wrong_condition(condition: &Value, path: &str, release: &Release) -> Wrong {
    let at = |field: &str| format!("{path}.{field}");
    let kind = condition.text("type");
    let mut wrong = match kind {
        "" if release.has(BY_FIELD) => vec![FieldError::required(at("type"), "is required")],
        kind => each_invalid(&at("type"), kind, names::qualified_name(kind)),
    };
    let status = condition.text("status");
    if status.is_empty() && release.has(BY_FIELD) {
        wrong.push(FieldError::required(at("status"), ""));
    } else if !STATUSES.contains(&status) {
        wrong.push(FieldError::not_supported(at("status"), status, &STATUSES));
    }
    let seen = condition.int("observedGeneration");
    if seen < 0 {
        wrong.push(FieldError::invalid(at("observedGeneration"), seen, "must be greater than or equal to zero"));
    }
    if condition.text("lastTransitionTime").is_empty() {
        wrong.push(FieldError::required(at("lastTransitionTime"), ""));
    }
    let reason = condition.text("reason");
    if reason.is_empty() {
        wrong.push(FieldError::required(at("reason"), ""));
    } else {
        wrong.extend(each_invalid(&at("reason"), reason, wrong_reason(reason)));
        if reason.len() > LONGEST_REASON {
            wrong.push(FieldError::too_long(at("reason"), LONGEST_REASON));
        }
    }
    if condition.text("message").len() > LONGEST_MESSAGE {
        wrong.push(FieldError::too_long(at("message"), LONGEST_MESSAGE));
    }
    wrong
}

fn wrong_reason(reason: &str) -> Vec<String> {
    let is_word = |sign: u8| sign.is_ascii_alphanumeric() || sign == b'_';
    let bytes = reason.as_bytes();
    let begins = bytes.first().is_some_and(u8::is_ascii_alphabetic);
    let ends = bytes.last().is_some_and(|sign| is_word(*sign) && (bytes.len() > 1 || *sign != b'_'));
    if begins && ends && bytes.iter().all(|sign| is_word(*sign) || b",:".contains(sign)) {
        return Vec::new();
    }
    vec![names::pattern_sentence(
        "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
        "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?",
        &["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"],
    )]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_condition_says_what_since_when_and_why() {
        let good = json!({"type": "a.io/Ready", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z",
            "reason": "A,B:c_"});
        assert_eq!(wrong_conditions(std::slice::from_ref(&good), "c", &Release::named("1.35").unwrap()), []);
        let said: Vec<String> = wrong_conditions(
            &[good, json!({"type": "a.io/Ready", "status": "Maybe", "observedGeneration": -1})],
            "c",
            &Release::named("1.35").unwrap(),
        )
        .iter()
        .map(FieldError::message)
        .collect();
        assert_eq!(
            said,
            [
                "c[1].type: Duplicate value: \"a.io/Ready\"",
                "c[1].status: Unsupported value: \"Maybe\": supported values: \"False\", \"True\", \"Unknown\"",
                "c[1].observedGeneration: Invalid value: -1: must be greater than or equal to zero",
                "c[1].lastTransitionTime: Required value",
                "c[1].reason: Required value",
            ]
        );
        for reason in ["1a", "a,", "_"] {
            assert_eq!(wrong_reason(reason).len(), 1, "{reason}");
        }
    }
}
