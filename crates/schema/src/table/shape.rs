//! The shapes of values in the table.

use coracle_meta::GroupVersionKind;
use serde_json::Value;

/// The index of a [`Type`] in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypeId(pub(crate) u32);

impl TypeId {
    /// Its index in [`Table::types`](super::Table::types).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A named type.
#[derive(Clone, Debug)]
pub struct Type {
    /// The name in OpenAPI: `io.k8s.api.core.v1.Pod`.
    pub name: String,
    /// The definition.
    pub body: TypeBody,
    /// The kinds whose objects have this type; empty for parts of objects.
    pub kinds: Vec<GroupVersionKind>,
    /// Whether server-side apply treats a value as a whole. In Kubernetes: `+structType=atomic`.
    pub atomic: bool,
    /// `x-kubernetes-unions`, if OpenAPI has it.
    pub unions: Option<Value>,
    /// The required fields in the order of OpenAPI, if it is not the alphabetical one.
    pub required: Vec<String>,
}

/// The definition of a named type.
#[derive(Clone, Debug)]
pub enum TypeBody {
    /// An object with known fields, sorted by name.
    Struct(Struct),
    /// A type with a special JSON form.
    Special(Special),
}

/// The fields of an object.
#[derive(Clone, Debug, Default)]
pub struct Struct {
    /// The fields, sorted by name.
    pub fields: Vec<Field>,
    /// Whether unknown fields are preserved (`x-kubernetes-preserve-unknown-fields`).
    pub preserves_unknown: bool,
    /// Whether the object is a resource with `apiVersion`, `kind` and `metadata` (`x-kubernetes-embedded-resource`).
    pub embedded_resource: bool,
}

/// Types whose JSON form is not that of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// `resource.Quantity`: a string such as `100m`; numbers are accepted, too.
    Quantity,
    /// `intstr.IntOrString`.
    IntOrString,
    /// `metav1.Time`: RFC 3339, whole seconds.
    Time,
    /// `metav1.MicroTime`: RFC 3339, six digits.
    MicroTime,
    /// `runtime.RawExtension`: an object of any kind.
    RawExtension,
    /// `metav1.FieldsV1`: a field set.
    FieldsV1,
    /// `apiextensions.JSON`: any JSON value.
    Json,
    /// `metav1.Patch`: a body of one of the patch formats.
    Patch,
    /// `JSONSchemaPropsOrArray`: a schema or a list of them.
    SchemaOrArray,
    /// `JSONSchemaPropsOrBool`: a schema or a bool.
    SchemaOrBool,
    /// `JSONSchemaPropsOrStringArray`: a schema or a list of strings.
    SchemaOrStrings,
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub struct Field {
    /// The JSON name.
    pub name: String,
    /// The shape of its value.
    pub shape: Shape,
    /// Whether OpenAPI lists it as required.
    pub required: bool,
    /// Whether OpenAPI has a description for it.
    pub described: bool,
    /// How Go holds the field, which decides whether its zero value is printed.
    pub presence: Presence,
    /// The published default, unless it is a plain zero; also the default of a key of an associative list.
    pub default: Option<Value>,
    /// The `enum` in OpenAPI, of the field or of the elements of its list.
    pub values: Vec<String>,
    /// The Go type in messages of a named scalar, or of the elements of a list or map of them: `v1.PullPolicy`.
    pub go_type: Option<String>,
    /// How a strategic merge patch merges it.
    pub patch: PatchStrategy,
    /// How server-side apply treats the field, if that differs from its named type; atomic bytes are published as a
    /// list.
    pub map_kind: Option<MapKind>,
    /// The protobuf tags from the message down to the field: more than one if Go embeds a struct whose fields JSON
    /// inlines. Empty for a field without protobuf.
    pub tags: Vec<u32>,
    /// Its position in the Go struct, which is the order in which Go writes fields.
    pub place: usize,
}

/// When a field is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Presence {
    /// Unless it is the zero value (Go: `omitempty`).
    #[default]
    NonZero,
    /// If it was set, even to zero (Go: a pointer).
    Given,
    /// Always (Go: no `omitempty`, or a struct held by value).
    Always,
    /// Always, as `null` if it was not set (Go: a pointer without `omitempty`).
    OrNull,
}

/// How a strategic merge patch merges a field. In Kubernetes: `x-kubernetes-patch-strategy` and `-merge-key`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PatchStrategy {
    /// Elements of lists are merged (objects by `merge_key`, others as a set), not replaced.
    pub merge: bool,
    /// The value is replaced, explicitly.
    pub replace: bool,
    /// Only the keys in `$retainKeys` are kept.
    pub retain_keys: bool,
    /// The field that identifies an element.
    pub merge_key: Option<String>,
}

/// The shape of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A string.
    String,
    /// A bool.
    Bool,
    /// An integer of 32 bits.
    Int32,
    /// An integer of 64 bits.
    Int64,
    /// A number.
    Double,
    /// Bytes, base64 in JSON.
    Bytes,
    /// A value of a named type.
    Named(TypeId),
    /// A list.
    List(Box<ListShape>),
    /// An object with free keys.
    Map(Box<Map>),
    /// Any JSON value (custom resources only).
    Any,
}

/// A list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListShape {
    /// The shape of its elements.
    pub element: Shape,
    /// How server-side apply merges it.
    pub kind: ListKind,
}

/// How server-side apply merges a list. In Kubernetes: `x-kubernetes-list-type` and `-list-map-keys`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// As a whole; `stated` if the schema declares it explicitly.
    Atomic {
        /// Whether the schema declares it; OpenAPI publishes only declared list types.
        stated: bool,
    },
    /// As a set of scalars.
    Set,
    /// By the values of these keys.
    Map {
        /// The keys.
        keys: Vec<String>,
    },
}

/// An object with free keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// The shape of its values.
    pub value: Shape,
    /// How server-side apply merges it, if the schema declares it; by its keys otherwise.
    pub kind: Option<MapKind>,
}

/// How server-side apply merges an object. In Kubernetes: `x-kubernetes-map-type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// As a whole.
    Atomic,
    /// By its keys.
    Granular,
}
