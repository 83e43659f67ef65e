use coracle_meta::JsonKey;
use serde_json::Value;

/// The values of an `enum`, sorted for fast lookup.
#[derive(Clone, Debug, Default)]
pub struct Enumeration {
    listed: Vec<Value>,
    /// The indices of the values in `listed`, sorted by value.
    sorted: Vec<usize>,
    /// The numbers among them, sorted: an integer equals a number with a fraction of zero.
    numbers: Vec<f64>,
    length: usize,
}

impl Enumeration {
    pub(super) fn new(listed: Vec<Value>) -> Self {
        let mut sorted: Vec<usize> = (0..listed.len()).collect();
        sorted.sort_by_key(|at| JsonKey(&listed[*at]));
        let mut numbers: Vec<f64> = listed.iter().filter_map(Value::as_f64).map(without_sign_of_zero).collect();
        numbers.sort_by(f64::total_cmp);
        let length = listed.iter().map(|value| value.to_string().len()).sum();
        Self { listed, sorted, numbers, length }
    }

    /// The values in the order of the schema.
    pub fn listed(&self) -> &[Value] {
        &self.listed
    }

    /// The length of the values as JSON, in bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Whether the value is one of them.
    pub fn holds(&self, value: &Value) -> bool {
        let is_number = |number: f64| {
            let number = without_sign_of_zero(number);
            self.numbers.binary_search_by(|own| own.total_cmp(&number)).is_ok()
        };
        let at = self.sorted.binary_search_by_key(&JsonKey(value), |at| JsonKey(&self.listed[*at]));
        at.is_ok() || value.as_f64().is_some_and(is_number)
    }
}

fn without_sign_of_zero(number: f64) -> f64 {
    if number == 0.0 { 0.0 } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_of_a_long_enum_is_found_and_numbers_compare_by_value() {
        let mut listed: Vec<Value> = (0..100_000).map(|at| json!(format!("v{at}"))).collect();
        listed.extend([json!(1), json!(2.5), json!(-0.0), json!({"a": [1]}), Value::Null]);
        let values = Enumeration::new(listed.clone());
        assert!(listed.iter().all(|value| values.holds(value)));
        for (value, expected) in [
            (json!(1.0), true),
            (json!(0), true),
            (json!(0.0), true),
            (json!(2), false),
            (json!("1"), false),
            (json!("v100000"), false),
            (json!({"a": [1.0]}), false),
            (json!(true), false),
        ] {
            assert_eq!(values.holds(&value), expected, "{value}");
        }
    }
}
