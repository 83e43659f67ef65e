use coracle_meta::{GroupVersionKind, Object, WatchEventType};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{LIST_TAIL, encode, encode_watch_event, list_head, list_item_length, push_list_item, seal, transcode};
use crate::decode::{Format, decode, normalize};
use crate::sample::{Choices, value};
use crate::{KindSchema, Table};

/// Every kind that has a type, with its schema; a watch event names no kind.
fn kinds() -> Vec<(GroupVersionKind, KindSchema)> {
    let table = Table::newest();
    let kinds = table.types().flat_map(|ty| &ty.kinds);
    let named = kinds.filter_map(|kind| Some((kind.clone(), table.kind(kind)?)));
    named.filter(|(_, schema)| schema.root().field("kind").is_some()).collect()
}

fn pod() -> (GroupVersionKind, KindSchema) {
    let kind = GroupVersionKind::new("", "v1", "Pod");
    let schema = Table::newest().kind(&kind).unwrap();
    (kind, schema)
}

/// The message of a tree, without its envelope.
fn long_way(tree: &Value, schema: &KindSchema) -> Vec<u8> {
    let mut message = Vec::new();
    super::encode::object(tree.as_object().unwrap(), schema.root(), &mut message);
    message
}

/// A tree as JSON; with spaces, values that are copied as they are stand in the message with spaces, too.
fn written(tree: &Value, spaced: bool) -> Vec<u8> {
    let holds_copied_values = |text: &str| ["f:a", "[1]"].iter().any(|part| text.contains(part));
    let text = tree.to_string();
    if spaced && !holds_copied_values(&text) { serde_json::to_vec_pretty(tree).unwrap() } else { text.into_bytes() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_kind_survives_the_way_through_protobuf(seed in any::<u64>(), which in any::<prop::sample::Index>()) {
        let kinds = kinds();
        let (kind, schema) = &kinds[which.index(kinds.len())];
        let mut object = Object::from_value(value(schema.root(), &mut Choices::new(seed))).unwrap();
        object.set_kind(kind);
        let normal = normalize(object, schema).unwrap().object;
        let bytes = encode(normal.tree(), schema);
        let read = decode(&bytes, Format::Protobuf, kind, schema).unwrap();
        prop_assert_eq!(read.object.to_value(), normal.to_value());
        prop_assert!(read.strict.is_empty());
    }

    #[test]
    fn text_becomes_the_same_message_as_a_tree(seed in any::<u64>(), which in any::<prop::sample::Index>()) {
        let kinds = kinds();
        let (kind, schema) = &kinds[which.index(kinds.len())];
        let mut object = Object::from_value(value(schema.root(), &mut Choices::new(seed))).unwrap();
        object.set_kind(kind);
        let object = normalize(object, schema).unwrap().object;
        let text = serde_json::to_vec(object.tree()).unwrap();
        prop_assert_eq!(seal(kind, &transcode(&text, schema).unwrap()), encode(object.tree(), schema));
    }

    #[test]
    fn values_of_wrong_types_become_the_same_message_too(seed in any::<u64>(), which in any::<[prop::sample::Index; 2]>(), spaced in any::<bool>()) {
        let kinds = kinds();
        let [(_, of_object), (_, of_message)] = which.map(|which| &kinds[which.index(kinds.len())]);
        let object = value(of_object.root(), &mut Choices::new(seed));
        prop_assert_eq!(long_way(&object, of_message), transcode(&written(&object, spaced), of_message).unwrap());
    }

    #[test]
    fn no_bytes_make_the_conversion_panic(seed in any::<u64>(), cut in any::<prop::sample::Index>(), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..5)) {
        let (_, schema) = pod();
        let mut bytes = written(&value(schema.root(), &mut Choices::new(seed)), false);
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        let _ = transcode(&bytes, &schema);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(seed in any::<u64>(), cut in any::<prop::sample::Index>(), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20)) {
        let (kind, schema) = pod();
        let mut object = Object::from_value(value(schema.root(), &mut Choices::new(seed))).unwrap();
        object.set_kind(&kind);
        let mut bytes = encode(object.tree(), &schema);
        for (at, byte) in flips {
            let at = at.index(bytes.len() - 4) + 4;
            bytes[at] = byte;
        }
        bytes.truncate(4 + cut.index(bytes.len() - 3));
        let _ = decode(&bytes, Format::Protobuf, &kind, &schema);
    }
}

#[test]
fn a_list_of_messages_is_the_list_of_their_objects() {
    let (_, schema) = pod();
    let kind = GroupVersionKind::new("", "v1", "PodList");
    let list_schema = Table::newest().kind(&kind).unwrap();
    let pods: Vec<Value> = (0..3).map(|n| json!({"metadata": {"name": "x".repeat(n * 100)}})).collect();
    let head = json!({"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "7"}});
    let mut whole = head.clone();
    whole["items"] = pods.clone().into();
    let messages: Vec<_> = pods.iter().map(|pod| transcode(pod.to_string().as_bytes(), &schema).unwrap()).collect();
    let items = messages.iter().map(|message| list_item_length(message.len())).sum();
    let mut bytes = list_head(head.as_object().unwrap(), &list_schema, items);
    messages.iter().for_each(|message| push_list_item(message, &mut bytes));
    bytes.extend_from_slice(LIST_TAIL);
    assert_eq!(bytes, encode(whole.as_object().unwrap(), &list_schema));
}

#[test]
fn go_writes_the_same_bytes() {
    let (kind, schema) = pod();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
        "spec": {"volumes": [{"name": "v", "emptyDir": {}}]}});
    let bytes = encode(pod.as_object().unwrap(), &schema);
    let want: &[u8] = &[
        b'k', b'8', b's', 0, // the magic
        10, 9, 10, 2, b'v', b'1', 18, 3, b'P', b'o', b'd', // TypeMeta
        18, 16, 10, 3, 10, 1, b'a', // metadata.name
        18, 9, 10, 7, 10, 1, b'v', 18, 2, 18, 0, // spec.volumes[0].name, and emptyDir inside volumeSource
        26, 0, 34, 0,
    ];
    assert_eq!(bytes, want);
    let read = decode(&bytes, Format::Protobuf, &kind, &schema).unwrap().object;
    assert_eq!(read.field("spec.volumes").unwrap()[0]["emptyDir"], json!({}));
}

#[test]
fn invalid_messages_are_refused_in_gos_words() {
    let (kind, schema) = pod();
    let refuse = |body: &[u8]| decode(body, Format::Protobuf, &kind, &schema).unwrap_err().message;
    assert!(refuse(b"").ends_with(": empty data (<empty>)"));
    let no_magic = refuse(b"[]");
    assert!(no_magic.contains("expected prefix [107 56 115 0] (5b5d)"), "{no_magic}");
    assert!(refuse(b"k8s\0\x12\xff\xff\xff\xff\x0f").contains("unexpected EOF"));
}

#[test]
fn messages_that_nest_without_end_are_refused() {
    let kind = GroupVersionKind::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let schema = Table::newest().kind(&kind).unwrap();
    let mut nested = json!({"type": "object"});
    for _ in 0..300 {
        nested = json!({ "not": nested });
    }
    let crd: Value = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {"versions": [{"schema": {"openAPIV3Schema": nested}}]}});
    let bytes = encode(crd.as_object().unwrap(), &schema);
    let error = decode(&bytes, Format::Protobuf, &kind, &schema).unwrap_err();
    assert!(error.message.contains("nest too deep"), "{}", error.message);
}

#[test]
fn a_watch_frame_says_its_length() {
    let frame = encode_watch_event(WatchEventType::Added, b"k8s\0");
    assert_eq!(frame, [0, 0, 0, 15, 10, 5, b'A', b'D', b'D', b'E', b'D', 18, 6, 10, 4, b'k', b'8', b's', 0]);
}

#[test]
fn a_list_that_is_a_type_of_its_own_in_go_is_a_message_of_its_own() {
    let kind = GroupVersionKind::new("", "v1", "APIResourceList");
    let schema = Table::newest().kind(&kind).unwrap();
    let list = json!({"resources": [{"name": "a", "verbs": ["get", "list"]}]});
    let resource = b"\x0a\x01a\x22\x0b\x0a\x03get\x0a\x04list";
    let message = transcode(list.to_string().as_bytes(), &schema).unwrap();
    assert_eq!(message, [&[0x12, resource.len() as u8], resource.as_slice()].concat());
    let read = decode(&seal(&kind, &message), Format::Protobuf, &kind, &schema).unwrap();
    assert_eq!(read.object.to_value()["resources"][0]["verbs"], json!(["get", "list"]));
}

#[test]
fn names_in_any_order_and_unknown_fields_become_the_same_message() {
    let (_, schema) = pod();
    let text = r#"{"status":{"phase":"Running"}, "x": [{"a": "]}\""}, 1.5e3, null],
        "spec":{"nodeName":"a","x":{},"containers":[{"image":"b\u00e9\ud83d\ude00","name":"c","ports":[null,{"containerPort":80}]}]},
        "metadata":{"uid":"u","name":"n","labels":{"k\"":"v"},"creationTimestamp":null}}"#;
    let tree: Value = serde_json::from_str(text).unwrap();
    assert_eq!(transcode(text.as_bytes(), &schema).unwrap(), long_way(&tree, &schema));
    for cut in ["", "{", r#"{"spec""#, r#"{"spec":"#, r#"{"x":[1"#, r#"{"x":"a"#, "{} x"] {
        assert!(transcode(cut.as_bytes(), &schema).is_err(), "{cut}");
    }
}
