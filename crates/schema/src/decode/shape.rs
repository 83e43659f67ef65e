//! Checks whether a tree has the types of its kind, so that it can be decoded as the kind's Rust type.

use coracle_meta::{Object, Quantity};
use serde_json::Value;

use crate::kind_schema::KindSchema;
use crate::table::{Special, TypeNode, TypeRef};

/// Whether every value of an object has the type that its kind declares; for a custom object, whether its metadata has.
/// Unknown fields are ignored.
pub fn has_shape(object: &Object, schema: &KindSchema) -> bool {
    match schema.structural() {
        None => fits(object.as_value(), schema.root()),
        Some(_) => match (object.field("metadata"), schema.root().step("metadata")) {
            (Some(metadata), Some(ty)) => fits(metadata, ty),
            _ => true,
        },
    }
}

fn fits(value: &Value, ty: TypeRef<'_>) -> bool {
    match (ty.node(), value) {
        (TypeNode::Any, _) | (_, Value::Null) => true,
        (TypeNode::String | TypeNode::Bytes, Value::String(_)) | (TypeNode::Bool, Value::Bool(_)) => true,
        (TypeNode::Double, Value::Number(_)) => true,
        (TypeNode::Int32, Value::Number(number)) => number.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        (TypeNode::Int64, Value::Number(number)) => number.as_i64().is_some(),
        (TypeNode::Struct(body), Value::Object(fields)) => {
            fields.iter().all(|(name, value)| body.field(name).is_none_or(|field| fits(value, ty.of(field))))
        }
        (TypeNode::List, Value::Array(elements)) => {
            ty.element().is_none_or(|element| elements.iter().all(|value| fits(value, element)))
        }
        (TypeNode::Map, Value::Object(fields)) => {
            ty.element().is_none_or(|element| fields.values().all(|value| fits(value, element)))
        }
        (TypeNode::Special(special), value) => fits_special(value, special, ty),
        _ => false,
    }
}

fn fits_special(value: &Value, special: Special, ty: TypeRef<'_>) -> bool {
    let schema = |value: &Value| ty.json_schema().is_none_or(|schema| fits(value, schema));
    match (special, value) {
        (Special::Quantity, Value::String(text)) => Quantity::parse(text).is_ok(),
        (Special::Quantity, _) => value.is_number(),
        (Special::IntOrString, Value::Number(number)) => {
            number.as_i64().is_some_and(|number| i32::try_from(number).is_ok())
        }
        (Special::IntOrString | Special::Time | Special::MicroTime, _) => value.is_string(),
        (Special::SchemaOrArray, Value::Array(schemas)) => schemas.iter().all(schema),
        (Special::SchemaOrArray | Special::SchemaOrBool | Special::SchemaOrStrings, Value::Object(_)) => schema(value),
        (Special::SchemaOrBool, _) => value.is_boolean(),
        (Special::SchemaOrStrings, Value::Array(names)) => names.iter().all(Value::is_string),
        (Special::SchemaOrArray | Special::SchemaOrStrings, _) => false,
        (Special::RawExtension | Special::FieldsV1 | Special::Json | Special::Patch, _) => true,
    }
}

#[cfg(test)]
mod tests {
    use coracle_meta::GroupVersionKind;
    use serde_json::json;

    use super::*;
    use crate::Table;

    fn has(group: &str, version: &str, kind: &str, rest: Value) -> bool {
        let kind = GroupVersionKind::new(group, version, kind);
        let mut object = Object::of_kind(&kind);
        object.edit(|tree| tree.extend(rest.as_object().unwrap().clone()));
        has_shape(&object, &Table::newest().kind(&kind).unwrap())
    }

    #[test]
    fn a_value_of_another_type_is_seen_however_deep_it_stands() {
        let pod = |spec: Value| has("", "v1", "Pod", json!({"metadata": {"name": "p"}, "spec": spec}));
        let container = |fields: Value| pod(json!({"containers": [fields]}));
        assert!(container(
            json!({"name": "c", "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": "1"}}})
        ));
        assert!(container(json!({"livenessProbe": {"httpGet": {"port": "http"}}, "unknown": 5, "command": null})));
        for wrong in [
            json!({"name": 5}),
            json!({"ports": {}}),
            json!({"ports": [{"containerPort": 2_147_483_648_u32}]}),
            json!({"ports": [{"containerPort": 1.5}]}),
            json!({"resources": {"limits": {"cpu": "lots"}}}),
            json!({"resources": {"limits": []}}),
            json!({"livenessProbe": {"httpGet": {"port": true}}}),
            json!("c"),
        ] {
            assert!(!container(wrong.clone()), "{wrong}");
        }
        assert!(!pod(json!(5)));
        assert!(!has("", "v1", "Pod", json!({"metadata": {"labels": {"a": 1}}})));
        assert!(!has("", "v1", "Pod", json!({"metadata": {"creationTimestamp": 5}})));
    }

    #[test]
    fn schemas_of_definitions_are_looked_into() {
        let definition = |schema: Value| {
            let versions = json!([{"name": "v1", "schema": {"openAPIV3Schema": schema}}]);
            let spec = json!({"spec": {"versions": versions}});
            has("apiextensions.k8s.io", "v1", "CustomResourceDefinition", spec)
        };
        assert!(definition(json!({"properties": {"a": {"items": {"type": "string"}, "additionalProperties": true}}})));
        assert!(!definition(json!({"properties": {"a": {"items": {"type": 5}}}})));
        assert!(!definition(json!({"properties": {"a": {"additionalProperties": "no"}}})));
    }
}
