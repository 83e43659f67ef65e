use serde_json::Value;

/// A difference between an object and a partial object.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// The path, as `status.readyReplicas` or `spec.containers[0].image`.
    pub path: String,
    /// What was expected there.
    pub expected: Value,
    /// The value that was found; `None` if there was no value.
    pub found: Option<Value>,
}

/// Compares the fields of `expected`; all other fields are ignored.
///
/// Lists are compared item by item and must have equal lengths, as in chainsaw's assertions.
///
/// ```
/// use coracle_sim::mismatches;
/// use serde_json::json;
///
/// let found = json!({"spec": {"replicas": 3}, "status": {"replicas": 2}});
/// let all = mismatches(&json!({"status": {"replicas": 3}}), &found);
/// assert_eq!(all[0].path, "status.replicas");
/// assert_eq!(all[0].found, Some(json!(2)));
/// ```
pub fn mismatches(expected: &Value, found: &Value) -> Vec<Mismatch> {
    let mut all = Vec::new();
    compare("", expected, Some(found), &mut all);
    all
}

/// Whether all fields of `expected` are equal.
pub fn matches(expected: &Value, found: &Value) -> bool {
    mismatches(expected, found).is_empty()
}

fn compare(path: &str, expected: &Value, found: Option<&Value>, all: &mut Vec<Mismatch>) {
    match (expected, found) {
        (Value::Object(expected), Some(Value::Object(found))) => {
            for (name, expected) in expected {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                compare(&path, expected, found.get(name), all);
            }
        }
        (Value::Array(expected), Some(Value::Array(found))) if expected.len() == found.len() => {
            for (index, (expected, found)) in expected.iter().zip(found).enumerate() {
                compare(&format!("{path}[{index}]"), expected, Some(found), all);
            }
        }
        (Value::Null, None) => {}
        (expected, Some(found)) if expected == found => {}
        (expected, found) => {
            all.push(Mismatch { path: path.to_owned(), expected: expected.clone(), found: found.cloned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_named_fields_are_compared_and_null_means_absent() {
        let found = json!({"status": {"replicas": 3, "readyReplicas": 2}, "spec": {"list": [1, {"a": 1, "b": 2}]}});
        assert!(matches(&json!({"status": {"replicas": 3, "failed": null}, "spec": {"list": [1, {"a": 1}]}}), &found));
        let all = mismatches(&json!({"status": {"readyReplicas": 3, "x": 1}, "spec": {"list": [1]}}), &found);
        let paths: Vec<_> = all.iter().map(|mismatch| mismatch.path.as_str()).collect();
        assert_eq!(paths, ["spec.list", "status.readyReplicas", "status.x"]);
        assert_eq!(all[1].found, Some(json!(2)));
    }
}
