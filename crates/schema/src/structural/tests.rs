//! What a custom resource's schema lets in, fills in, prunes and refuses.

use std::sync::Arc;

use coracle_meta::{FieldError, GroupVersionKind};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::apply::{TablePlace, field_set};
use crate::decode::{Format, decode};

fn schema(fields: Value) -> Structural {
    Structural::from_json(&json!({"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}))
}

fn fields(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// The errors of a resource with this `spec`, as `field: message`.
fn errors(schema: &Structural, spec: Value) -> Vec<String> {
    let mut texts: Vec<_> = schema.validate(&json!({"spec": spec}), "").iter().map(FieldError::message).collect();
    texts.sort();
    texts
}

#[test]
fn undeclared_fields_go_and_are_named() {
    let schema = schema(json!({
        "known": {"type": "string"},
        "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
            "strict": {"type": "object", "properties": {"a": {"type": "string"}}}
        }}
    }));
    let mut resource = fields(json!({
        "apiVersion": "x/v1", "kind": "X", "metadata": {"name": "x", "labels": {}}, "other": 1,
        "spec": {
            "known": "a", "unknown": 1, "list": [{"a": "1"}, {"b": 1}], "map": {"k": {"a": "", "b": 1}},
            "free": {"any": {"thing": 1}, "strict": {"b": 1}}
        }
    }));
    let unknown = schema.prune(&mut resource);
    assert_eq!(unknown, ["other", "spec.free.strict.b", "spec.list[1].b", "spec.map.k.b", "spec.unknown"]);
    let left = json!({"known": "a", "list": [{"a": "1"}, {}], "map": {"k": {"a": ""}}, "free": {"any": {"thing": 1}, "strict": {}}});
    assert_eq!(resource["spec"], left);
    assert_eq!(resource["metadata"], json!({"name": "x", "labels": {}}));
}

#[test]
fn defaults_stand_in_for_what_is_missing_and_for_null_where_null_is_no_value() {
    let schema = schema(json!({
        "colour": {"type": "string", "default": "red"},
        "maybe": {"type": "string", "nullable": true, "default": "x"},
        "plain": {"type": "string"},
        "crew": {"type": "array", "items": {"type": "object", "properties": {"rank": {"type": "integer", "default": 1}}}},
        "nested": {"type": "object", "default": {}, "properties": {"a": {"type": "integer", "default": 7}}}
    }));
    let mut resource =
        fields(json!({"spec": {"colour": null, "maybe": null, "plain": null, "crew": [{}, {"rank": 3}]}}));
    schema.drop_nulls(&mut resource);
    schema.default_fields(&mut resource);
    let expected = json!({"colour": "red", "maybe": null, "crew": [{"rank": 1}, {"rank": 3}], "nested": {"a": 7}});
    assert_eq!(resource["spec"], expected);
    let once = resource.clone();
    schema.default_fields(&mut resource);
    assert_eq!(resource, once);
    let mut applied = fields(json!({"spec": {"colour": null, "plain": null}}));
    schema.default_fields(&mut applied);
    assert_eq!(applied["spec"]["plain"], Value::Null, "a default replaces a null, and its absence drops none");
    assert_eq!(applied["spec"]["colour"], json!("red"));
}

#[test]
fn a_resource_within_a_resource_has_the_metadata_of_the_api() {
    let schema = schema(json!({"inner": {
        "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true
    }}));
    let kind = GroupVersionKind::new("example.com", "v1", "X");
    let kind_schema = Arc::new(schema).kind_schema(&kind);
    let value = json!({"spec": {"inner": {"kind": "K", "metadata": {"labels": {"a": "b"}}, "data": {"c": 1}}}});
    let owned = field_set(TablePlace::root(&kind_schema), &value).texts();
    let metadata: Vec<_> = owned.iter().filter(|path| path.contains("metadata")).collect();
    assert_eq!(metadata, [".spec.inner.metadata.labels.a"], "the fields of a struct are not owned by themselves");
    assert!(owned.contains(&".spec.inner.data".to_owned()), "{owned:?}");
}

#[test]
fn errors_read_as_in_kubernetes() {
    let schema = schema(json!({
        "oars": {"type": "integer", "minimum": 0, "maximum": 20},
        "colour": {"type": "string", "enum": ["red", "green"]},
        "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 8},
        "when": {"type": "string", "format": "date-time"},
        "port": {"x-kubernetes-int-or-string": true},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "list": {"type": "array", "maxItems": 1, "items": {"type": "object", "required": ["name"]}}
    }));
    let spec = json!({
        "oars": 99, "colour": "pink", "name": "TOOLONGNAME", "when": "yesterday", "port": true, "map": {"x": "1"},
        "list": [{"name": "a"}, {}]
    });
    let expected = [
        "spec.colour: Unsupported value: \"pink\": supported values: \"red\", \"green\"",
        "spec.list: Too many: 2: must have at most 1 item",
        "spec.list[1].name: Required value",
        "spec.map.x: Invalid value: \"string\": spec.map.x in body must be of type integer: \"string\"",
        "spec.name: Too long: may not be more than 8 bytes",
        "spec.oars: Invalid value: 99: spec.oars in body should be less than or equal to 20",
        "spec.port: Invalid value: \"boolean\": spec.port in body must be of type integer,string: \"boolean\"",
        "spec.when: Invalid value: \"yesterday\": spec.when in body must be of type date-time: \"yesterday\"",
    ];
    assert_eq!(errors(&schema, spec), expected);
    assert!(errors(&schema, json!({"oars": 1.0, "when": "2026-01-01T00:00:00Z", "port": "http"})).is_empty());
    assert_eq!(
        errors(&schema, json!({"oars": null})),
        ["spec.oars: Invalid value: \"null\": spec.oars in body must be of type integer: \"null\""]
    );
}

#[test]
fn errors_stand_in_the_order_in_which_kubernetes_looks() {
    let schema = Structural::from_json(&json!({
        "type": "object", "enum": [{}], "minProperties": 5, "required": ["z"], "additionalProperties": false,
        "properties": {"b": {"type": "string", "format": "date", "pattern": "^x"}, "a": {"type": "array", "minItems": 2, "items": {"type": "integer"}}}
    }));
    let found: Vec<_> =
        schema.validate(&json!({"x": 1, "b": "y", "a": ["no"]}), "").iter().map(|error| error.field.clone()).collect();
    assert_eq!(found, ["", "", "x", "a[0]", "a", "b", "b", "z"], "enum, count, unknown, known, missing");
}

#[test]
fn of_several_alternatives_the_best_match_reports_its_errors() {
    let schema = schema(json!({"x": {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}}));
    assert!(errors(&schema, json!({"x": {"a": 1}})).is_empty());
    let none = "<nil>: Invalid value: \"\": \"spec.x\" must validate one and only one schema (oneOf). Found none valid";
    assert_eq!(errors(&schema, json!({"x": {}})), [none, "spec.x.a: Required value"]);
    let both = "<nil>: Invalid value: \"\": \"spec.x\" must validate one and only one schema (oneOf). Found 2 valid alternatives";
    assert_eq!(errors(&schema, json!({"x": {"a": 1, "b": 1}})), [both]);
}

#[test]
fn sets_and_maps_hold_no_item_twice() {
    let schema = schema(json!({
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "crew": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}}
    }));
    let resource = fields(json!({"spec": {"tags": ["a", "b", "a", "a"], "crew": [{"name": "x"}, {"name": "x"}]}}));
    let messages: Vec<_> = schema.doubled_items(&resource).iter().map(FieldError::message).collect();
    let expected = [r#"spec.crew[1]: Duplicate value: {"name":"x"}"#, r#"spec.tags[2]: Duplicate value: "a""#];
    assert_eq!(messages, expected);
}

#[test]
fn a_schema_has_to_be_structural() {
    let check = |schema: Value| -> Vec<String> {
        let found =
            SchemaErrors::of(&schema, "s", |schema, path| schema.wrong_defaults(path, &mut |_, _, _| Vec::new()));
        found.structural.iter().chain(&found.keywords).map(FieldError::message).collect()
    };
    assert!(check(json!({"type": "object"})).is_empty());
    let untyped = json!({"type": "object", "properties": {"spec": {"properties": {"a": {"type": "string"}}}}});
    assert_eq!(
        check(untyped),
        ["s.properties[spec].type: Required value: must not be empty for specified object fields"]
    );
    assert_eq!(check(json!({})), ["s.type: Required value: must not be empty at the root"]);
    let default = json!({"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}});
    assert_eq!(
        check(default),
        ["s.properties[a].default: Invalid value: \"string\":  in body must be of type integer: \"string\""]
    );
    let nested = json!({"type": "object", "anyOf": [{"type": "object"}]});
    assert_eq!(check(nested), ["s.anyOf[0].type: Forbidden: must be empty to be structural"]);
    let list = json!({"type": "object", "properties": {"l": {"type": "array"}}});
    assert_eq!(check(list), ["s.properties[l].items: Required value: must be specified"]);
}

#[test]
fn bodies_of_custom_kinds_are_pruned_and_their_metadata_is_typed() {
    let structural = Arc::new(schema(
        json!({"oars": {"type": "integer"}, "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}),
    ));
    let kind = GroupVersionKind::new("example.com", "v1", "Boat");
    let kind_schema = structural.kind_schema(&kind);
    let body = json!({
        "apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "b", "creationTimestamp": null, "bogus": 1},
        "spec": {"oars": "two", "extra": 1, "free": {"x": null}}
    });
    let decoded = decode(body.to_string().as_bytes(), Format::Json, &kind, &kind_schema).unwrap();
    assert_eq!(decoded.strict, ["unknown field \"metadata.bogus\"", "unknown field \"spec.extra\""]);
    assert_eq!(decoded.object.field("spec"), Some(&json!({"oars": "two", "free": {"x": null}})));
    assert_eq!(decoded.object.field("metadata"), Some(&json!({"name": "b"})));
    let place = TablePlace::root(&kind_schema);
    let set = field_set(place, &json!({"metadata": {"labels": {"a": "b"}}, "spec": {"oars": 1, "free": {"x": [1]}}}));
    assert_eq!(set.texts(), [".metadata.labels.a", ".spec.oars", ".spec.free.x"]);
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        any::<i8>().prop_map(Value::from),
        Just(json!(1.5)),
        "[a-z]{0,4}".prop_map(Value::from),
        Just(json!("object")),
        Just(json!("array")),
        Just(json!("string")),
        Just(json!("integer"))
    ];
    let name = prop_oneof![
        Just("type"),
        Just("properties"),
        Just("items"),
        Just("additionalProperties"),
        Just("default"),
        Just("enum"),
        Just("required"),
        Just("anyOf"),
        Just("not"),
        Just("nullable"),
        Just("x-kubernetes-list-type"),
        Just("a"),
        Just("b"),
        Just("x-kubernetes-preserve-unknown-fields"),
        Just("format"),
        Just("pattern"),
        Just("minimum"),
        Just("multipleOf")
    ];
    leaf.prop_recursive(5, 40, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map(name.clone(), inner, 0..5).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #[test]
    fn no_schema_and_no_value_panics(schema in json_value(), value in json_value()) {
        SchemaErrors::of(&schema, "s", |schema, path| schema.wrong_defaults(path, &mut |_, _, _| Vec::new()));
        let schema = Structural::from_json(&schema);
        schema.validate(&value, "");
        let mut resource = fields(value);
        schema.doubled_items(&resource);
        schema.prune(&mut resource);
        schema.drop_nulls(&mut resource);
        schema.default_fields(&mut resource);
        let kind = GroupVersionKind::new("example.com", "v1", "X");
        let kind_schema = Arc::new(schema).kind_schema(&kind);
        field_set(TablePlace::root(&kind_schema), &Value::Object(resource));
    }

    #[test]
    fn pruning_twice_is_pruning_once(schema in json_value(), value in json_value()) {
        let schema = Structural::from_json(&schema);
        let mut resource = fields(value);
        schema.prune(&mut resource);
        let once = resource.clone();
        prop_assert!(schema.prune(&mut resource).is_empty());
        prop_assert_eq!(resource, once);
    }
}

#[test]
fn texts_are_held_to_their_formats() {
    let held = |format: &str, good: &[&str], bad: &[&str]| {
        let schema = schema(json!({"x": {"type": "string", "format": format}}));
        good.iter().for_each(|text| assert!(errors(&schema, json!({"x": text})).is_empty(), "{format} {text}"));
        bad.iter().for_each(|text| assert_eq!(errors(&schema, json!({"x": text})).len(), 1, "{format} {text}"));
    };
    held("date-time", &["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5+01:00"], &["2026-01-01", "x"]);
    held("date", &["2026-02-28"], &["2026-02-30", "today"]);
    held("duration", &["1h30m", "22 ns", "3 days", "1.5h", "0"], &["", "h", "1 parsec"]);
    held("uuid", &["11111111-1111-1111-1111-111111111111"], &["1111", "g1111111-1111-1111-1111-111111111111"]);
    held("ipv4", &["10.0.0.1"], &["::1", "10.0.0"]);
    held("cidr", &["10.0.0.0/8", "fd00::/8"], &["10.0.0.0", "10.0.0.0/33"]);
    held("byte", &["", "aGk="], &["aGk", "!!!!"]);
    held("email", &["a@b.c"], &["ab.c"]);
    held("mac", &["00:1b:44:11:3a:b7"], &["00:1b"]);
    held("k8s-short-name", &["web"], &["Web_"]);
    held("unheard-of", &["x", ""], &[]);
}

#[test]
fn a_long_key_is_not_copied_for_each_field_below_it() {
    let schema = Structural::from_json(&json!({"type": "object", "properties": {"spec": {
        "type": "object", "additionalProperties": {"type": "object", "properties": {
            "numbers": {"type": "array", "items": {"type": "integer"}},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        }}
    }}}));
    let below = |value: Value| json!({"spec": {"k".repeat(1 << 20): value}});
    #[expect(clippy::disallowed_methods, reason = "what would take hours must not take a minute")]
    let time = std::time::Instant::now();

    let right = below(json!({"numbers": vec![1; 300_000]}));
    assert_eq!(schema.validate(&right, "").len(), 0);
    let wrong = below(json!({"numbers": vec!["a"; 300_000]}));
    let errors = schema.validate(&wrong, "");
    assert_eq!(errors.len(), 300_000);
    assert!(errors[0].field.starts_with("spec.kk") && errors[0].field.ends_with("k…[0]"), "{}", errors[0].field.len());
    assert!(errors.iter().map(|error| error.field.len() + error.detail.len()).sum::<usize>() < 20 << 20);

    let twice: Vec<_> = (0..100_000).map(|at| (at / 2).to_string()).collect();
    let errors = schema.doubled_items(below(json!({"set": twice})).as_object().unwrap());
    assert_eq!(errors.len(), 50_000);
    assert!(errors.iter().map(|error| error.field.len()).sum::<usize>() < 17 << 20);

    let unknown: Map<_, _> = (0..100_000).map(|at| (format!("unknown{at}"), json!(1))).collect();
    let names = schema.prune(below(Value::Object(unknown)).as_object_mut().unwrap());
    assert!(names.iter().map(String::len).sum::<usize>() < 17 << 20);
    assert!(time.elapsed().as_secs() < 60, "{:?}", time.elapsed());
}
