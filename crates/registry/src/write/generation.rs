use coracle_meta::Object;
use serde_json::Value;

use crate::{Generation, Kind};

const IDENTITY: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// When two parts of an object are equal. In Kubernetes: `equality.Semantic.DeepEqual` of structs, or of maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Likeness {
    /// An empty value equals an absent one, as for a field of a struct.
    OfStructs,
    /// A map with another key differs, and null differs from an empty value.
    OfMaps,
}

impl Likeness {
    /// The likeness of a kind: custom objects are maps.
    pub(super) fn of(kind: &Kind) -> Self {
        if kind.schema().structural().is_some() { Self::OfMaps } else { Self::OfStructs }
    }

    fn is_same(self, new: Option<&Value>, old: Option<&Value>) -> bool {
        match self {
            Self::OfStructs => is_same(new, old),
            Self::OfMaps => new == old,
        }
    }
}

/// Increments the generation if the counted part of the object has changed.
pub(super) fn count(rule: Generation, new: &mut Object, old: &Object, likeness: Likeness) {
    let has_changed = match rule {
        Generation::None => false,
        Generation::Fields(paths) => paths.iter().any(|path| !likeness.is_same(new.field(*path), old.field(*path))),
        Generation::AllBut(fields) => {
            let counts = |name: &&String| !fields.contains(&name.as_str()) && !IDENTITY.contains(&name.as_str());
            let mut names = new.tree().keys().chain(old.tree().keys()).filter(counts);
            names.any(|name| !likeness.is_same(new.tree().get(name), old.tree().get(name)))
        }
    };
    if has_changed {
        new.set("metadata.generation", old.generation().wrapping_add(1));
    }
}

/// Whether two parts of an object are equal: an empty value equals an absent one.
fn is_same(new: Option<&Value>, old: Option<&Value>) -> bool {
    match (new, old) {
        (Some(Value::Object(new)), Some(Value::Object(old))) => {
            let is_in_new = |name: &String| new.contains_key(name);
            new.iter().all(|(name, value)| is_same(Some(value), old.get(name)))
                && old.iter().all(|(name, value)| is_in_new(name) || is_empty(Some(value)))
        }
        (new, old) => new == old || is_empty(new) && is_empty(old),
    }
}

fn is_empty(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Object(map)) => map.values().all(|value| is_empty(Some(value))),
        Some(Value::Array(list)) => list.is_empty(),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn generation(rule: Generation, new: Value, old: Value) -> i64 {
        generation_of(Likeness::OfStructs, rule, new, old)
    }

    fn generation_of(likeness: Likeness, rule: Generation, new: Value, old: Value) -> i64 {
        let object = |value| Object::from_value(value).unwrap();
        let (mut new, mut old) = (object(new), object(old));
        old.set("metadata.generation", 1);
        new.set("metadata.generation", 1);
        count(rule, &mut new, &old, likeness);
        new.generation()
    }

    #[test]
    fn a_generation_counts_what_its_rule_names_and_nothing_else() {
        let old = json!({"spec": {"replicas": 1}, "status": {"replicas": 0}, "data": "a"});
        let new = json!({"spec": {"replicas": 1}, "status": {"replicas": 5}, "data": "b"});
        assert_eq!(generation(Generation::None, new.clone(), old.clone()), 1);
        assert_eq!(generation(Generation::Fields(&["spec"]), new.clone(), old.clone()), 1);
        assert_eq!(generation(Generation::Fields(&["spec", "data"]), new.clone(), old.clone()), 2);
        assert_eq!(generation(Generation::AllBut(&["status", "data"]), new.clone(), old.clone()), 1);
        assert_eq!(generation(Generation::AllBut(&["status"]), new, old), 2);
    }

    #[test]
    fn empty_values_equal_absent_ones() {
        let (old, new) = (json!({"spec": {"a": {"b": []}}}), json!({"spec": {"c": {"d": null}}}));
        assert_eq!(generation(Generation::Fields(&["spec"]), new, old), 1);
    }

    #[test]
    fn an_empty_map_differs_from_an_absent_one() {
        let maps = |new: Value, old: Value| generation_of(Likeness::OfMaps, Generation::Fields(&["spec"]), new, old);
        let spec = |value: Value| json!({"spec": value});
        assert_eq!(maps(spec(json!({"a": {}})), spec(json!({}))), 2);
        assert_eq!(maps(spec(json!({"a": null})), spec(json!({"a": []}))), 2);
        assert_eq!(maps(spec(json!({"a": [{}]})), spec(json!({"a": [{}]}))), 1);
    }

    /// The value without what is empty.
    fn pruned(value: &Value) -> Option<Value> {
        match value {
            value if is_empty(Some(value)) => None,
            Value::Object(map) => {
                Some(map.iter().filter_map(|(name, value)| Some((name.clone(), pruned(value)?))).collect())
            }
            value => Some(value.clone()),
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf =
            prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), Just(json!([])), Just(json!([1]))];
        leaf.prop_recursive(3, 12, 3, |inner| {
            proptest::collection::btree_map("[ab]", inner, 0..3).prop_map(|map| map.into_iter().collect())
        })
    }

    proptest! {
        #[test]
        fn parts_are_equal_without_their_empty_values(new in value(), old in value()) {
            prop_assert_eq!(is_same(Some(&new), Some(&old)), pruned(&new) == pruned(&old));
        }
    }
}
