//! Converts documents that were merged as maps to the form of Go structs.

use serde_json::{Number, Value};

use super::go;
use super::typed::{DecodedForm, Pass};
use crate::kind_schema::KindSchema;
use crate::table::{Special, TypeNode, TypeRef};

/// Converts a document of a built-in kind that is not decoded from JSON: integers may have a decimal point, integers
/// that are too large for their field wrap around, and bytes may be a list. Custom kinds are unchanged.
///
/// The error names a value with a wrong type, in Go's words and without its path.
///
/// In Kubernetes: `DefaultUnstructuredConverter.FromUnstructured`, after a strategic merge patch and an apply.
pub fn from_unstructured(document: Value, schema: &KindSchema) -> Result<Value, String> {
    if schema.structural().is_some() { Ok(document) } else { convert(document, schema.root(), None) }
}

/// `scalar` is the named Go type of the field, or of its elements.
fn convert(value: Value, ty: TypeRef<'_>, scalar: Option<&str>) -> Result<Value, String> {
    let given = kind_name(&value);
    match (ty.node(), value) {
        (_, Value::Null) => Ok(Value::Null),
        (TypeNode::String, value @ Value::String(_)) | (TypeNode::Bool, value @ Value::Bool(_)) => Ok(value),
        // Go would convert the number to a character.
        (TypeNode::String, Value::Number(number)) if !number.is_f64() => {
            Err(format!("cannot convert int64 to {}", go::type_name(ty, scalar)))
        }
        (TypeNode::Int32 | TypeNode::Int64, Value::Number(number)) => whole(&number, ty),
        (TypeNode::Double, value @ Value::Number(_)) => Ok(value),
        (TypeNode::Bytes, Value::Array(items)) => bytes(items),
        (TypeNode::Bytes, Value::String(text)) => {
            read_as_json(Value::String(text), ty).map_err(|why| format!("error decoding from json: {why}"))
        }
        (TypeNode::Struct(body), Value::Object(mut fields)) => {
            let mut known: Vec<_> = body.fields.iter().filter(|field| fields.contains_key(&field.name)).collect();
            known.sort_by_key(|field| field.place);
            for field in known {
                let (Some(value), Some(below)) = (fields.get_mut(&field.name), ty.field(&field.name)) else { continue };
                *value = convert(value.take(), below.ty(), field.go_type.as_deref())?;
            }
            Ok(Value::Object(fields))
        }
        (TypeNode::Map, Value::Object(mut fields)) => {
            for value in fields.values_mut() {
                if let Some(element) = ty.element() {
                    *value = convert(value.take(), element, scalar)?;
                }
            }
            Ok(Value::Object(fields))
        }
        (TypeNode::List, Value::Array(items)) => match ty.element() {
            Some(element) => items.into_iter().map(|item| convert(item, element, scalar)).collect(),
            None => Ok(Value::Array(items)),
        },
        (TypeNode::Any | TypeNode::Special(Special::RawExtension | Special::FieldsV1 | Special::Json), value) => {
            Ok(value)
        }
        (TypeNode::Special(_), value) => read_as_json(value.clone(), ty).map(|_| value),
        (TypeNode::Struct(_), _) => Err(format!("cannot restore struct from: {given}")),
        (TypeNode::Map, _) => Err(format!("cannot restore map from {given}")),
        (TypeNode::List | TypeNode::Bytes, _) => Err(format!("cannot restore slice from {given}")),
        (TypeNode::String, _) => Err("unrecognized type: string".to_owned()),
        (TypeNode::Bool | TypeNode::Int32 | TypeNode::Int64 | TypeNode::Double, _) => {
            Err(format!("unrecognized type: {}", go::type_name(ty, None)))
        }
    }
}

/// Go's names of the types of values in a map.
fn kind_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}

fn whole(number: &Number, ty: TypeRef<'_>) -> Result<Value, String> {
    let whole = match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => whole,
        (None, Some(float)) if float.fract() == 0.0 => float as i64,
        _ => return Err(format!("cannot convert float64 to {}", go::type_name(ty, None))),
    };
    match ty.node() {
        TypeNode::Int32 => Ok(Value::from(whole as i32)),
        _ => Ok(Value::from(whole)),
    }
}

fn bytes(items: Vec<Value>) -> Result<Value, String> {
    use base64::Engine as _;
    let byte = |item: &Value| match item {
        Value::Null => Ok(0),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Ok(whole as u8),
            (None, Some(float)) if float.fract() == 0.0 => Ok(float as i64 as u8),
            _ => Err("cannot convert float64 to uint8".to_owned()),
        },
        _ => Err("unrecognized type: uint8".to_owned()),
    };
    let bytes = items.iter().map(byte).collect::<Result<Vec<u8>, String>>()?;
    Ok(Value::String(base64::engine::general_purpose::STANDARD.encode(bytes)))
}

/// Types with their own decoder get the value as JSON.
fn read_as_json(value: Value, ty: TypeRef<'_>) -> Result<Value, String> {
    let mut pass = Pass::new(DecodedForm::Received);
    let read = pass.value(value, ty);
    pass.error.map_or(Ok(read.unwrap_or_default()), Err)
}

#[cfg(test)]
mod tests {
    use coracle_meta::GroupVersionKind;
    use serde_json::json;

    use super::*;
    use crate::Table;

    fn deployment(document: Value) -> Result<Value, String> {
        let kind = GroupVersionKind::new("apps", "v1", "Deployment");
        from_unstructured(document, &Table::newest().kind(&kind).unwrap())
    }

    #[test]
    fn mismatched_types_have_the_errors_of_gos_converter() {
        let strategy = |rolling: Value| json!({"spec": {"strategy": {"rollingUpdate": rolling}}});
        let cases = [
            (json!({"spec": 7}), "cannot restore struct from: int64"),
            (json!({"spec": [], "metadata": "x"}), "cannot restore struct from: string"),
            (json!({"spec": {"replicas": "x"}}), "unrecognized type: int32"),
            (json!({"spec": {"replicas": 1.5}}), "cannot convert float64 to int32"),
            (json!({"spec": {"paused": {}}}), "unrecognized type: bool"),
            (json!({"kind": 7}), "cannot convert int64 to string"),
            (json!({"kind": 7.5}), "unrecognized type: string"),
            (json!({"metadata": {"labels": []}}), "cannot restore map from slice"),
            (json!({"metadata": {"finalizers": true}}), "cannot restore slice from bool"),
            (
                json!({"metadata": {"creationTimestamp": 7}}),
                "json: cannot unmarshal number into Go value of type string",
            ),
            (json!({"spec": {"strategy": {"type": 7}}}), "cannot convert int64 to v1.DeploymentStrategyType"),
            (strategy(json!({"maxSurge": true})), "json: cannot unmarshal bool into Go value of type int32"),
        ];
        for (document, why) in cases {
            assert_eq!(deployment(document.clone()), Err(why.to_owned()), "{document}");
        }
    }

    #[test]
    fn bytes_are_read_from_json_as_base64_as_numbers_and_as_nothing() {
        let secret = Table::newest().kind(&GroupVersionKind::new("", "v1", "Secret")).unwrap();
        let read = |value: &str| {
            let text = format!(r#"{{"apiVersion":"v1","kind":"Secret","data":{{"k":{value}}}}}"#);
            let kind = GroupVersionKind::new("", "v1", "Secret");
            let decoded = crate::decode::decode(text.as_bytes(), crate::decode::Format::Json, &kind, &secret);
            decoded.map(|decoded| decoded.object.into_value()["data"]["k"].clone()).map_err(|why| why.message)
        };
        for (given, kept) in [
            ("[104,105]", "aGk="),
            ("null", ""),
            ("[]", ""),
            ("[null]", "AA=="),
            ("[1,null,2]", "AQAC"),
            ("[255]", "/w=="),
        ] {
            assert_eq!(read(given), Ok(json!(kept)), "{given}");
        }
        for (given, what, ty) in [
            ("[1,256]", "number 256", "uint8"),
            ("[-1]", "number -1", "uint8"),
            ("[-0]", "number -0", "uint8"),
            ("[1.0]", "number 1.0", "uint8"),
            ("[1e1]", "number 1e1", "uint8"),
            ("[\"a\",300]", "string", "uint8"),
            ("[[1]]", "array", "uint8"),
            ("[{}]", "object", "uint8"),
            ("[true]", "bool", "uint8"),
            ("{}", "object", "[]uint8"),
            ("3", "number", "[]uint8"),
        ] {
            let why = format!("json: cannot unmarshal {what} into Go struct field Secret.data of type {ty}");
            assert!(read(given).is_err_and(|said| said.contains(&why)), "{given}: {:?}", read(given));
        }
    }

    #[test]
    fn numbers_become_what_their_field_holds_and_lists_become_bytes() {
        let whole = deployment(json!({"spec": {"replicas": 2.0, "minReadySeconds": 99_999_999_999_i64}, "extra": 1}));
        assert_eq!(whole, Ok(json!({"spec": {"replicas": 2, "minReadySeconds": 1_215_752_191}, "extra": 1})));
        let secret = Table::newest().kind(&GroupVersionKind::new("", "v1", "Secret")).unwrap();
        let read = |value: Value| from_unstructured(json!({"data": {"a": value}}), &secret);
        assert_eq!(read(json!([104, 105, 256])), Ok(json!({"data": {"a": "aGkA"}})));
        assert_eq!(read(json!(["x"])), Err("unrecognized type: uint8".to_owned()));
        assert_eq!(read(json!("!!")), Err("error decoding from json: illegal base64 data at input byte 0".to_owned()));
    }
}
