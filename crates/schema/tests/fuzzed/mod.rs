//! What the targets of `fuzz` do with their bytes, and the tests with those of `fuzz/corpus`.
#![allow(clippy::allow_attributes, dead_code, reason = "each target uses one of these")]

use coracle_meta::{FieldSelector, GroupVersionKind, LabelSelector, Object};
use coracle_schema::apply::{Booking, Filter, OneVersion, managed_fields};
use coracle_schema::decode::{self, Format, from_unstructured, normalize};
use coracle_schema::patch::{JsonPatch, merge_patch, strategic_merge_patch};
use coracle_schema::sample::{self, Choices};
use coracle_schema::{KindSchema, Table, apply::TablePlace, protobuf};
use serde_json::{Value, json};

/// The kinds whose shapes differ most.
const KINDS: [(&str, &str, &str); 8] = [
    ("", "v1", "Pod"),
    ("", "v1", "Service"),
    ("", "v1", "Secret"),
    ("", "v1", "Node"),
    ("apps", "v1", "Deployment"),
    ("autoscaling", "v2", "HorizontalPodAutoscaler"),
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
    ("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema"),
];

fn kind(number: u8) -> (GroupVersionKind, KindSchema) {
    let (group, version, kind) = KINDS[usize::from(number) % KINDS.len()];
    let kind = GroupVersionKind::new(group, version, kind);
    let schema = Table::newest().kind(&kind).expect("a built-in kind");
    (kind, schema)
}

/// An object of a kind, always the same for a number.
fn object(kind: &GroupVersionKind, schema: &KindSchema, number: u8) -> Value {
    let mut object = sample::value(schema.root(), &mut Choices::new(u64::from(number)));
    object["apiVersion"] = kind.api_version().into();
    object["kind"] = kind.kind.clone().into();
    object["metadata"] = json!({"name": "x", "labels": {"a": "b"}});
    object
}

/// Reads a body: a byte for the kind, one for the format, then the body. What is read is stored once and for all: doing
/// it again, or by way of protobuf, changes nothing.
pub(crate) fn body(bytes: &[u8]) {
    let [number, format, body @ ..] = bytes else { return };
    let (kind, schema) = kind(*number);
    let format = [Format::Json, Format::Yaml, Format::Protobuf][usize::from(*format) % 3];
    let Ok(read) = decode::decode(body, format, &kind, &schema) else { return };
    let Ok(stored) = normalize(read.object, &schema) else { return };
    let again = normalize(stored.object.clone(), &schema).expect("what is stored can be read");
    assert_eq!(again.object.to_value(), stored.object.to_value(), "stored twice");
    let message = protobuf::encode(stored.object.tree(), &schema);
    let back = decode::decode(&message, Format::Protobuf, &kind, &schema).expect("what was written can be read");
    let back = normalize(back.object, &schema).expect("what was written can be stored");
    assert_eq!(back.object.to_value(), stored.object.to_value(), "by way of protobuf");
}

/// Applies a patch: a byte for the kind, one for the object, one for the language, then the patch.
pub(crate) fn patch(bytes: &[u8]) {
    let [number, seed, language, patch @ ..] = bytes else { return };
    let (kind, schema) = kind(*number);
    let document = object(&kind, &schema, *seed);
    let Ok((patch, _)) = decode::parse(patch, Format::Json) else { return };
    let patched = match language % 3 {
        0 => JsonPatch::parse(patch).ok().and_then(|(patch, _)| patch.apply(document).ok()),
        1 => merge_patch(document, patch.clone()).ok().inspect(|once| {
            assert_eq!(merge_patch(once.clone(), patch).as_ref(), Ok(once), "merged twice");
        }),
        _ => strategic_merge_patch(document, patch, TablePlace::root(&schema))
            .ok()
            .and_then(|merged| from_unstructured(merged, &schema).ok()),
    };
    let Some(Ok(read)) = patched.map(|patched| decode::decode_value(patched, &schema)) else { return };
    let _ = normalize(read.object, &schema);
}

/// Applies a configuration: a byte for the kind, one for the object, then the configuration. Who applies the same again
/// changes nothing, unless the object cannot hold what the configuration says: a key of a list that is read as another
/// value makes an item anew each time.
pub(crate) fn apply(bytes: &[u8]) {
    let [number, seed, config @ ..] = bytes else { return };
    let (kind, schema) = kind(*number);
    let Ok((mut config, _)) = decode::parse(config, Format::Yaml) else { return };
    if let Value::Object(fields) = &mut config {
        fields.insert("apiVersion".to_owned(), kind.api_version().into());
        fields.insert("kind".to_owned(), kind.kind.clone().into());
    }
    let Ok(live) = Object::from_value(object(&kind, &schema, *seed)) else { return };
    let Ok(live) = normalize(live, &schema) else { return };
    let api_version = kind.api_version();
    let versions = OneVersion { api_version: &api_version, schema: &schema, filter: Filter::default() };
    let time = "2026-01-01T00:00:00Z".to_owned();
    let booking = Booking { versions, api_version: &api_version, manager: "m", subresource: "", time };
    let Ok(once) = managed_fields::apply(&booking, &live.object.to_value(), &config, true) else { return };
    let Some(once) = stored(once, &schema) else { return };
    let held = decode::decode_value(config.clone(), &schema).is_ok_and(|read| holds(read.object.as_value(), &config));
    if !held {
        return;
    }
    let twice = managed_fields::apply(&booking, &once, &config, true).expect("what was applied can be applied again");
    assert_eq!(stored(twice, &schema), Some(once), "applied twice");
}

/// Whether all that `said` says is in `object`.
fn holds(object: &Value, said: &Value) -> bool {
    match (object, said) {
        (Value::Object(fields), Value::Object(said)) => {
            said.iter().all(|(name, said)| fields.get(name).is_some_and(|value| holds(value, said)))
        }
        (Value::Array(items), Value::Array(said)) => {
            items.len() == said.len() && items.iter().zip(said).all(|(value, said)| holds(value, said))
        }
        _ => object == said,
    }
}

fn stored(applied: Value, schema: &KindSchema) -> Option<Value> {
    let read = decode::decode_value(from_unstructured(applied, schema).ok()?, schema).ok()?;
    Some(normalize(read.object, schema).ok()?.object.to_value())
}

/// Reads selectors: what they print is read as the same.
pub(crate) fn selectors(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(selector) = LabelSelector::parse(text) {
        assert_eq!(LabelSelector::parse(&selector.to_string()), Ok(selector), "{text:?}");
    }
    if let Ok(selector) = FieldSelector::parse(text) {
        // Conditions stand in the order of their text, which changes when two on one field are printed.
        let sorted = |selector: &FieldSelector| {
            let mut texts: Vec<String> = selector.requirements.iter().map(|one| format!("{one:?}")).collect();
            texts.sort();
            texts
        };
        let again = FieldSelector::parse(&selector.to_string()).map(|again| sorted(&again));
        assert_eq!(again, Ok(sorted(&selector)), "{text:?}");
    }
}
