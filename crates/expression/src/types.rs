//! The types of expressions.

use std::fmt;
use std::sync::Arc;

use crate::schema::{Schema, Shape};

/// The type of an expression or a variable. In Kubernetes: `cel.Type`.
#[derive(Clone, Debug)]
pub enum Type {
    /// Dynamic; checked at runtime.
    Dyn,
    /// Already reported as an error.
    Error,
    /// `null`.
    Null,
    /// A boolean.
    Bool,
    /// A 64-bit integer.
    Int,
    /// An unsigned 64-bit integer.
    Uint,
    /// A floating-point number.
    Double,
    /// A string.
    String,
    /// Bytes.
    Bytes,
    /// A timestamp.
    Timestamp,
    /// A duration.
    Duration,
    /// A list.
    List(Arc<Type>),
    /// A map.
    Map(Arc<Type>, Arc<Type>),
    /// An optional value.
    Optional(Arc<Type>),
    /// A type as a value.
    Type(Option<Arc<Type>>),
    /// A type parameter of a signature.
    Parameter(Arc<str>),
    /// An object with declared fields.
    Object(Arc<Schema>),
    /// An object type of a library, for example `kubernetes.Quantity`.
    Named(&'static str),
    /// An opaque type of a library, for example `net.IP`.
    Opaque(&'static str),
    /// A type of patches: `Object`, the type of a field below it such as `Object.spec`, or `JSONPatch`.
    Message(Arc<str>),
}

impl Type {
    /// A list of `items`.
    pub fn list(items: Type) -> Self {
        Self::List(Arc::new(items))
    }

    /// A map from `keys` to `values`.
    pub fn map(keys: Type, values: Type) -> Self {
        Self::Map(Arc::new(keys), Arc::new(values))
    }

    /// An optional value of a type.
    pub fn optional(of: Type) -> Self {
        Self::Optional(Arc::new(of))
    }

    pub(crate) fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn)
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    pub(crate) fn is_parameter(&self) -> bool {
        matches!(self, Self::Parameter(_))
    }

    /// The type's parameters.
    pub(crate) fn parameters(&self) -> Vec<&Type> {
        match self {
            Self::List(of) | Self::Optional(of) | Self::Type(Some(of)) => vec![of],
            Self::Map(keys, values) => vec![keys, values],
            _ => Vec::new(),
        }
    }

    /// The same type with other parameters.
    pub(crate) fn with_parameters(&self, mut change: impl FnMut(&Type) -> Type) -> Type {
        match self {
            Self::List(of) => Self::list(change(of)),
            Self::Optional(of) => Self::optional(change(of)),
            Self::Type(Some(of)) => Self::Type(Some(Arc::new(change(of)))),
            Self::Map(keys, values) => {
                let keys = change(keys);
                Self::map(keys, change(values))
            }
            plain => plain.clone(),
        }
    }

    /// Whether two types are equal except for their parameters.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// The name of the type as a value.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Null => "null_type".to_owned(),
            Self::Timestamp => "google.protobuf.Timestamp".to_owned(),
            Self::Duration => "google.protobuf.Duration".to_owned(),
            Self::List(_) => "list".to_owned(),
            Self::Map(..) => "map".to_owned(),
            Self::Optional(_) => "optional_type".to_owned(),
            Self::Type(_) => "type".to_owned(),
            other => other.to_string(),
        }
    }

    /// The type with a name as a value.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "bool" => Self::Bool,
            "bytes" => Self::Bytes,
            "double" => Self::Double,
            "int" => Self::Int,
            "uint" => Self::Uint,
            "string" => Self::String,
            "null_type" => Self::Null,
            "google.protobuf.Timestamp" => Self::Timestamp,
            "google.protobuf.Duration" => Self::Duration,
            "list" => Self::list(Self::Parameter("A".into())),
            "map" => Self::map(Self::Parameter("A".into()), Self::Parameter("B".into())),
            "optional_type" => Self::optional(Self::Parameter("V".into())),
            "type" => Self::Type(None),
            "net.IP" => Self::Opaque("net.IP"),
            "net.CIDR" => Self::Opaque("net.CIDR"),
            _ => return None,
        })
    }
}

impl Schema {
    /// The type of values with this schema.
    pub fn as_type(self: &Arc<Self>) -> Type {
        match self.shape() {
            Shape::Any => Type::Dyn,
            Shape::Bool => Type::Bool,
            Shape::Int => Type::Int,
            Shape::Double => Type::Double,
            Shape::String => Type::String,
            Shape::Bytes => Type::Bytes,
            Shape::Date | Shape::Timestamp => Type::Timestamp,
            Shape::Duration => Type::Duration,
            Shape::Quantity => Type::Named("kubernetes.Quantity"),
            Shape::Semver => Type::Named("kubernetes.Semver"),
            Shape::List(items, _) => Type::list(items.as_type()),
            Shape::Map(values) => Type::map(Type::String, values.as_type()),
            Shape::Object(_) => Type::Object(Arc::clone(self)),
        }
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Parameter(one), Self::Parameter(other)) => one == other,
            (Self::Object(one), Self::Object(other)) => Arc::ptr_eq(one, other),
            (Self::Named(one), Self::Named(other)) | (Self::Opaque(one), Self::Opaque(other)) => one == other,
            (Self::Message(one), Self::Message(other)) => one == other,
            (one, other) => one.is_like(other) && one.parameters() == other.parameters(),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => f.write_str("dyn"),
            Self::Error => f.write_str("!error!"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::String => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Duration => f.write_str("duration"),
            Self::List(of) => write!(f, "list({of})"),
            Self::Map(keys, values) => write!(f, "map({keys}, {values})"),
            Self::Optional(of) => write!(f, "optional_type({of})"),
            Self::Type(Some(of)) => write!(f, "type({of})"),
            Self::Type(None) => f.write_str("type"),
            Self::Parameter(name) | Self::Message(name) => f.write_str(name),
            Self::Object(schema) => f.write_str(schema.name()),
            Self::Named(name) | Self::Opaque(name) => f.write_str(name),
        }
    }
}
