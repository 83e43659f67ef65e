//! The format `fieldsV1` of field sets: an object whose keys are path elements. The key `.` means that the place itself
//! is in the set, and so does an empty object.

use serde_json::{Map, Value};

use super::path::PathElement;
use super::set::{Set, SetChild};

/// Decodes a field set. Unknown types of elements are skipped.
pub fn from_json(fields: &Value) -> Result<Set, String> {
    match fields {
        Value::Null => Ok(Set::new()),
        Value::Object(fields) => Ok(read(fields, 0)?.0),
        other => Err(format!("expected an object, got {other}")),
    }
}

/// The maximum depth, which exceeds that of any accepted object.
pub(super) const MAX_DEPTH: usize = 1000;

/// The set below a place, and whether the place itself is a member.
fn read(fields: &Map<String, Value>, depth: usize) -> Result<(Set, bool), String> {
    if depth > MAX_DEPTH {
        return Err("fields are nested too deeply".to_owned());
    }
    let mut set = Set::new();
    let mut is_member = fields.is_empty();
    for (name, below) in fields {
        if name == "." {
            is_member = true;
            continue;
        }
        let Some(element) = PathElement::parse(name)? else { continue };
        let (child, child_is_member) = match below {
            Value::Object(below) => read(below, depth + 1)?,
            Value::Null => (Set::new(), true),
            other => return Err(format!("{name}: expected an object, got {other}")),
        };
        set.put(child_is_member, child, || element);
    }
    Ok((set, is_member))
}

/// Encodes a field set.
pub fn to_json(set: &Set) -> Value {
    Value::Object(write(set))
}

fn write(set: &Set) -> Map<String, Value> {
    let field = |step: &SetChild| {
        let mut below = write(&step.below);
        if step.is_member && !below.is_empty() {
            below.insert(".".to_owned(), Value::Object(Map::new()));
        }
        (step.element.serialized(), Value::Object(below))
    };
    set.steps().iter().map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_dot_says_that_the_place_itself_is_a_member() {
        let fields = json!({"f:spec": {"f:ports": {".": {}, "k:{\"port\":80}": {".": {}, "f:port": {}}}, "f:x": {}}});
        let set = from_json(&fields).unwrap();
        assert_eq!(set.texts(), [".spec.ports", ".spec.x", ".spec.ports[port=80]", ".spec.ports[port=80].port"]);
        assert_eq!(to_json(&set), fields);
    }

    #[test]
    fn malformed_fields_are_refused() {
        for fields in [json!([]), json!({"f:a": 1}), json!({"a": {}}), json!({"k:x": {}})] {
            assert!(from_json(&fields).is_err(), "{fields}");
        }
    }

    fn element() -> impl Strategy<Value = PathElement> {
        let scalar = prop_oneof![
            any::<i32>().prop_map(Value::from),
            ".{0,4}".prop_map(Value::from),
            any::<bool>().prop_map(Value::from)
        ];
        prop_oneof![
            ".{0,6}".prop_map(PathElement::Field),
            proptest::collection::btree_map("[a-z]{1,4}", scalar.clone(), 1..3).prop_map(PathElement::key),
            scalar.prop_map(PathElement::Value),
            any::<i32>().prop_map(|index| PathElement::Index(index.into())),
        ]
    }

    proptest! {
        #[test]
        fn reading_what_was_written_gives_the_same_set(
            paths in proptest::collection::vec(proptest::collection::vec(element(), 1..5), 0..12)
        ) {
            let mut set = Set::new();
            for path in &paths {
                set.insert(path);
            }
            prop_assert_eq!(from_json(&to_json(&set)).unwrap(), set);
        }

        #[test]
        fn a_union_holds_both_and_a_difference_gives_back_what_was_alone(
            a in proptest::collection::vec(proptest::collection::vec(element(), 1..4), 0..8),
            b in proptest::collection::vec(proptest::collection::vec(element(), 1..4), 0..8),
        ) {
            let build = |paths: &[Vec<PathElement>]| {
                let mut set = Set::new();
                paths.iter().for_each(|path| set.insert(path));
                set
            };
            let (left, right) = (build(&a), build(&b));
            let union = left.clone().union(&right);
            prop_assert!(a.iter().chain(&b).all(|path| union.has(path)));
            prop_assert_eq!(union.clone().difference(&right).intersection(&right), Set::new());
            prop_assert_eq!(union.difference(&right).union(&left.intersection(&right)), left);
        }
    }
}
