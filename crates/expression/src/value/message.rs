use std::collections::BTreeMap;
use std::sync::Arc;

use crate::fault::Fault;
use crate::meter::Meter;

use super::values::{ListValue, Map, Message, Value};

const JSON_PATCH: &str = "JSONPatch";

impl<'v> Message<'v> {
    /// A message with these fields, if it may have them. Fields of objects are not checked.
    pub(crate) fn checked(name: Arc<str>, fields: BTreeMap<Arc<str>, Value<'v>>) -> Result<Self, Fault> {
        if &*name == JSON_PATCH {
            for (field, value) in &fields {
                match (&**field, value) {
                    ("op" | "path" | "from", Value::String(_)) | ("value", _) => {}
                    ("op" | "path" | "from", other) => {
                        let of = go_type(other);
                        return Err(Fault::new(format!("unexpected type {of} for JSONPatchType '{field}' field")));
                    }
                    _ => return Err(Fault::new(format!("unexpected JSONPatchType field: {field}"))),
                }
            }
        }
        Ok(Self { name, fields })
    }

    /// The value of a field, which only patches allow to read; `has` treats empty texts as missing.
    pub(crate) fn field(&self, key: &Value<'v>, is_test: bool) -> Result<Option<Value<'v>>, Fault> {
        if &*self.name != JSON_PATCH {
            return Ok(None);
        }
        let name = match key {
            Value::String(name) => &**name,
            _ => "",
        };
        let found = self.fields.get(name);
        match (name, found) {
            ("op" | "path" | "from", Some(Value::String(text))) if is_test && text.is_empty() => Ok(None),
            ("op" | "path" | "from" | "value", None) if is_test => Ok(None),
            ("op" | "path" | "from", None) => Ok(Some(Value::string(""))),
            ("value", None) => Ok(Some(Value::Null)),
            ("op" | "path" | "from" | "value", Some(found)) => Ok(Some(found.clone())),
            _ => Err(Fault::new(format!("unsupported indexer: {}", key.shown()))),
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        &*self.name != JSON_PATCH && self.fields.is_empty()
    }

    /// Whether both have the same type, and equal fields of equal types.
    pub(super) fn equals(&self, other: &Message<'_>, meter: &mut Meter) -> Result<bool, Fault> {
        if self.name != other.name || self.fields.len() != other.fields.len() {
            return Ok(false);
        }
        for ((name, one), (other_name, other)) in self.fields.iter().zip(&other.fields) {
            if name != other_name || one.type_of() != other.type_of() || !one.equals(other, meter)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The type of a value in Go.
fn go_type(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "structpb.NullValue",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Uint(_) => "uint64",
        Value::Double(_) => "float64",
        Value::String(_) | Value::Type(_) => "string",
        Value::Bytes(_) => "[]uint8",
        Value::Timestamp(_) => "time.Time",
        Value::Duration(_) => "time.Duration",
        Value::List(ListValue::Owned(_)) => "[]ref.Val",
        Value::List(_) => "[]interface {}",
        Value::Map(Map::Owned(_)) => "map[ref.Val]ref.Val",
        Value::Map(Map::Json(..)) => "map[string]interface {}",
        Value::Optional(Some(value)) => go_type(value),
        Value::Optional(None) => "<nil>",
        Value::Message(message) if &*message.name == JSON_PATCH => "*mutation.JSONPatchVal",
        Value::Message(_) => "map[string]interface {}",
        Value::Opaque(_) => "interface {}",
    }
}
