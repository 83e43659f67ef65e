//! Detects objects that already have the form in which they are stored, so that they need no rebuilding.
//!
//! The check is conservative: an accepted object is one that [`Pass`](super::typed::Pass) would not change.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use coracle_meta::Quantity;
use serde_json::{Map, Value};

use super::typed::{is_zero, zero};
use crate::go_time::{GoTime, Layout, is_plain};
use crate::table::{Presence, Special, Struct, TypeNode, TypeRef};

/// Whether a value that is not `null` is normal. Parts that equal those of `known`, a normal value of the same type, are
/// not checked.
pub(crate) fn is_normal(value: &Value, known: Option<&Value>, ty: TypeRef<'_>) -> bool {
    match (ty.node(), value) {
        (_, Value::Null) => false,
        (TypeNode::String, Value::String(_)) | (TypeNode::Bool, Value::Bool(_)) | (TypeNode::Any, _) => true,
        (TypeNode::Int32, value) => is_int32(value),
        (TypeNode::Int64, value) => value.is_i64(),
        (TypeNode::Bytes, Value::String(text)) => STANDARD.decode(text).is_ok(),
        (TypeNode::Struct(body), Value::Object(fields)) => is_normal_struct(fields, known, body, ty),
        (TypeNode::List, Value::Array(elements)) => ty.element().is_some_and(|ty| {
            let known = |at: usize| known.and_then(|known| known.get(at));
            elements.iter().enumerate().all(|(at, element)| is_normal_part(element, known(at), ty))
        }),
        (TypeNode::Map, Value::Object(fields)) => ty.element().is_some_and(|ty| {
            fields.iter().all(|(name, value)| is_normal_part(value, known.and_then(|known| known.get(name)), ty))
        }),
        (TypeNode::Special(special), value) => is_normal_special(value, special),
        _ => false,
    }
}

fn is_normal_part(value: &Value, known: Option<&Value>, ty: TypeRef<'_>) -> bool {
    is_known(value, known, ty) || is_normal(value, known, ty)
}

/// Whether a value equals a normal one. Plain values are not compared: a look at their type costs less.
fn is_known(value: &Value, known: Option<&Value>, ty: TypeRef<'_>) -> bool {
    let may_be_long = matches!(value, Value::Object(_) | Value::Array(_)) || matches!(ty.node(), TypeNode::Special(_));
    may_be_long && known == Some(value)
}

fn is_normal_struct(fields: &Map<String, Value>, known: Option<&Value>, body: &Struct, ty: TypeRef<'_>) -> bool {
    let mut printed_always = 0;
    for (name, value) in fields {
        let Some(field) = body.field(name) else {
            if body.preserves_unknown {
                continue;
            }
            return false;
        };
        let field_type = ty.of(field);
        let known = known.and_then(|known| known.get(name));
        let is_empty = || is_zero(value, field_type);
        let is_always = matches!(field.presence, Presence::Always | Presence::OrNull);
        printed_always += usize::from(is_always);
        let is_normal = match field.presence {
            _ if is_known(value, known, field_type) => true,
            Presence::Always | Presence::OrNull => {
                let is_collection = matches!(field_type.node(), TypeNode::List | TypeNode::Map);
                match value {
                    Value::Null => field.presence == Presence::OrNull || zero(field_type).is_null(),
                    _ if is_collection && is_empty() => false,
                    value => is_normal(value, known, field_type),
                }
            }
            Presence::NonZero => is_normal(value, known, field_type) && !is_empty(),
            Presence::Given => is_normal(value, known, field_type),
        };
        if !is_normal {
            return false;
        }
    }
    let is_always = |presence| matches!(presence, Presence::Always | Presence::OrNull);
    printed_always == body.fields.iter().filter(|field| is_always(field.presence)).count()
}

fn is_normal_special(value: &Value, special: Special) -> bool {
    match (special, value) {
        (Special::Quantity, Value::String(text)) => {
            Quantity::parse(text).is_ok_and(|quantity| quantity.to_string() == *text)
        }
        (Special::IntOrString, value) => value.is_string() || is_int32(value),
        (Special::Time, Value::String(text)) => is_time(text, Layout::Seconds),
        (Special::MicroTime, Value::String(text)) => is_time(text, Layout::Micros),
        // Values without a type stay as they are.
        (Special::RawExtension | Special::FieldsV1 | Special::Json | Special::Patch, _) => true,
        _ => false,
    }
}

fn is_int32(value: &Value) -> bool {
    value.as_i64().is_some_and(|number| i32::try_from(number).is_ok())
}

fn is_time(text: &str, layout: Layout) -> bool {
    let is_printed_so =
        || GoTime::read_printed(text, layout).and_then(|time| time.print(layout)).as_deref() == Some(text);
    is_plain(text, layout) || is_printed_so()
}

#[cfg(test)]
mod tests {
    use super::super::typed::{DecodedForm, Pass};
    use super::*;
    use crate::Table;
    use coracle_meta::GroupVersionKind;
    use proptest::prelude::*;
    use serde_json::json;

    fn pod() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web", "namespace": "default", "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": {"app": "web"}, "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}},
                "time": "2026-01-01T00:00:00Z"}]},
            "spec": {"containers": [{"name": "web", "image": "nginx", "resources": {"limits": {"cpu": "100m"}},
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "livenessProbe": {"httpGet": {"port": "http"}}}], "enableServiceLinks": true},
            "status": {"phase": "Pending"},
        })
    }

    fn stored(value: Value) -> Option<Value> {
        let schema = Table::newest().kind(&GroupVersionKind::new("", "v1", "Pod")).unwrap();
        let mut pass = Pass::new(DecodedForm::Stored);
        let stored = pass.resource(value, &schema);
        stored.filter(|_| pass.error.is_none())
    }

    fn is_normal_pod(value: &Value) -> bool {
        let schema = Table::newest().kind(&GroupVersionKind::new("", "v1", "Pod")).unwrap();
        is_normal(value, None, schema.root())
    }

    /// Puts `value` in the place of the `at`th value of the tree, in the order of a walk.
    fn put(tree: &mut Value, at: &mut usize, value: &Value) -> bool {
        if *at == 0 {
            *tree = value.clone();
            return true;
        }
        *at -= 1;
        match tree {
            Value::Object(fields) => fields.values_mut().any(|field| put(field, at, value)),
            Value::Array(elements) => elements.iter_mut().any(|element| put(element, at, value)),
            _ => false,
        }
    }

    #[test]
    fn an_ordinary_pod_is_known_to_be_normal() {
        let pod = stored(pod()).unwrap();
        assert!(is_normal_pod(&pod), "{pod}");
    }

    fn values() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(json!(null)),
            Just(json!({})),
            Just(json!([])),
            Just(json!("")),
            Just(json!(0)),
            Just(json!(false)),
            Just(json!(5)),
            Just(json!(1.5)),
            Just(json!(99_999_999_999_i64)),
            Just(json!("0.1")),
            Just(json!("100m")),
            Just(json!("2026-01-01T00:00:00.5Z")),
            Just(json!("2026-01-01T02:00:00+02:00")),
            Just(json!([null])),
            Just(json!({"nobody": 1})),
            Just(json!({"name": null})),
            Just(json!([{}])),
            Just(json!({"limits": {"cpu": 1}})),
        ]
    }

    proptest! {
        #[test]
        fn objects_found_to_be_normal_are_unchanged_by_a_pass(changes in proptest::collection::vec((1..60_usize, values()), 0..4)) {
            let mut pod = stored(pod()).unwrap();
            for (mut at, value) in changes {
                put(&mut pod, &mut at, &value);
            }
            if is_normal_pod(&pod) {
                prop_assert_eq!(stored(pod.clone()), Some(pod));
            }
        }

        #[test]
        fn what_is_known_of_an_earlier_version_does_not_change_the_result(
            before in proptest::collection::vec((1..60_usize, values()), 0..3),
            after in proptest::collection::vec((1..60_usize, values()), 0..3),
        ) {
            let schema = Table::newest().kind(&GroupVersionKind::new("", "v1", "Pod")).unwrap();
            let changed = |mut pod: Value, changes: Vec<(usize, Value)>| {
                for (mut at, value) in changes {
                    put(&mut pod, &mut at, &value);
                }
                pod
            };
            let Some(known) = stored(changed(pod(), before)).filter(is_normal_pod) else { return Ok(()) };
            let new = changed(known.clone(), after);
            prop_assert_eq!(is_normal(&new, Some(&known), schema.root()), is_normal_pod(&new));
        }
    }
}
