//! How much of a capacity of a device a request can take.

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Quantity};
use coracle_release::Release;
use serde_json::Value;

use super::bounded::wrong_set;
use crate::field_checks::Wrong;

const MOST_VALUES: usize = 10;

/// The errors of a capacity. Only a device that several claims can share has a policy.
/// In Kubernetes: `validateMultiAllocatableDeviceCapacity`, `validateSingleAllocatableDeviceCapacity`.
pub(super) fn wrong_capacity(capacity: &Value, is_shared: bool, path: &str, release: &Release) -> Wrong {
    let (policy, path) = (capacity.at("requestPolicy"), format!("{path}.requestPolicy"));
    if policy.is_null() {
        return Wrong::new();
    }
    if !is_shared {
        return vec![FieldError::forbidden(path, "allowMultipleAllocations must be true")];
    }
    let values = policy.list("validValues");
    let range = policy.at("validRange");
    let (field, what) = match (values.is_empty(), range.is_null()) {
        (false, false) => {
            let what = r#"exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time"#;
            return vec![FieldError::forbidden(path, what)];
        }
        (false, true) => ("validValues", "required when validValues is defined"),
        (true, false) => ("validRange", "required when validRange is defined"),
        (true, true) => return Wrong::new(),
    };
    let whole = quantity(capacity, "value").unwrap_or_default();
    match quantity(policy, "default") {
        None => vec![FieldError::required(format!("{path}.default"), what)],
        Some(default) if field == "validValues" => wrong_values(values, default, whole, &format!("{path}.{field}")),
        Some(default) => Range { range, default, whole, path: format!("{path}.{field}"), release }.wrong(),
    }
}

fn quantity(holder: &Value, field: &str) -> Option<Quantity> {
    parsed(holder.at(field))
}

fn parsed(value: &Value) -> Option<Quantity> {
    Quantity::parse(value.as_str()?).ok()
}

fn invalid(path: &str, value: Quantity, what: impl Into<String>) -> FieldError {
    FieldError::invalid(path, value.to_string(), what)
}

/// In Kubernetes: `validateRequestPolicyValidValues`.
fn wrong_values(values: &[Value], default: Quantity, whole: Quantity, path: &str) -> Wrong {
    let amounts: Vec<Quantity> = values.iter().filter_map(parsed).collect();
    let mut wrong = Wrong::new();
    for (at, pair) in amounts.windows(2).enumerate() {
        if pair[0] > pair[1] {
            let what = "values must be sorted in ascending order";
            wrong.push(invalid(&format!("{path}[{}]", at + 1), pair[1], what));
        }
    }
    let check = |value: &Value, path: &str| {
        let amount = parsed(value).unwrap_or_default();
        let what = || format!("option is larger than capacity value: {whole}");
        (amount > whole).then(|| invalid(path, amount, what())).into_iter().collect()
    };
    let key = |value: &Value| parsed(value).unwrap_or_default().value().to_string();
    wrong.extend(wrong_set(values, MOST_VALUES, path, check, key));
    if values.len() > MOST_VALUES || !amounts.contains(&default) {
        wrong.push(invalid(path, default, "default value is not valid according to the requestPolicy"));
    }
    wrong
}

/// A range of amounts, with the amount that a request takes by default and all that there is.
struct Range<'r> {
    range: &'r Value,
    default: Quantity,
    whole: Quantity,
    path: String,
    release: &'r Release,
}

impl Range<'_> {
    fn at(&self, field: &str) -> String {
        format!("{}.{field}", self.path)
    }

    /// Where an error of the default is reported.
    fn default_at(&self, bound: &str) -> String {
        if self.release.has("CapacityDefaultPath") { self.at("default") } else { self.at(bound) }
    }

    /// In Kubernetes: `validateRequestPolicyRange`.
    fn wrong(&self) -> Wrong {
        let (default, whole) = (self.default, self.whole);
        let Some(min) = quantity(self.range, "min") else {
            return vec![FieldError::required(self.at("min"), "required when validRange is defined")];
        };
        let mut wrong = Wrong::new();
        if min > whole {
            wrong.push(invalid(&self.at("min"), min, format!("min is larger than capacity value: {whole}")));
        }
        if default < min {
            wrong.push(invalid(&self.default_at("min"), default, format!("default is less than min: {min}")));
        }
        let max = quantity(self.range, "max");
        if let Some(max) = max {
            if min > max {
                wrong.push(invalid(&self.at("max"), min, format!("min is larger than max: {max}")));
            }
            if max > whole {
                wrong.push(invalid(&self.at("max"), max, format!("max is larger than capacity value: {whole}")));
            }
            if default > max {
                wrong.push(invalid(&self.default_at("max"), default, format!("default is more than max: {max}")));
            }
        }
        if let Some(step) = quantity(self.range, "step") {
            wrong.extend(self.wrong_step(step, min, max));
        }
        wrong
    }

    fn wrong_step(&self, step: Quantity, min: Quantity, max: Option<Quantity>) -> Wrong {
        let path = self.at("step");
        if self.release.has("CapacityStepAboveZero") && step <= Quantity::default() {
            return vec![invalid(&path, step, "must be greater than zero")];
        }
        let mut wrong = Wrong::new();
        let first = min + step;
        if first > self.whole {
            let what = format!("one step {first} is larger than capacity value: {}", self.whole);
            wrong.push(invalid(&path, step, what));
        }
        for value in [Some(self.default), max].into_iter().flatten() {
            let distance = value.value().wrapping_sub(min.value());
            if distance.checked_rem(step.value()).is_none_or(|rest| rest != 0) {
                let what = format!("value is not a multiple of a given step ({step}) from ({min})");
                wrong.push(invalid(&path, value, what));
            }
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(policy: &Value) -> Vec<String> {
        let capacity = json!({"value": "8Gi", "requestPolicy": policy});
        wrong_capacity(&capacity, true, "c", &Release::newest()).iter().map(FieldError::message).collect()
    }

    #[test]
    fn only_a_shared_device_has_a_policy() {
        let capacity = json!({"value": "1", "requestPolicy": {}});
        let wrong = wrong_capacity(&capacity, false, "c", &Release::newest());
        let said: Vec<String> = wrong.iter().map(FieldError::message).collect();
        assert_eq!(said, ["c.requestPolicy: Forbidden: allowMultipleAllocations must be true"]);
        assert_eq!(wrong_capacity(&capacity, true, "c", &Release::newest()), []);
    }

    #[test]
    fn the_default_is_one_of_the_values() {
        assert_eq!(said(&json!({"default": "1Gi", "validValues": ["1Gi", "2Gi"]})), [""; 0]);
        assert_eq!(
            said(&json!({"default": "3Gi", "validValues": ["2Gi", "1Gi", "9Gi"]})),
            [
                "c.requestPolicy.validValues[1]: Invalid value: \"1Gi\": values must be sorted in ascending order",
                "c.requestPolicy.validValues[2]: Invalid value: \"9Gi\": option is larger than capacity value: 8Gi",
                "c.requestPolicy.validValues: Invalid value: \"3Gi\": default value is not valid according to the \
                 requestPolicy",
            ]
        );
        let what = "c.requestPolicy.default: Required value: required when validValues is defined";
        assert_eq!(said(&json!({"validValues": ["1Gi"]})), [what]);
    }

    #[test]
    fn the_default_lies_on_a_step_of_the_range() {
        let policy = |default: &str, step: &str| json!({"default": default, "validRange": {"min": "1Gi", "max": "4Gi", "step": step}});
        assert_eq!(said(&policy("2Gi", "1Gi")), [""; 0]);
        assert_eq!(
            said(&policy("1536Mi", "1Gi")),
            [
                "c.requestPolicy.validRange.step: Invalid value: \"1536Mi\": value is not a multiple of a given step (1Gi) \
              from (1Gi)"
            ]
        );
        let what = "c.requestPolicy.validRange.step: Invalid value: \"0\": must be greater than zero";
        assert_eq!(said(&policy("2Gi", "0")), [what]);
        let what = "c.requestPolicy.validRange.default: Invalid value: \"5Gi\": default is more than max: 4Gi";
        assert_eq!(said(&policy("5Gi", "1Gi")), [what]);
    }
}
