//! The selectors of a review, and their errors.

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, FieldRequirement, FieldSelector, LabelSelector, names};
use serde_json::Value;

/// The usable part of a selector, and whether it is complete. An incomplete selector makes the review wider, so it
/// never allows more.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RequestedSelector<T> {
    pub(super) selector: T,
    left_out: LeftOut,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum LeftOut {
    #[default]
    Nothing,
    Something,
    Everything,
}

impl<T> RequestedSelector<T> {
    /// The evaluation error of the selector. In Kubernetes: `BuildEvaluationError`.
    pub(super) fn complaint(&self, name: &str) -> Option<String> {
        let how = match self.left_out {
            LeftOut::Nothing => return None,
            LeftOut::Something => "partially ignored",
            LeftOut::Everything => "ignored",
        };
        Some(format!("spec.resourceAttributes.{name} {how} due to parse error"))
    }
}

impl LeftOut {
    fn of(asked: usize, given: usize) -> Self {
        match asked {
            _ if asked == given => Self::Nothing,
            0 => Self::Everything,
            _ => Self::Something,
        }
    }
}

/// In Kubernetes: `ResourceAttributesFrom` and `fieldSelectorAsSelector`: one value that is required or excluded.
pub(super) fn fields(selector: &Value) -> RequestedSelector<FieldSelector> {
    let raw = selector.text("rawSelector");
    if !raw.is_empty() {
        return parsed(FieldSelector::parse(raw).ok());
    }
    let given = selector.list("requirements");
    let one = |requirement: &Value| {
        let equal = match requirement.text("operator") {
            "In" => true,
            "NotIn" => false,
            _ => return None,
        };
        let [value] = requirement.list("values") else { return None };
        Some(FieldRequirement { field: requirement.text("key").to_owned(), equal, value: value.as_str()?.to_owned() })
    };
    let requirements: Vec<_> = given.iter().filter_map(one).collect();
    RequestedSelector {
        left_out: LeftOut::of(requirements.len(), given.len()),
        selector: FieldSelector { requirements },
    }
}

/// In Kubernetes: `labelSelectorAsSelector`.
pub(super) fn labels(selector: &Value) -> RequestedSelector<LabelSelector> {
    let raw = selector.text("rawSelector");
    if !raw.is_empty() {
        return parsed(LabelSelector::parse(raw).ok());
    }
    let given = selector.list("requirements");
    let one = |requirement: &Value| {
        let values = requirement.list("values").iter().filter_map(|value| value.as_str().map(str::to_owned)).collect();
        let part = (requirement.text("key").to_owned(), requirement.text("operator").to_owned(), values);
        LabelSelector::of_parts(std::iter::empty(), std::iter::once(part)).ok()
    };
    let requirements: Vec<_> = given.iter().filter_map(one).flat_map(|selector| selector.requirements).collect();
    let left_out = LeftOut::of(requirements.len(), given.len());
    RequestedSelector { left_out, selector: LabelSelector { requirements, nothing: false } }
}

fn parsed<T: Default>(selector: Option<T>) -> RequestedSelector<T> {
    match selector {
        Some(selector) => RequestedSelector { selector, left_out: LeftOut::Nothing },
        None => RequestedSelector { selector: T::default(), left_out: LeftOut::Everything },
    }
}

/// The type of keys in a selector.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    Fields,
    Labels,
}

/// In Kubernetes: `validateFieldSelectorAttributes`, `validateLabelSelectorAttributes`. Unknown operators are accepted,
/// because newer clients may use them.
pub(super) fn check(selector: &Value, at: &str, keys: Keys) -> Vec<FieldError> {
    if !selector.is_object() {
        return Vec::new();
    }
    let mut errors = Vec::new();
    let (raw, requirements) = (selector.text("rawSelector"), selector.list("requirements"));
    match (raw.is_empty(), requirements.is_empty()) {
        (false, false) => {
            let detail = "may not specified at the same time as requirements";
            errors.push(FieldError::invalid(format!("{at}.rawSelector"), raw, detail));
        }
        (true, true) => {
            let detail = format!("when {at} is specified, requirements or rawSelector is required");
            errors.push(FieldError::required(format!("{at}.requirements"), detail));
        }
        _ => {}
    }
    for (index, requirement) in requirements.iter().enumerate() {
        errors.extend(check_requirement(requirement, &format!("{at}.requirements[{index}]"), keys));
    }
    errors
}

fn check_requirement(requirement: &Value, at: &str, keys: Keys) -> Vec<FieldError> {
    let (key, values) = (requirement.text("key"), requirement.list("values"));
    let mut errors = Vec::new();
    if keys == Keys::Fields && key.is_empty() {
        errors.push(FieldError::required(format!("{at}.key"), "must be specified"));
    }
    match (requirement.text("operator"), values.is_empty()) {
        ("In" | "NotIn", true) => {
            let detail = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.push(FieldError::required(format!("{at}.values"), detail));
        }
        ("Exists" | "DoesNotExist", false) => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(FieldError::forbidden(format!("{at}.values"), detail));
        }
        _ => {}
    }
    if keys == Keys::Labels {
        let wrong = names::qualified_name(key).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(format!("{at}.key"), key, why)));
        for (index, value) in values.iter().filter_map(Value::as_str).enumerate() {
            let wrong = names::label_value(value).into_iter();
            errors.extend(wrong.map(|why| FieldError::invalid(format!("{at}.values[{index}]"), value, why)));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn inexpressible_requirements_are_dropped_and_reported() {
        let two = json!({"requirements": [
            {"key": "a", "operator": "In", "values": ["b"]}, {"key": "c", "operator": "Exists"}
        ]});
        let asked = fields(&two);
        assert_eq!(asked.selector.exact("a"), Some("b"));
        let complaint = "spec.resourceAttributes.fieldSelector partially ignored due to parse error";
        assert_eq!(asked.complaint("fieldSelector").as_deref(), Some(complaint));
        let asked = labels(&two);
        assert_eq!((asked.selector.requirements.len(), asked.complaint("labelSelector")), (2, None));
        let asked = labels(&json!({"requirements": [{"key": "a", "operator": "Newer"}]}));
        assert!(asked.selector.is_everything());
        let complaint = "spec.resourceAttributes.labelSelector ignored due to parse error";
        assert_eq!(asked.complaint("labelSelector").as_deref(), Some(complaint));
    }

    #[test]
    fn a_raw_selector_is_read_whole_or_not_at_all() {
        let asked = fields(&json!({"rawSelector": "a=b,c!=d"}));
        assert_eq!((asked.selector.requirements.len(), asked.left_out), (2, LeftOut::Nothing));
        assert_eq!(labels(&json!({"rawSelector": "a in (b"})).left_out, LeftOut::Everything);
        assert_eq!(labels(&json!({"rawSelector": "a in (b)"})).selector, LabelSelector::parse("a=b").unwrap());
        assert_eq!(fields(&Value::Null), RequestedSelector::default());
    }

    #[test]
    fn a_selector_is_one_of_its_forms_and_its_requirements_are_whole() {
        let told = |selector: Value, keys| -> Vec<String> {
            check(&selector, "s", keys).iter().map(FieldError::message).collect()
        };
        assert_eq!(told(Value::Null, Keys::Fields), [""; 0]);
        assert_eq!(
            told(json!({}), Keys::Fields),
            ["s.requirements: Required value: when s is specified, requirements or rawSelector is required"]
        );
        let both = json!({"rawSelector": "a", "requirements": [{"key": "a", "operator": "Exists"}]});
        assert_eq!(
            told(both, Keys::Labels),
            ["s.rawSelector: Invalid value: \"a\": may not specified at the same time as requirements"]
        );
        let wrong = json!({"requirements": [
            {"operator": "In"}, {"key": "a", "operator": "Exists", "values": ["b"]}, {"key": "a", "operator": "Newer"}
        ]});
        assert_eq!(
            told(wrong, Keys::Fields),
            [
                "s.requirements[0].key: Required value: must be specified",
                "s.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
                "s.requirements[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            ]
        );
        let wrong = json!({"requirements": [{"key": "a b", "operator": "In", "values": ["c d"]}]});
        let told = told(wrong, Keys::Labels);
        assert!(told[0].starts_with("s.requirements[0].key: Invalid value: \"a b\": "), "{told:?}");
        assert!(told[1].starts_with("s.requirements[0].values[0]: Invalid value: \"c d\": "), "{told:?}");
    }
}
