use std::cmp::Ordering;

use serde_json::{Number, Value};

/// A JSON value as the key of a `BTreeMap` or an item of a `BTreeSet`, so that values are looked up and not compared
/// each with all. Two keys are equal where the values are.
///
/// ```
/// use std::collections::BTreeSet;
///
/// use coracle_meta::JsonKey;
/// use serde_json::json;
///
/// let items = [json!({"a": 1}), json!({"a": 1}), json!({"a": 1.0})];
/// let distinct: BTreeSet<_> = items.iter().map(JsonKey).collect();
/// assert_eq!(distinct.len(), 2);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct JsonKey<'v>(pub &'v Value);

impl Ord for JsonKey<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.0, other.0) {
            (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
            (Value::Number(one), Value::Number(other)) => compare_numbers(one, other),
            (Value::String(one), Value::String(other)) => one.cmp(other),
            (Value::Array(one), Value::Array(other)) => one.iter().map(JsonKey).cmp(other.iter().map(JsonKey)),
            (Value::Object(one), Value::Object(other)) => {
                let pairs = |(name, value)| (name, JsonKey(value));
                one.iter().map(pairs).cmp(other.iter().map(pairs))
            }
            (one, other) => rank(one).cmp(&rank(other)),
        }
    }
}

impl PartialOrd for JsonKey<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for JsonKey<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for JsonKey<'_> {}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

/// A whole number and one with a fraction are not equal, as `serde_json` has it.
fn compare_numbers(one: &Number, other: &Number) -> Ordering {
    match (one.is_f64(), other.is_f64()) {
        (false, false) => one.as_i128().cmp(&other.as_i128()),
        (true, true) => {
            let (one, other) = (one.as_f64().unwrap_or_default(), other.as_f64().unwrap_or_default());
            // JSON does not have `NaN`, the only number without an order.
            one.partial_cmp(&other).unwrap_or(Ordering::Equal)
        }
        (one, other) => one.cmp(&other),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-2_i64..3).prop_map(Value::from),
            Just(json!(u64::MAX)),
            prop_oneof![Just(-0.0), Just(0.0), Just(1.0), Just(1.5)].prop_map(|number: f64| json!(number)),
            "[ab]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(2, 8, 3, |inner| {
            let object = proptest::collection::btree_map("[ab]", inner.clone(), 0..3);
            let object = object.prop_map(|fields| Value::Object(fields.into_iter().collect()));
            prop_oneof![proptest::collection::vec(inner, 0..3).prop_map(Value::from), object]
        })
    }

    proptest! {
        #[test]
        fn keys_are_equal_where_values_are_and_ordered_in_one_way(one in value(), two in value(), three in value()) {
            let (one, two, three) = (JsonKey(&one), JsonKey(&two), JsonKey(&three));
            prop_assert_eq!(one == two, one.0 == two.0);
            prop_assert_eq!(one.cmp(&two), two.cmp(&one).reverse());
            if one <= two && two <= three {
                prop_assert!(one <= three);
            }
        }
    }
}
