use coracle_meta::Object;
use serde_json::{Value, json};

/// The annotation that is changed if no field of the `spec` can be.
const ANNOTATION: &str = "coracle.dev/change";

/// How a sample can be changed, likeliest first: one leaf of its `spec`, and at last an annotation. The API server decides
/// which of them is accepted.
pub(crate) fn changes(sample: &Object) -> Vec<Value> {
    let value = sample.to_value();
    let mut changes = Vec::new();
    for part in ["spec", "data"] {
        if let Some(fields) = value.get(part) {
            leaves(fields, &mut |changed| changes.push(json!({ part: changed })));
        }
    }
    changes.push(json!({"metadata": {"annotations": {ANNOTATION: "1"}}}));
    changes
}

/// The merge patch that takes a change back.
pub(crate) fn back(sample: &Object, change: &Value) -> Value {
    if change.get("metadata").is_some() {
        return json!({"metadata": {"annotations": {ANNOTATION: null}}});
    }
    let value = sample.to_value();
    let parts = change.as_object().into_iter().flatten();
    Value::Object(parts.map(|(part, _)| (part.clone(), value.get(part).cloned().unwrap_or_default())).collect())
}

/// Calls `found` with a merge patch for each leaf that has another value. Numbers are first, then booleans, then texts.
fn leaves(value: &Value, found: &mut dyn FnMut(Value)) {
    let kinds: [fn(&Value) -> Option<Value>; 3] = [number, boolean, text];
    for kind in kinds {
        leaves_of(value, kind, found);
    }
}

fn leaves_of(value: &Value, kind: fn(&Value) -> Option<Value>, found: &mut dyn FnMut(Value)) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                leaves_of(field, kind, &mut |changed| found(json!({ name: changed })));
            }
        }
        // A merge patch replaces a list as a whole.
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                leaves_of(item, kind, &mut |changed| {
                    let mut items = items.clone();
                    items[index] = merged(item, changed);
                    found(Value::from(items));
                });
            }
        }
        leaf => {
            if let Some(changed) = kind(leaf) {
                found(changed);
            }
        }
    }
}

/// A value with a merge patch of one leaf.
fn merged(value: &Value, patch: Value) -> Value {
    match (value, patch) {
        (Value::Object(fields), Value::Object(patch)) => {
            let mut fields = fields.clone();
            for (name, changed) in patch {
                let before = fields.get(&name).cloned().unwrap_or_default();
                fields.insert(name, merged(&before, changed));
            }
            Value::Object(fields)
        }
        (_, patch) => patch,
    }
}

fn number(value: &Value) -> Option<Value> {
    value.as_i64().map(|number| json!(number + 1))
}

fn boolean(value: &Value) -> Option<Value> {
    value.as_bool().map(|value| json!(!value))
}

fn text(value: &Value) -> Option<Value> {
    value.as_str().map(|text| json!(format!("{text}-1")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_leaf_of_a_spec_is_changed_numbers_first_and_an_annotation_last() {
        let sample = json!({
            "apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"},
            "spec": {"image": "a", "size": 1, "on": true, "parts": [{"name": "p", "size": 2}]},
        });
        let sample = Object::from_value(sample).unwrap();
        let found = changes(&sample);
        let expected = [
            json!({"spec": {"parts": [{"name": "p", "size": 3}]}}),
            json!({"spec": {"size": 2}}),
            json!({"spec": {"on": false}}),
            json!({"spec": {"image": "a-1"}}),
            json!({"spec": {"parts": [{"name": "p-1", "size": 2}]}}),
            json!({"metadata": {"annotations": {ANNOTATION: "1"}}}),
        ];
        let mut sorted: Vec<String> = found.iter().map(Value::to_string).collect();
        sorted.sort();
        let mut wanted: Vec<String> = expected.iter().map(Value::to_string).collect();
        wanted.sort();
        assert_eq!(sorted, wanted);
        let place = |change: &Value| found.iter().position(|found| found == change).unwrap();
        assert!(place(&expected[1]) < place(&expected[2]) && place(&expected[2]) < place(&expected[3]));
        assert_eq!(found.last(), expected.last());
        assert_eq!(back(&sample, &found[0])["spec"], sample.to_value()["spec"]);
        assert_eq!(back(&sample, &expected[5]), json!({"metadata": {"annotations": {ANNOTATION: null}}}));
    }
}
