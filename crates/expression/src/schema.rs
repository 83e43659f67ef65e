//! What values from outside look like: their types, and how large they can be.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The largest request that a server takes, in bytes; what has no limit of its own is no larger.
const LARGEST_REQUEST: u64 = 3 * 1024 * 1024;
/// How large the text of a point or span of time can be.
const LARGEST_TIME: u64 = 32;
const DATE: u64 = 12;

/// The shape of values from outside, as expressions see it. In Kubernetes: `apiserver/pkg/cel.DeclType`.
#[derive(Debug)]
pub struct Schema {
    shape: Shape,
    /// How many characters or items there can be.
    largest: u64,
    /// How many bytes a value takes at least as JSON.
    smallest: u64,
    /// How long the keys of a map can be, where they have a limit of their own.
    longest_key: Option<u64>,
    /// Whether what is missing reads as an empty map.
    is_endless: bool,
}

/// What a value is.
#[derive(Debug)]
pub enum Shape {
    /// Anything, such as a whole number or a text.
    Any,
    /// True or false.
    Bool,
    /// A whole number.
    Int,
    /// A number.
    Double,
    /// Text.
    String,
    /// Bytes, as base64.
    Bytes,
    /// A day.
    Date,
    /// A point in time.
    Timestamp,
    /// A span of time.
    Duration,
    /// An amount, such as `1Gi`.
    Quantity,
    /// A version as semver.org has it.
    Semver,
    /// A list, and when two lists are the same.
    List(Arc<Schema>, Order),
    /// A map from texts.
    Map(Arc<Schema>),
    /// An object with declared fields.
    Object(Object),
}

/// When two lists are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// The same items in the same order. In Kubernetes: `x-kubernetes-list-type: atomic`.
    Fixed,
    /// The same items in any order. In Kubernetes: `set`.
    Any,
    /// Items that have the same keys are the same, in any order. In Kubernetes: `map`.
    Keyed(Vec<String>),
}

/// The fields of an object.
#[derive(Debug, Default)]
pub struct Object {
    /// How errors name the type.
    pub name: String,
    /// The fields, by the names that expressions use.
    pub fields: BTreeMap<String, Field>,
}

/// A field of an object.
#[derive(Debug)]
pub struct Field {
    /// The name in the object, where expressions need another.
    pub key: String,
    /// What stands there.
    pub schema: Arc<Schema>,
    /// Whether it has to be there, and has no default.
    pub is_required: bool,
}

impl Schema {
    /// A schema with the sizes that its shape alone gives.
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

    /// The same with a limit of its own, in characters or items.
    #[must_use]
    pub fn with_largest(self, largest: Option<u64>) -> Self {
        let largest = match (&self.shape, largest) {
            (Shape::String | Shape::Any, Some(characters)) => characters.saturating_mul(4),
            (Shape::Bytes | Shape::List(..) | Shape::Map(_), Some(largest)) => largest,
            _ => self.largest,
        };
        Self { largest, ..self }
    }

    /// The same, where a text is one of a few whose longest has `bytes`.
    #[must_use]
    pub fn with_longest(self, bytes: u64) -> Self {
        Self { largest: bytes, ..self }
    }

    /// The same, where the keys of a map have at most so many characters.
    #[must_use]
    pub fn with_longest_key(self, characters: u64) -> Self {
        Self { longest_key: Some(characters), ..self }
    }

    /// The same, where whoever looks for what is missing finds an empty map.
    #[must_use]
    pub fn with_empty_maps_for_missing(self) -> Self {
        Self { is_endless: true, ..self }
    }

    pub(crate) fn is_endless(&self) -> bool {
        self.is_endless
    }

    /// What values are.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// How many characters or items there can be.
    pub fn largest(&self) -> u64 {
        self.largest
    }

    pub(crate) fn longest_key(&self) -> Option<u64> {
        self.longest_key
    }

    /// How many such values a request can hold. In Kubernetes: `cel.maxCardinality`.
    pub fn most_in_a_request(&self) -> u64 {
        LARGEST_REQUEST / (self.smallest + 1)
    }

    pub(crate) fn name(&self) -> &str {
        match &self.shape {
            Shape::Object(object) if !object.name.is_empty() => &object.name,
            _ => "object",
        }
    }

    /// A field by the name that expressions use.
    pub fn field(&self, name: &str) -> Option<&Field> {
        match &self.shape {
            Shape::Object(object) => object.fields.get(name),
            _ => None,
        }
    }

    /// What stands in a list or a map.
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
