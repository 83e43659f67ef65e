//! What strategic merge patches do to built-in kinds.

use coracle_meta::{GroupVersionKind, Status};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::Table;
use crate::apply::TablePlace;

fn patched(document: Value, patch: Value) -> Result<Value, Error> {
    let kind = GroupVersionKind::new("apps", "v1", "Deployment");
    let schema = Table::newest().kind(&kind).expect("the table has deployments");
    strategic_merge_patch(document, patch, TablePlace::root(&schema))
}

fn pod_spec(spec: Value) -> Value {
    json!({"spec": {"template": {"spec": spec}}})
}

/// The pod spec that a patch of one pod spec makes of another.
fn patched_spec(spec: Value, patch: Value) -> Value {
    let document = patched(pod_spec(spec), pod_spec(patch)).unwrap();
    document["spec"]["template"]["spec"].clone()
}

fn refused(spec: Value, patch: Value) -> (u16, String) {
    let status: Status = patched(pod_spec(spec), pod_spec(patch)).unwrap_err().into();
    (status.code, status.message)
}

#[test]
fn lists_merge_by_key_and_new_items_come_first() {
    let spec = json!({"containers": [{"name": "c", "image": "a", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}, {"name": "d"}]});
    let patch = json!({"containers": [{"name": "c", "image": "b", "env": [{"name": "B", "value": "x"}, {"name": "C"}]}, {"name": "e"}]});
    let expected = json!({"containers": [
        {"name": "c", "image": "b", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "x"}, {"name": "C"}]},
        {"name": "e"},
        {"name": "d"}
    ]});
    assert_eq!(patched_spec(spec, patch), expected);
}

#[test]
fn long_lists_merge_and_are_ordered_by_key() {
    let count = 20_000;
    let variables = |range: std::ops::Range<i32>, value: &str| -> Vec<Value> {
        range.map(|at| json!({"name": format!("V{at}"), "value": value})).collect()
    };
    let env = |spec: &Value| spec["containers"][0]["env"].as_array().unwrap().clone();
    let container = |env: Vec<Value>| json!({"name": "c", "env": env});
    let spec = json!({"containers": [container(variables(0..count, "old"))]});
    let patch = json!({"containers": [container(variables(count / 2..count * 3 / 2, "new"))]});
    let merged = env(&patched_spec(spec.clone(), patch));
    assert_eq!(merged, [variables(0..count / 2, "old"), variables(count / 2..count * 3 / 2, "new")].concat());

    let order: Vec<Value> = (0..count).rev().map(|at| json!({"name": format!("V{at}")})).collect();
    let mut ordered = container(vec![json!({"name": "V7", "value": "new"})]);
    ordered["$setElementOrder/env"] = json!(order);
    let merged = env(&patched_spec(spec.clone(), json!({"containers": [ordered]})));
    assert_eq!(merged.len(), 20_000);
    assert_eq!((&merged[0]["name"], &merged[19_992]["value"]), (&json!("V19999"), &json!("new")));

    let gone: Vec<Value> = (1..count).map(|at| json!({"name": format!("V{at}"), "$patch": "delete"})).collect();
    let left = env(&patched_spec(spec, json!({"containers": [container(gone)]})));
    assert_eq!(left, variables(0..1, "old"));
}

#[test]
fn a_patch_that_merges_a_long_list_again_and_again_is_refused() {
    let again = |count: usize| -> Vec<Value> {
        (0..count).map(|at| json!({"name": "c", "env": [{"name": format!("V{at}")}]})).collect()
    };
    let spec = json!({"containers": [{"name": "c"}]});
    let merged = patched_spec(spec.clone(), json!({"containers": again(500)}));
    assert_eq!(merged["containers"][0]["env"].as_array().unwrap().len(), 500);
    let (code, message) = refused(spec, json!({"containers": again(20_000)}));
    assert_eq!(code, 413);
    assert!(
        message.starts_with("Request entity too large: a strategic merge patch may look at 1000000 items"),
        "{message}"
    );
}

#[test]
fn long_lists_of_scalars_merge_and_lose_items_as_sets() {
    let texts = |range: std::ops::Range<i32>| -> Vec<Value> { range.map(|at| json!(format!("f/{at}"))).collect() };
    let document = json!({"metadata": {"finalizers": texts(0..40_000)}});
    let added = patched(document.clone(), json!({"metadata": {"finalizers": texts(39_999..80_000)}})).unwrap();
    assert_eq!(added["metadata"]["finalizers"], json!(texts(0..80_000)));
    let gone = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": texts(1..60_000)}});
    assert_eq!(patched(document, gone).unwrap()["metadata"]["finalizers"], json!(texts(0..1)));
}

#[test]
fn a_key_that_a_patch_sets_to_null_is_no_key_afterwards() {
    let spec =
        json!({"containers": [{"name": "c", "env": [{"name": null, "value": "1"}, {"name": null, "value": "2"}]}]});
    let env = json!([{"name": null, "a": 1}, {"name": null, "b": 2}, {"name": null, "c": 3}]);
    let merged = patched(pod_spec(spec), pod_spec(json!({"containers": [{"name": "c", "env": env}]})));
    assert!(merged.is_err(), "{merged:?}");
}

#[test]
fn ports_merge_by_their_number_alone() {
    let spec = json!({"containers": [{"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP"}]}]});
    let patch =
        json!({"containers": [{"name": "c", "ports": [{"containerPort": 443}, {"containerPort": 80, "name": "x"}]}]});
    let expected = json!([{"containerPort": 443}, {"containerPort": 80, "protocol": "TCP", "name": "x"}]);
    assert_eq!(patched_spec(spec, patch)["containers"][0]["ports"], expected);
}

#[test]
fn lists_without_a_merge_key_are_replaced() {
    let spec = json!({"containers": [{"name": "c", "args": ["x", "y"]}], "tolerations": [{"key": "t1"}]});
    let patch = json!({"containers": [{"name": "c", "args": ["z"]}], "tolerations": [{"key": "t2"}]});
    assert_eq!(patched_spec(spec, patch.clone()), patch);
}

#[test]
fn items_are_deleted_and_lists_replaced_by_directive() {
    let spec = json!({"containers": [{"name": "c"}, {"name": "d"}]});
    let delete = json!({"containers": [{"name": "d", "$patch": "delete"}]});
    assert_eq!(patched_spec(spec.clone(), delete), json!({"containers": [{"name": "c"}]}));
    let replace = json!({"containers": [{"$patch": "replace"}, {"name": "only"}]});
    assert_eq!(patched_spec(spec, replace), json!({"containers": [{"name": "only"}]}));
}

#[test]
fn maps_are_replaced_and_emptied_by_directive() {
    let spec = json!({"nodeSelector": {"a": "1", "b": "2"}, "containers": []});
    let replace = json!({"nodeSelector": {"$patch": "replace", "c": "3"}});
    assert_eq!(patched_spec(spec.clone(), replace)["nodeSelector"], json!({"c": "3"}));
    let delete = json!({"nodeSelector": {"$patch": "delete"}});
    assert_eq!(patched_spec(spec.clone(), delete)["nodeSelector"], json!({}));
    let null = json!({"nodeSelector": {"a": null, "z": null}});
    assert_eq!(patched_spec(spec, null)["nodeSelector"], json!({"b": "2"}));
}

#[test]
fn retained_keys_clear_the_others() {
    let document = json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}});
    let patch = json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}});
    assert_eq!(patched(document.clone(), patch).unwrap(), json!({"spec": {"strategy": {"type": "Recreate"}}}));
    let patch = json!({"spec": {"strategy": {"$retainKeys": ["type"], "rollingUpdate": {"maxSurge": 2}}}});
    let status: Status = patched(document, patch).unwrap_err().into();
    assert_eq!((status.code, status.message.as_str()), (400, "invalid patch format of retainKeys"));
}

#[test]
fn sets_of_scalars_merge_and_lose_values() {
    let document = json!({"metadata": {"finalizers": ["a.com/x"]}});
    let both = patched(document, json!({"metadata": {"finalizers": ["b.com/y"]}})).unwrap();
    assert_eq!(both, json!({"metadata": {"finalizers": ["b.com/y", "a.com/x"]}}));
    let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a.com/x", "c"]}});
    assert_eq!(patched(both, patch).unwrap(), json!({"metadata": {"finalizers": ["b.com/y"]}}));
    let status: Status =
        patched(json!({"metadata": {}}), json!({"metadata": {"$deleteFromPrimitiveList": []}})).unwrap_err().into();
    assert_eq!((status.code, status.message.as_str()), (400, "invalid patch format of primitive list"));
}

#[test]
fn an_order_is_obeyed_and_the_others_keep_their_places() {
    let named = |names: &[&str]| names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>();
    let spec = json!({"containers": named(&["a", "server", "b"])});
    let patch = json!({
        "$setElementOrder/containers": named(&["b", "new", "a"]),
        "containers": [{"name": "new", "image": "x"}]
    });
    let list = patched_spec(spec, patch)["containers"].as_array().cloned().unwrap();
    let names: Vec<_> = list.iter().map(|item| item["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["server", "b", "new", "a"]);
}

#[test]
fn an_order_that_contradicts_the_patch_is_refused() {
    let named = |names: &[&str]| names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>();
    let patch = json!({"$setElementOrder/containers": named(&["a"]), "containers": named(&["b"])});
    let (code, message) = refused(json!({"containers": []}), patch);
    assert_eq!(code, 500);
    let expected = "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n";
    assert_eq!(message, expected);
}

#[test]
fn patches_that_contradict_the_kind_are_refused_with_the_field() {
    let spec = json!({"containers": [{"name": "c"}]});
    let (code, message) = refused(spec.clone(), json!({"containers": [{"image": "nope"}]}));
    assert_eq!((code, message.as_str()), (500, "map: map[image:nope] does not contain declared merge key: name"));
    let (code, message) = refused(spec.clone(), json!({"containers": [{"$patch": "explode", "name": "c"}]}));
    assert_eq!((code, message.as_str()), (500, "unknown patch type: explode in map: map[$patch:explode name:c]"));
    let (code, _) = refused(spec.clone(), json!({"containers": [[]]}));
    assert_eq!(code, 500);
    let (code, _) = refused(json!({"containers": [[]]}), json!({"containers": [[]]}));
    assert_eq!(code, 422);
    let (code, message) = refused(spec, json!({"$setElementOrder/containers": "x"}));
    assert_eq!((code, message.as_str()), (500, "expected a []interface {}, but received a string"));
}

#[test]
fn new_values_contain_no_directives_and_nulls() {
    let patch = json!({"containers": [{"name": "c", "image": null, "env": [{"name": "A", "$patch": "delete"}, {"name": "B"}]}]});
    assert_eq!(patched_spec(json!({}), patch), json!({"containers": [{"name": "c", "env": [{"name": "B"}]}]}));
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![Just(json!(null)), Just(json!(1)), Just(json!("c")), Just(json!("replace")), Just(json!("delete"))];
    let name = prop_oneof![
        Just("spec"),
        Just("template"),
        Just("containers"),
        Just("name"),
        Just("ports"),
        Just("containerPort"),
        Just("env"),
        Just("metadata"),
        Just("finalizers"),
        Just("strategy"),
        Just("$patch"),
        Just("$retainKeys"),
        Just("$setElementOrder/containers"),
        Just("$deleteFromPrimitiveList/finalizers"),
        Just("$setElementOrder")
    ];
    leaf.prop_recursive(6, 48, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(name.clone(), inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #[test]
    fn no_strategic_patch_panics(document in json_value(), patch in json_value()) {
        let _ = patched(document, patch);
    }

    #[test]
    fn a_patch_without_directives_may_be_applied_twice(spec in 0..3i64, names in proptest::collection::btree_set("[a-e]", 0..4)) {
        let containers: Vec<_> = names.iter().map(|name| json!({"name": name, "image": "i"})).collect();
        let patch = json!({"spec": {"replicas": spec, "template": {"spec": {"containers": containers}}}});
        let document = json!({"spec": {"template": {"spec": {"containers": [{"name": "c"}, {"name": "x"}]}}}});
        let once = patched(document, patch.clone()).unwrap();
        prop_assert_eq!(patched(once.clone(), patch).unwrap(), once);
    }
}
