use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map as Fields, Value as Json};

use crate::schema::Schema;
use crate::types::Type;

use super::opaque::Opaque;
use super::text::Text;
use super::time::Time;

/// A value; it borrows from its source.
#[derive(Clone, Debug)]
pub(crate) enum Value<'v> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Text<'v>),
    Bytes(Arc<[u8]>),
    Timestamp(Time),
    /// In nanoseconds.
    Duration(i64),
    Type(Arc<Type>),
    List(ListValue<'v>),
    Map(Map<'v>),
    Optional(Option<Arc<Value<'v>>>),
    Opaque(Arc<Opaque>),
    Message(Arc<Message<'v>>),
}

/// A list, borrowed or owned.
#[derive(Clone, Debug)]
pub(crate) enum ListValue<'v> {
    /// The items, and the schema of the list.
    Json(&'v [Json], Option<&'v Schema>),
    References(Arc<Vec<&'v Json>>),
    Owned(Arc<Vec<Value<'v>>>),
}

/// A map, borrowed or owned.
#[derive(Clone, Debug)]
pub(crate) enum Map<'v> {
    Json(&'v Fields<String, Json>, Option<&'v Schema>),
    Owned(Arc<BTreeMap<Key<'v>, Value<'v>>>),
}

/// A key of a map.
#[derive(Clone, Debug)]
pub(crate) enum Key<'v> {
    Bool(bool),
    Int(i64),
    Uint(u64),
    String(Text<'v>),
}

/// A value of a type of patches: `Object{…}`, `Object.spec{…}` or `JSONPatch{…}`.
/// In Kubernetes: `apiserver/pkg/cel/mutation`, `ObjectVal` and `JSONPatchVal`.
#[derive(Clone, Debug)]
pub(crate) struct Message<'v> {
    /// The name of the type.
    pub(crate) name: Arc<str>,
    pub(crate) fields: BTreeMap<Arc<str>, Value<'v>>,
}

impl<'v> Value<'v> {
    pub(crate) fn string(text: impl Into<Arc<str>>) -> Self {
        Self::String(Text::Shared(text.into()))
    }

    pub(crate) fn list(items: Vec<Value<'v>>) -> Self {
        Self::List(ListValue::Owned(Arc::new(items)))
    }

    pub(crate) fn some(value: Value<'v>) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    pub(crate) fn opaque(opaque: Opaque) -> Self {
        Self::Opaque(Arc::new(opaque))
    }

    pub(crate) fn message(message: Message<'v>) -> Self {
        Self::Message(Arc::new(message))
    }

    /// The runtime type of the value.
    pub(crate) fn type_of(&self) -> Type {
        match self {
            Self::Null => Type::Null,
            Self::Bool(_) => Type::Bool,
            Self::Int(_) => Type::Int,
            Self::Uint(_) => Type::Uint,
            Self::Double(_) => Type::Double,
            Self::String(_) => Type::String,
            Self::Bytes(_) => Type::Bytes,
            Self::Timestamp(_) => Type::Timestamp,
            Self::Duration(_) => Type::Duration,
            Self::Type(_) => Type::Type(None),
            Self::List(_) => Type::list(Type::Dyn),
            Self::Map(_) => Type::map(Type::Dyn, Type::Dyn),
            Self::Optional(_) => Type::optional(Type::Dyn),
            Self::Opaque(opaque) => opaque.type_of(),
            Self::Message(message) => Type::Message(Arc::clone(&message.name)),
        }
    }

    /// The size of the value for costs; `None` for values without a size.
    pub(crate) fn size(&self) -> Option<u64> {
        Some(match self {
            Self::String(text) => text.characters(),
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::List(list) => list.len() as u64,
            Self::Map(map) => map.len() as u64,
            Self::Opaque(opaque) => return opaque.size(),
            _ => return None,
        })
    }

    /// Whether the value is the zero value of its type. In Kubernetes: `traits.Zeroer`.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(value) => !value,
            Self::Int(value) | Self::Duration(value) => *value == 0,
            Self::Uint(value) => *value == 0,
            Self::Double(value) => *value == 0.0,
            Self::String(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::Timestamp(time) => time.is_zero(),
            Self::List(list) => list.len() == 0,
            Self::Map(map) => map.len() == 0,
            Self::Optional(value) => value.as_ref().is_none_or(|value| value.is_zero()),
            Self::Message(message) => message.is_zero(),
            Self::Type(_) | Self::Opaque(_) => false,
        }
    }
}
