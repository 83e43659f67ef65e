//! Describes values from outside: their types and size limits.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The maximum size of a request, in bytes; it limits values without their own limit.
const LARGEST_REQUEST: u64 = 3 * 1024 * 1024;
/// The maximum length of a timestamp or a duration.
const LARGEST_TIME: u64 = 32;
const DATE: u64 = 12;

/// The schema of values from outside. In Kubernetes: `apiserver/pkg/cel.DeclType`.
#[derive(Clone, Debug)]
pub struct Schema {
    shape: Shape,
    /// The maximum number of characters or items.
    largest: u64,
    /// The minimum size of a value as JSON, in bytes.
    smallest: u64,
    /// The maximum length of a map's keys, if they have their own limit.
    longest_key: Option<u64>,
    /// Whether missing entries read as an empty map.
    is_endless: bool,
}

/// The type of a value.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Any type, for example an integer or a string.
    Any,
    /// A boolean.
    Bool,
    /// An integer.
    Int,
    /// A floating-point number.
    Double,
    /// A string.
    String,
    /// Bytes, in base64.
    Bytes,
    /// A date.
    Date,
    /// A timestamp.
    Timestamp,
    /// A duration.
    Duration,
    /// A quantity, for example `1Gi`.
    Quantity,
    /// A semantic version.
    Semver,
    /// A list, and how two lists are compared.
    List(Arc<Schema>, Order),
    /// A map with string keys.
    Map(Arc<Schema>),
    /// An object with declared fields.
    Object(Object),
}

/// How two lists are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Equal items in the same order. In Kubernetes: `x-kubernetes-list-type: atomic`.
    Fixed,
    /// Equal items in any order. In Kubernetes: `set`.
    Any,
    /// Items are matched by these keys, in any order. In Kubernetes: `map`.
    Keyed(Vec<String>),
}

/// The fields of an object.
#[derive(Clone, Debug, Default)]
pub struct Object {
    /// The name of the type in errors.
    pub name: String,
    /// The fields, by the names in expressions.
    pub fields: BTreeMap<String, SchemaField>,
}

/// A field of an object.
#[derive(Clone, Debug)]
pub struct SchemaField {
    /// The name in the object, if it differs from the one in expressions.
    pub key: String,
    /// The schema of its value.
    pub schema: Arc<Schema>,
    /// Whether it is required, and has no default.
    pub is_required: bool,
}

impl Schema {
    /// A schema with the default size limits of its shape.
    pub fn new(shape: Shape) -> Self {
        let whole = LARGEST_REQUEST - 2;
        let (largest, smallest) = match &shape {
            Shape::Any => (whole, 1),
            Shape::Bool => (0, 4),
            Shape::Int | Shape::Double => (0, 1),
            Shape::String | Shape::Bytes => (whole, 2),
            Shape::Date => (DATE, DATE),
            Shape::Timestamp => (LARGEST_TIME, 21),
            Shape::Duration => (LARGEST_TIME, 3),
            Shape::Quantity => (0, 8),
            Shape::Semver => (whole, 2),
            Shape::List(items, _) => (whole / (items.smallest + 1), 2),
            Shape::Map(values) => (whole / (values.smallest + 6), 2),
            Shape::Object(object) => (0, object.smallest()),
        };
        Self { shape, largest, smallest, longest_key: None, is_endless: false }
    }

    /// The same with another limit, in characters or items.
    #[must_use]
    pub fn with_largest(self, largest: Option<u64>) -> Self {
        let largest = match (&self.shape, largest) {
            (Shape::String | Shape::Any, Some(characters)) => characters.saturating_mul(4),
            (Shape::Bytes | Shape::List(..) | Shape::Map(_), Some(largest)) => largest,
            _ => self.largest,
        };
        Self { largest, ..self }
    }

    /// The same for an enum of strings whose longest has `bytes`.
    #[must_use]
    pub fn with_longest(self, bytes: u64) -> Self {
        Self { largest: bytes, ..self }
    }

    /// The same with a maximum length of map keys, in characters.
    #[must_use]
    pub fn with_longest_key(self, characters: u64) -> Self {
        Self { longest_key: Some(characters), ..self }
    }

    /// The same, where missing entries read as an empty map.
    #[must_use]
    pub fn with_empty_maps_for_missing(self) -> Self {
        Self { is_endless: true, ..self }
    }

    pub(crate) fn is_endless(&self) -> bool {
        self.is_endless
    }

    /// The type of the values.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The maximum number of characters or items.
    pub fn largest(&self) -> u64 {
        self.largest
    }

    pub(crate) fn longest_key(&self) -> Option<u64> {
        self.longest_key
    }

    /// The maximum number of such values in a request. In Kubernetes: `cel.maxCardinality`.
    pub fn most_in_a_request(&self) -> u64 {
        LARGEST_REQUEST / (self.smallest + 1)
    }

    pub(crate) fn name(&self) -> &str {
        match &self.shape {
            Shape::Object(object) if !object.name.is_empty() => &object.name,
            _ => "object",
        }
    }

    /// A field by its name in expressions.
    pub fn field(&self, name: &str) -> Option<&SchemaField> {
        match &self.shape {
            Shape::Object(object) => object.fields.get(name),
            _ => None,
        }
    }

    /// Declares one more field of an object, which need not be there.
    pub(crate) fn declare(&mut self, name: &str, shape: Shape) {
        if let Shape::Object(object) = &mut self.shape {
            let field = SchemaField { key: name.to_owned(), schema: Arc::new(Self::new(shape)), is_required: false };
            object.fields.insert(name.to_owned(), field);
        }
    }

    /// The schema of a list's items or a map's values.
    pub fn items(&self) -> Option<&Arc<Schema>> {
        match &self.shape {
            Shape::List(items, _) | Shape::Map(items) => Some(items),
            _ => None,
        }
    }
}

impl Object {
    fn smallest(&self) -> u64 {
        let required = self.fields.values().filter(|field| field.is_required);
        2 + required.map(|field| field.key.len() as u64 + field.schema.smallest + 4).sum::<u64>()
    }
}
