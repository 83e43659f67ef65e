//! Tolerations of pods, as several plug-ins compare them. In Kubernetes: `pkg/util/tolerations`.

use coracle_meta::fields::Fields;
use serde_json::Value;

/// Both lists in one, without what something else in it includes.
pub(crate) fn merged(first: &[Value], second: &[Value]) -> Vec<Value> {
    let all: Vec<&Value> = first.iter().chain(second).collect();
    let mut merged: Vec<Value> = Vec::new();
    for (at, toleration) in all.iter().enumerate() {
        let is_known = merged.iter().any(|other| includes(other, toleration));
        let is_below = all[at + 1..].iter().any(|later| later != toleration && includes(later, toleration));
        if !is_known && !is_below {
            merged.push((*toleration).clone());
        }
    }
    merged
}

/// Whether a list that says which tolerations there may be has each of these; an empty one says nothing.
pub(crate) fn are_allowed(tolerations: &[Value], allowed: &[Value]) -> bool {
    allowed.is_empty()
        || tolerations.iter().all(|toleration| allowed.iter().any(|allowed| includes(allowed, toleration)))
}

/// Whether one toleration tolerates all that another does.
fn includes(wide: &Value, narrow: &Value) -> bool {
    if wide == narrow {
        return true;
    }
    let is_any = wide.text("key").is_empty() && wide.text("operator") == "Exists";
    if narrow.text("key") != wide.text("key") && !is_any {
        return false;
    }
    if !wide.text("effect").is_empty() && narrow.text("effect") != wide.text("effect") {
        return false;
    }
    let seconds = |toleration: &Value| toleration.at("tolerationSeconds").as_i64();
    if let ("NoExecute", Some(limit)) = (wide.text("effect"), seconds(wide))
        && seconds(narrow).is_none_or(|own| own > limit)
    {
        return false;
    }
    match wide.text("operator") {
        "Equal" | "" => narrow.text("operator") == "Equal" && narrow.text("value") == wide.text("value"),
        operator => operator == "Exists",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn of_two_tolerations_the_wider_one_stays() {
        let narrow = [json!({"key": "a", "operator": "Equal", "value": "1", "effect": "NoSchedule"})];
        let wide = [json!({"key": "a", "operator": "Exists"})];
        let other = [json!({"key": "b", "operator": "Exists"})];
        assert_eq!(merged(&[&narrow[..], &other[..]].concat(), &wide), [&other[..], &wide[..]].concat());
        assert_eq!(merged(&wide, &[&narrow[..], &wide[..]].concat()), wide);
        assert!(are_allowed(&narrow, &wide));
        assert!(!are_allowed(&other, &wide));
    }

    #[test]
    fn who_stays_longer_than_allowed_is_not_allowed() {
        let stays = |seconds: Value| {
            let mut toleration = json!({"key": "a", "operator": "Exists", "effect": "NoExecute"});
            toleration["tolerationSeconds"] = seconds;
            toleration
        };
        assert!(are_allowed(&[stays(json!(5))], &[stays(json!(10))]));
        assert!(!are_allowed(&[stays(json!(20))], &[stays(json!(10))]));
        assert!(!are_allowed(&[json!({"key": "a", "operator": "Exists", "effect": "NoExecute"})], &[stays(json!(10))]));
    }
}
