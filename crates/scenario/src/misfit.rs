use coracle_schema::{Special, TypeNode, TypeRef};
use serde_json::Value;

use crate::path::Position;
use crate::word::did_you_mean;

/// A part of an object that its kind does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Its path in the object.
    pub path: Vec<Position>,
    /// What is wrong with it, and the nearest field if there is one.
    pub message: String,
}

/// The first part of an object, or of a partial object, that its type does not have. `null` is valid everywhere: it
/// stands for an absent value.
pub(crate) fn misfit(kind: &str, root: TypeRef<'_>, object: &Value) -> Option<Misfit> {
    let mut walk = Walk { kind, path: Vec::new() };
    let message = walk.look(root, object)?;
    Some(Misfit { path: walk.path, message })
}

struct Walk<'k> {
    kind: &'k str,
    path: Vec<Position>,
}

impl Walk<'_> {
    fn look(&mut self, ty: TypeRef<'_>, value: &Value) -> Option<String> {
        let wanted = match (ty.node(), value) {
            (_, Value::Null) | (TypeNode::Any, _) => return None,
            (TypeNode::Struct(fields), Value::Object(found)) => {
                for (name, value) in found {
                    self.path.push(Position::Key(name.clone()));
                    let why = match ty.field(name) {
                        Some(field) => self.look(field.ty(), value),
                        None if fields.preserves_unknown || self.is_of_every_object(name) => None,
                        None => Some(self.unknown(ty, name)),
                    };
                    if why.is_some() {
                        return why;
                    }
                    self.path.pop();
                }
                return None;
            }
            (TypeNode::List, Value::Array(items)) => {
                let items = items.iter().enumerate().map(|(place, item)| (Position::Item(place), item));
                return self.elements(ty, items);
            }
            (TypeNode::Map, Value::Object(found)) => {
                return self.elements(ty, found.iter().map(|(key, value)| (Position::Key(key.clone()), value)));
            }
            (TypeNode::String | TypeNode::Bytes, Value::String(_)) | (TypeNode::Bool, Value::Bool(_)) => return None,
            (TypeNode::Int32 | TypeNode::Int64, Value::Number(number)) if !number.is_f64() => return None,
            (TypeNode::Double, Value::Number(_)) => return None,
            (TypeNode::Special(special), value) if may_be(special, value) => return None,
            (TypeNode::Struct(_) | TypeNode::Map, _) => "an object",
            (TypeNode::List, _) => "a list",
            (TypeNode::String | TypeNode::Bytes, _) => "a string",
            (TypeNode::Bool, _) => "true or false",
            (TypeNode::Int32 | TypeNode::Int64, _) => "a whole number",
            (TypeNode::Double, _) => "a number",
            (TypeNode::Special(Special::Quantity), _) => "a quantity",
            (TypeNode::Special(Special::IntOrString), _) => "a whole number or a string",
            (TypeNode::Special(_), _) => "a time",
        };
        Some(format!("`{}` of a {} is {wanted}, and this is {}", self.shown(), self.kind, word(value)))
    }

    fn elements<'v>(&mut self, ty: TypeRef<'_>, values: impl Iterator<Item = (Position, &'v Value)>) -> Option<String> {
        let element = ty.element()?;
        for (position, value) in values {
            self.path.push(position);
            let why = self.look(element, value);
            if why.is_some() {
                return why;
            }
            self.path.pop();
        }
        None
    }

    fn is_of_every_object(&self, name: &str) -> bool {
        self.path.len() == 1 && ["apiVersion", "kind", "metadata"].contains(&name)
    }

    fn unknown(&self, ty: TypeRef<'_>, name: &str) -> String {
        let hint = did_you_mean(name, ty.fields().map(|field| field.name()));
        format!("a {} has no field `{}`{hint}", self.kind, self.shown())
    }

    /// The path as text: `spec.containers[0].image`.
    fn shown(&self) -> String {
        self.path.iter().fold(String::new(), |shown, position| match position {
            Position::Key(name) if shown.is_empty() => name.clone(),
            Position::Key(name) => format!("{shown}.{name}"),
            Position::Item(place) => format!("{shown}[{place}]"),
        })
    }
}

fn may_be(special: Special, value: &Value) -> bool {
    match special {
        Special::Quantity => value.is_string() || value.is_number(),
        Special::IntOrString => value.is_string() || value.is_i64() || value.is_u64(),
        Special::Time | Special::MicroTime => value.is_string(),
        Special::RawExtension
        | Special::FieldsV1
        | Special::Json
        | Special::Patch
        | Special::SchemaOrArray
        | Special::SchemaOrBool
        | Special::SchemaOrStrings => true,
    }
}

/// The JSON type of a value, without the value itself, which may be a secret.
fn word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.is_f64() => "a number with a fraction",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use coracle_meta::GroupVersion;
    use coracle_schema::Table;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn found(api_version: &str, kind: &str, object: &Value) -> Option<String> {
        let table = Table::newest();
        let schema = table.kind(&GroupVersion::parse(api_version).unwrap().kind(kind)).unwrap();
        misfit(kind, schema.root(), object).map(|misfit| misfit.message)
    }

    #[test]
    fn unknown_fields_and_wrong_types_are_found_wherever_they_stand() {
        for (object, message) in [
            (json!({"status": {"phas": "Running"}}), "a Pod has no field `status.phas`; did you mean `phase`?"),
            (
                json!({"spec": {"containers": [{}, {"imag": "a"}]}}),
                "a Pod has no field `spec.containers[1].imag`; did you mean `image`?",
            ),
            (json!({"spec": {"containers": {}}}), "`spec.containers` of a Pod is a list, and this is an object"),
            (json!({"spec": {"priority": "3"}}), "`spec.priority` of a Pod is a whole number, and this is a string"),
            (
                json!({"metadata": {"labels": {"a": true}}}),
                "`metadata.labels.a` of a Pod is a string, and this is true or false",
            ),
            (
                json!({"spec": {"hostNetwork": "yes"}}),
                "`spec.hostNetwork` of a Pod is true or false, and this is a string",
            ),
        ] {
            assert_eq!(found("v1", "Pod", &object).as_deref(), Some(message));
        }
    }

    #[test]
    fn fields_of_a_kind_match_and_so_does_null() {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "deletionTimestamp": null},
            "spec": {"containers": [{"resources": {"limits": {"cpu": 1, "memory": "1Gi"}},
                "livenessProbe": {"httpGet": {"port": "http"}}}]}});
        assert_eq!(found("v1", "Pod", &pod), None);
        let definition =
            json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": {"properties": {"a": {"tipe": "string"}}}}}]}});
        let message = found("apiextensions.k8s.io/v1", "CustomResourceDefinition", &definition).unwrap();
        assert!(message.ends_with("did you mean `type`?"), "{message}");
    }

    proptest! {
        #[test]
        fn no_object_makes_the_walk_panic(text in "[{}\\[\\]a-z:,\"0-9]{0,60}") {
            if let Ok(object) = serde_json::from_str::<Value>(&text) {
                let _ = found("v1", "Pod", &json!({"spec": object}));
            }
        }
    }
}
