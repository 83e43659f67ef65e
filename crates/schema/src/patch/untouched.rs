//! The parts of a document that a patch cannot change. They need not be decoded again.

use serde_json::{Map, Value};

use super::strategic::ELEMENT_ORDER;

/// How deep parts are separated: the fields of the object, and those of its metadata, its spec and its status.
const DEPTH: usize = 2;

/// A document in two parts: what a merge patch or a strategic merge patch may change, and the rest.
#[derive(Debug)]
pub struct Divided {
    /// The document without the fields that the patch cannot change.
    pub document: Value,
    /// These fields, at their places.
    pub untouched: Map<String, Value>,
}

impl Divided {
    /// Divides a document. Its version and kind stay in the first part.
    pub fn of(document: &Map<String, Value>, patch: &Value) -> Self {
        let (mut touched, mut untouched) = divide(document, patch, DEPTH);
        for name in ["apiVersion", "kind"] {
            if let Some(value) = untouched.remove(name) {
                touched.insert(name.to_owned(), value);
            }
        }
        Self { document: Value::Object(touched), untouched }
    }
}

/// The fields that a patch may change, and the others.
fn divide(document: &Map<String, Value>, patch: &Value, depth: usize) -> (Map<String, Value>, Map<String, Value>) {
    let Some(patch) = patch.as_object().filter(|patch| depth > 0 && names_its_fields(patch)) else {
        return (document.clone(), Map::new());
    };
    let (mut touched, mut untouched) = (Map::new(), Map::new());
    for (name, value) in document {
        let is_ordered = || patch.contains_key(&format!("{ELEMENT_ORDER}/{name}"));
        match (patch.get(name), value) {
            (None, _) if !is_ordered() => drop(untouched.insert(name.clone(), value.clone())),
            (Some(patch @ Value::Object(_)), Value::Object(below)) => {
                let (own, others) = divide(below, patch, depth - 1);
                touched.insert(name.clone(), Value::Object(own));
                if !others.is_empty() {
                    untouched.insert(name.clone(), Value::Object(others));
                }
            }
            _ => drop(touched.insert(name.clone(), value.clone())),
        }
    }
    (touched, untouched)
}

/// Whether a patch changes only the fields that it names: it has no directives but orders of lists.
fn names_its_fields(patch: &Map<String, Value>) -> bool {
    patch.keys().all(|name| !name.starts_with('$') || name.starts_with(ELEMENT_ORDER))
}

/// Puts the untouched fields back.
pub fn put_back(document: &mut Map<String, Value>, untouched: Map<String, Value>, patch: &Value) {
    for (name, value) in untouched {
        match (patch.get(&name), value) {
            (Some(patch), Value::Object(others)) => {
                let below = document.entry(name).or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(below) = below {
                    put_back(below, others, patch);
                }
            }
            (_, value) => drop(document.insert(name, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use coracle_meta::GroupVersionKind;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::apply::TablePlace;
    use crate::decode::{decode_merged, decode_patched, from_unstructured, normalize};
    use crate::patch::{merge_patch, strategic_merge_patch};
    use crate::{KindSchema, Table};

    fn pod() -> (GroupVersionKind, KindSchema, Map<String, Value>) {
        let kind = GroupVersionKind::new("", "v1", "Pod");
        let schema = Table::newest().kind(&kind).unwrap();
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web", "namespace": "default", "uid": "u", "labels": {"a": "b"}, "finalizers": ["x/y"],
                "managedFields": [{"manager": "m", "operation": "Update", "fieldsV1": {"f:spec": {}}}]},
            "spec": {"containers": [{"name": "web", "image": "nginx", "resources": {"limits": {"cpu": "0.1"}}}],
                "nodeName": "n", "tolerations": [{"key": "k", "operator": "Exists"}]},
            "status": {"phase": "Pending", "podIPs": [{"ip": "10.0.0.1"}], "conditions": [
                {"type": "Ready", "status": "False"}, {"type": "PodScheduled", "status": "True"}]},
        });
        let decoded = crate::decode::decode_value(pod, &schema).unwrap();
        (kind, schema.clone(), normalize(decoded.object, &schema).unwrap().object.into_tree())
    }

    /// The decoded result of a patch, with the strict findings, or the error.
    fn patched(
        document: Value,
        patch: &Value,
        is_strategic: bool,
    ) -> Result<(Map<String, Value>, Vec<String>), String> {
        let (kind, schema, _) = pod();
        let decoded = if is_strategic {
            let place = TablePlace::root(&schema);
            let merged = strategic_merge_patch(document, patch.clone(), place).map_err(|why| why.to_string())?;
            decode_merged(from_unstructured(merged, &schema)?, &kind, &schema)?
        } else {
            decode_patched(merge_patch(document, patch.clone()).map_err(|why| why.to_string())?, &kind, &schema)?
        };
        Ok((decoded.object.into_tree(), decoded.strict))
    }

    fn both_ways_agree(patch: &Value) {
        let (_, _, pod) = pod();
        for is_strategic in [true, false] {
            let whole = patched(Value::Object(pod.clone()), patch, is_strategic);
            let Divided { document, untouched } = Divided::of(&pod, patch);
            let in_parts = patched(document, patch, is_strategic).map(|(mut tree, strict)| {
                put_back(&mut tree, untouched, patch);
                (tree, strict)
            });
            assert_eq!(in_parts, whole, "{patch}, strategic: {is_strategic}");
        }
    }

    #[test]
    fn a_status_patch_leaves_the_spec_and_the_managed_fields_untouched() {
        let (_, _, pod) = pod();
        let patch = json!({"metadata": {"uid": "u"}, "status": {"phase": "Running",
            "$setElementOrder/conditions": [{"type": "Ready"}], "conditions": [{"type": "Ready", "status": "True"}]}});
        let Divided { document, untouched } = Divided::of(&pod, &patch);
        assert_eq!(document["metadata"], json!({"uid": "u"}));
        assert_eq!(document["status"].as_object().unwrap().keys().collect::<Vec<_>>(), ["conditions", "phase"]);
        assert_eq!(untouched["spec"], pod["spec"]);
        assert_eq!(untouched["metadata"]["managedFields"], pod["metadata"]["managedFields"]);
        both_ways_agree(&patch);
    }

    #[test]
    fn directives_for_a_whole_object_divide_nothing_there() {
        let (_, _, pod) = pod();
        for patch in [json!({"$patch": "replace", "spec": {}}), json!({"$retainKeys": ["spec"], "spec": {}}), json!(7)]
        {
            assert!(Divided::of(&pod, &patch).untouched.is_empty(), "{patch}");
            both_ways_agree(&patch);
        }
        let of_spec = json!({"spec": {"$patch": "replace", "containers": []}});
        assert!(!Divided::of(&pod, &of_spec).untouched.contains_key("spec"));
        both_ways_agree(&of_spec);
    }

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(json!(null)),
            Just(json!({})),
            Just(json!([])),
            Just(json!("text")),
            Just(json!(5)),
            Just(json!({"a": null, "c": "d"})),
            Just(json!(["x/z"])),
            Just(json!([{"type": "Ready", "status": "True"}])),
            Just(json!([{"name": "web", "image": "other"}, {"name": "more", "image": "x"}])),
            Just(json!([{"$patch": "replace"}])),
            Just(json!("replace")),
            Just(json!({"$patch": "delete"})),
        ]
    }

    proptest! {
        #[test]
        fn decoding_only_the_touched_fields_gives_the_same_object_and_the_same_findings(
            fields in proptest::collection::vec(
                (
                    proptest::sample::select(vec![
                        "", "metadata", "spec", "status",
                    ]),
                    proptest::sample::select(vec![
                        "apiVersion", "kind", "metadata", "spec", "status", "name", "labels", "finalizers", "managedFields",
                        "containers", "nodeName", "tolerations", "volumes", "phase", "podIPs", "conditions", "unknown",
                        "$patch", "$retainKeys", "$setElementOrder/conditions", "$setElementOrder/containers",
                        "$deleteFromPrimitiveList/finalizers",
                    ]),
                    value(),
                ),
                0..6,
            )
        ) {
            let mut patch = json!({});
            for (parent, name, value) in fields {
                match parent {
                    "" => patch[name] = value,
                    parent => {
                        if !patch[parent].is_object() {
                            patch[parent] = json!({});
                        }
                        patch[parent][name] = value;
                    }
                }
            }
            both_ways_agree(&patch);
        }
    }
}
