//! Compares tolerations of pods, for several plug-ins. In Kubernetes: `pkg/util/tolerations`.

use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::JsonKey;
use coracle_meta::fields::Fields;
use serde_json::Value;

/// Both lists in one, without tolerations that another one includes.
pub(crate) fn merged(first: &[Value], second: &[Value]) -> Vec<Value> {
    let all: Vec<&Value> = first.iter().chain(second).collect();
    let mut later = Tolerations::default();
    let mut is_below: Vec<bool> = Vec::with_capacity(all.len());
    for toleration in all.iter().rev() {
        is_below.push(later.include_as_another(toleration));
        later.insert(toleration);
    }
    let mut known = Tolerations::default();
    let mut merged = Vec::new();
    for (toleration, is_below) in all.iter().zip(is_below.iter().rev()) {
        if !known.include(toleration) && !is_below {
            known.insert(toleration);
            merged.push((*toleration).clone());
        }
    }
    merged
}

/// Whether a list of allowed tolerations includes each of these; an empty list allows all.
pub(crate) fn are_allowed(tolerations: &[Value], allowed: &[Value]) -> bool {
    let mut known = Tolerations::default();
    allowed.iter().for_each(|toleration| known.insert(toleration));
    allowed.is_empty() || tolerations.iter().all(|toleration| known.include(toleration))
}

/// Tolerations by key, effect and value. One includes another if it tolerates everything that the other tolerates.
#[derive(Default)]
struct Tolerations<'t> {
    equal: BTreeSet<JsonKey<'t>>,
    /// By key, effect and value; `None` tolerates all values.
    longest: BTreeMap<(&'t str, &'t str, Option<&'t str>), Longest<'t>>,
}

/// The toleration with the longest time, and the longest one of those that differ from it.
struct Longest<'t> {
    first: (Time, &'t Value),
    second: Option<(Time, &'t Value)>,
}

/// The toleration time in seconds; `ALWAYS` without a limit.
type Time = i128;

const ALWAYS: Time = Time::MAX;

fn seconds(toleration: &Value) -> Time {
    toleration.at("tolerationSeconds").as_i64().map_or(ALWAYS, Time::from)
}

impl<'t> Tolerations<'t> {
    fn insert(&mut self, toleration: &'t Value) {
        self.equal.insert(JsonKey(toleration));
        let value = match toleration.text("operator") {
            "Equal" | "" => Some(toleration.text("value")),
            "Exists" => None,
            _ => return,
        };
        let effect = toleration.text("effect");
        let time = if effect == "NoExecute" { seconds(toleration) } else { ALWAYS };
        self.longest
            .entry((toleration.text("key"), effect, value))
            .and_modify(|longest| longest.insert(time, toleration))
            .or_insert(Longest { first: (time, toleration), second: None });
    }

    /// Whether any of these includes a toleration.
    fn include(&self, toleration: &Value) -> bool {
        self.equal.contains(&JsonKey(toleration)) || self.include_as_another(toleration)
    }

    /// Whether a different toleration includes this one.
    fn include_as_another(&self, toleration: &Value) -> bool {
        let (key, effect, own) = (toleration.text("key"), toleration.text("effect"), seconds(toleration));
        let value = (toleration.text("operator") == "Equal").then(|| toleration.text("value"));
        // A toleration of every key has an empty key.
        let wider = [(key, None), ("", None)].into_iter().chain(value.map(|value| (key, Some(value))));
        wider.flat_map(|(key, value)| [(key, effect, value), (key, "", value)]).any(|wider| {
            let longest = self.longest.get(&wider);
            longest.is_some_and(|longest| longest.among_others(toleration).is_some_and(|time| time >= own))
        })
    }
}

impl<'t> Longest<'t> {
    fn insert(&mut self, time: Time, toleration: &'t Value) {
        if toleration == self.first.1 {
            return;
        }
        if time > self.first.0 {
            self.second = Some(std::mem::replace(&mut self.first, (time, toleration)));
        } else if self.second.is_none_or(|(longest, _)| time > longest) {
            self.second = Some((time, toleration));
        }
    }

    /// The longest time of the tolerations that differ from this one.
    fn among_others(&self, toleration: &Value) -> Option<Time> {
        if self.first.1 != toleration { Some(self.first.0) } else { self.second.map(|(time, _)| time) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// Whether one toleration tolerates all that another does, as Kubernetes asks it.
    fn includes(wide: &Value, narrow: &Value) -> bool {
        let is_any = wide.text("key").is_empty() && wide.text("operator") == "Exists";
        let is_of_key = narrow.text("key") == wide.text("key") || is_any;
        let is_of_effect = wide.text("effect").is_empty() || narrow.text("effect") == wide.text("effect");
        let is_long = wide.text("effect") != "NoExecute" || seconds(narrow) <= seconds(wide);
        let is_of_value = match wide.text("operator") {
            "Equal" | "" => narrow.text("operator") == "Equal" && narrow.text("value") == wide.text("value"),
            operator => operator == "Exists",
        };
        wide == narrow || is_of_key && is_of_effect && is_long && is_of_value
    }

    fn merged_by_comparing_all(all: &[Value]) -> Vec<Value> {
        let mut merged: Vec<Value> = Vec::new();
        for (at, toleration) in all.iter().enumerate() {
            let is_known = merged.iter().any(|other| includes(other, toleration));
            let is_below = all[at + 1..].iter().any(|later| later != toleration && includes(later, toleration));
            if !is_known && !is_below {
                merged.push(toleration.clone());
            }
        }
        merged
    }

    fn toleration() -> impl Strategy<Value = Value> {
        let operator = prop::sample::select(vec!["Exists", "Equal", "", "Lt"]);
        let effect = prop::sample::select(vec!["", "NoSchedule", "NoExecute"]);
        let text = || prop::sample::select(vec!["", "a", "b"]);
        let seconds = prop::option::of(0..3_i64);
        (text(), operator, text(), effect, seconds).prop_map(|(key, operator, value, effect, seconds)| {
            let mut toleration = json!({"key": key, "operator": operator, "value": value, "effect": effect});
            toleration.as_object_mut().unwrap().retain(|_, value| value != "");
            if let Some(seconds) = seconds {
                toleration["tolerationSeconds"] = seconds.into();
            }
            toleration
        })
    }

    proptest! {
        #[test]
        fn tolerations_are_merged_as_if_each_were_compared_with_all(
            first in prop::collection::vec(toleration(), 0..6), second in prop::collection::vec(toleration(), 0..6),
        ) {
            let all = [first.clone(), second.clone()].concat();
            prop_assert_eq!(merged(&first, &second), merged_by_comparing_all(&all));
            let each_included =
                first.iter().all(|narrow| second.is_empty() || second.iter().any(|wide| includes(wide, narrow)));
            prop_assert_eq!(are_allowed(&first, &second), each_included);
        }
    }

    #[test]
    fn long_lists_of_tolerations_are_merged() {
        let many = |effect: &str| {
            let one = |at| json!({"key": format!("key-{at}"), "operator": "Exists", "effect": effect});
            (0..100_000).map(one).collect::<Vec<_>>()
        };
        let (first, second) = (many("NoSchedule"), many("NoExecute"));
        assert_eq!(merged(&first, &second).len(), 200_000);
        assert!(are_allowed(&first, &first));
        assert!(!are_allowed(&first, &second));
    }

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
    fn tolerations_longer_than_allowed_are_refused() {
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
