//! JSON to CEL values and back.

use std::collections::BTreeMap;

use kube_cel::cel::Value as CelValue;
use kube_cel::cel::objects::{Key, Map};
use serde_json::{Number, Value};

/// Whole numbers become `int`, as in Kubernetes, so that arithmetic with literals works.
pub(crate) fn from_json(value: &Value) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(value) => CelValue::Bool(*value),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => CelValue::Int(int),
            (None, Some(uint)) => CelValue::UInt(uint),
            (None, None) => CelValue::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => CelValue::from(text.as_str()),
        Value::Array(items) => CelValue::from(items.iter().map(from_json).collect::<Vec<_>>()),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (Key::from(name.clone()), from_json(value)));
            CelValue::Map(Map { map: std::sync::Arc::new(fields.collect()) })
        }
    }
}

/// `None` for values that JSON does not have, such as functions and types.
pub(crate) fn to_json(value: &CelValue) -> Option<Value> {
    Some(match value {
        CelValue::Null => Value::Null,
        CelValue::Bool(value) => Value::Bool(*value),
        CelValue::Int(int) => Value::from(*int),
        CelValue::UInt(uint) => Value::from(*uint),
        CelValue::Float(float) => Number::from_f64(*float).map_or(Value::Null, Value::Number),
        CelValue::String(text) => Value::String(text.as_ref().clone()),
        CelValue::List(items) => Value::Array(items.iter().map(to_json).collect::<Option<_>>()?),
        CelValue::Map(map) => {
            let mut sorted = BTreeMap::new();
            for (key, value) in map.map.iter() {
                let key = match key {
                    Key::String(text) => text.as_ref().clone(),
                    Key::Int(int) => int.to_string(),
                    Key::Uint(uint) => uint.to_string(),
                    Key::Bool(value) => value.to_string(),
                };
                sorted.insert(key, to_json(value)?);
            }
            Value::Object(sorted.into_iter().collect())
        }
        _ => return None,
    })
}
