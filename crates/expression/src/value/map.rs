use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map as Fields, Value as Json};

use crate::fault::Fault;
use crate::schema::{Schema, Shape};

use super::json::from_json;
use super::text::Text;
use super::values::{Key, Map, Value};

impl<'v> Map<'v> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json(fields, _) => fields.len(),
            Self::Owned(entries) => entries.len(),
        }
    }

    /// The value for a string key; other keys are not checked.
    pub(crate) fn field(&self, name: &str) -> Option<Result<Value<'v>, Fault>> {
        match self {
            Self::Json(fields, schema) => at_name(fields, *schema, name),
            Self::Owned(entries) => entries.get(&Key::String(Text::Shared(name.into()))).cloned().map(Ok),
        }
    }

    /// The value for a key; integers of any type are the same key.
    pub(crate) fn find(&self, key: &Value<'v>) -> Option<Result<Value<'v>, Fault>> {
        let entries = match (self, key) {
            (Self::Json(..), Value::String(name)) => return self.field(name),
            (Self::Json(..), _) => return None,
            (Self::Owned(entries), _) => entries,
        };
        let alike: Vec<Key<'v>> = match key {
            Value::Double(double) if double.fract() == 0.0 && double.abs() < 9e18 => {
                let whole = *double as i64;
                vec![Key::Int(whole), Key::Uint(u64::try_from(whole).unwrap_or(u64::MAX))]
            }
            Value::Int(int) => {
                [Some(Key::Int(*int)), u64::try_from(*int).ok().map(Key::Uint)].into_iter().flatten().collect()
            }
            Value::Uint(uint) => {
                [Some(Key::Uint(*uint)), i64::try_from(*uint).ok().map(Key::Int)].into_iter().flatten().collect()
            }
            other => Key::of(other).into_iter().collect(),
        };
        alike.iter().find_map(|key| entries.get(key)).cloned().map(Ok)
    }

    /// The replacement for missing entries, if any.
    pub(crate) fn instead_of_missing(&self) -> Option<Value<'v>> {
        match self {
            Self::Json(_, Some(schema)) if schema.is_endless() => Some(Value::Map(Map::Owned(Arc::default()))),
            _ => None,
        }
    }

    /// The keys for expressions.
    pub(crate) fn keys(&self) -> Vec<Value<'v>> {
        match self {
            Self::Json(fields, schema) => {
                let name = |key: &'v String| Value::String(Text::Borrowed(key));
                match schema.map(Schema::shape) {
                    Some(Shape::Object(object)) => {
                        let declared = object.fields.iter().filter(|(_, field)| fields.contains_key(&field.key));
                        declared.map(|(name, _)| Value::String(Text::Borrowed(name))).collect()
                    }
                    _ => fields.keys().map(name).collect(),
                }
            }
            Self::Owned(entries) => entries.keys().map(Key::value).collect(),
        }
    }
}

fn at_name<'v>(
    fields: &'v Fields<String, Json>,
    schema: Option<&'v Schema>,
    name: &str,
) -> Option<Result<Value<'v>, Fault>> {
    match schema.map(|schema| (schema, schema.shape())) {
        Some((schema, Shape::Object(_))) => {
            let field = schema.field(name)?;
            let value = fields.get(&field.key).filter(|value| !value.is_null())?;
            Some(from_json(value, Some(&field.schema)))
        }
        Some((schema, Shape::Map(_))) => {
            fields.get(name).map(|value| from_json(value, schema.items().map(|values| &**values)))
        }
        _ => fields.get(name).map(|value| from_json(value, None)),
    }
}

impl<'v> Key<'v> {
    /// The value as a key, if it can be one.
    pub(crate) fn of(value: &Value<'v>) -> Option<Self> {
        Some(match value {
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(int) => Self::Int(*int),
            Value::Uint(uint) => Self::Uint(*uint),
            Value::String(text) => Self::String(text.clone()),
            _ => return None,
        })
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Bool(_) => 0,
            Self::Int(_) => 1,
            Self::Uint(_) => 2,
            Self::String(_) => 3,
        }
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(one), Self::Bool(other)) => one.cmp(other),
            (Self::Int(one), Self::Int(other)) => one.cmp(other),
            (Self::Uint(one), Self::Uint(other)) => one.cmp(other),
            (Self::String(one), Self::String(other)) => (**one).cmp(&**other),
            (one, other) => one.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key<'_> {}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Int(int) => int.fmt(f),
            Self::Uint(uint) => uint.fmt(f),
            Self::String(text) => f.write_str(text),
        }
    }
}
