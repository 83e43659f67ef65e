//! What a value may look like, as the table stores it.

use coracle_meta::GroupVersionKind;
use serde_json::Value;

/// The index of a [`Type`] in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypeId(pub(crate) u32);

impl TypeId {
    /// Its place among [`Table::types`](super::Table::types).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A named type.
#[derive(Clone, Debug)]
pub struct Type {
    /// The name under which OpenAPI publishes it: `io.k8s.api.core.v1.Pod`.
    pub name: String,
    /// What it is made of.
    pub body: TypeBody,
    /// The kinds whose objects have this type, as `group/version/Kind` would name them; empty for parts of objects.
    pub kinds: Vec<GroupVersionKind>,
    /// Whether server-side apply treats a value as one piece. In Kubernetes: `+structType=atomic`.
    pub atomic: bool,
    /// `x-kubernetes-unions`, where OpenAPI has it.
    pub unions: Option<Value>,
    /// The required fields in the order in which OpenAPI lists them, where it is not that of their names.
    pub required: Vec<String>,
}

/// What a named type is made of.
#[derive(Clone, Debug)]
pub enum TypeBody {
    /// An object with known fields, sorted by name.
    Struct(Struct),
    /// A type whose JSON form follows rules of its own.
    Special(Special),
}

/// The fields of an object.
#[derive(Clone, Debug, Default)]
pub struct Struct {
    /// The fields, sorted by name.
    pub fields: Vec<Field>,
    /// Whether fields without a name here are kept (`x-kubernetes-preserve-unknown-fields`).
    pub preserves_unknown: bool,
    /// Whether the object is one of the API itself, with `apiVersion`, `kind` and `metadata`
    /// (`x-kubernetes-embedded-resource`).
    pub embedded_resource: bool,
}

/// Types whose JSON form is not that of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// `resource.Quantity`: a string such as `100m`; numbers are taken, too.
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
    /// What its value looks like.
    pub shape: Shape,
    /// Whether OpenAPI lists it as required.
    pub required: bool,
    /// Whether Kubernetes describes it; OpenAPI has a description for exactly these.
    pub described: bool,
    /// How Go holds it, which decides what is printed when it is zero.
    pub presence: Presence,
    /// The default that OpenAPI publishes beyond a plain zero; also the default of a key of an associative list.
    pub default: Option<Value>,
    /// The values that OpenAPI lists, of the field or of the elements of its list.
    pub values: Vec<String>,
    /// The Go type of a named scalar, or of the elements of a list or map of them, as messages name it:
    /// `v1.PullPolicy`.
    pub go_type: Option<String>,
    /// How a strategic merge patch merges it.
    pub patch: PatchStrategy,
    /// How server-side apply treats the field where that differs from what its named type says; atomic bytes are
    /// published as a list.
    pub map_kind: Option<MapKind>,
    /// The protobuf tags from the message down to the field: more than one where Go embeds a struct whose fields JSON
    /// hoists. Empty for a field that protobuf does not carry.
    pub tags: Vec<u32>,
    /// Where Go's struct has it among its siblings: the order in which Go writes fields.
    pub place: usize,
}

/// When a field is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Presence {
    /// Not if it is the zero value (Go: `omitempty`).
    #[default]
    NonZero,
    /// If it was given, be it zero (Go: a pointer).
    Given,
    /// Always (Go: no `omitempty`, or a struct held by value).
    Always,
    /// Always, as `null` if it was not given (Go: a pointer without `omitempty`).
    OrNull,
}

/// How a strategic merge patch merges a field. In Kubernetes: `x-kubernetes-patch-strategy` and `-merge-key`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PatchStrategy {
    /// Elements of lists are merged (by `merge_key` if they are objects, as a set if not), not replaced.
    pub merge: bool,
    /// The value is replaced: what it means to say nothing, said.
    pub replace: bool,
    /// Only the keys that `$retainKeys` lists survive.
    pub retain_keys: bool,
    /// The field that identifies an element.
    pub merge_key: Option<String>,
}

/// What a value looks like.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A string.
    String,
    /// A bool.
    Bool,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// A number.
    Double,
    /// Bytes, base64 in JSON.
    Bytes,
    /// A value of a named type.
    Named(TypeId),
    /// A list.
    List(Box<List>),
    /// An object with free keys.
    Map(Box<Map>),
    /// Any JSON value (custom resources only).
    Any,
}

/// A list.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// What its elements look like.
    pub element: Shape,
    /// How server-side apply merges it.
    pub kind: ListKind,
}

/// How server-side apply merges a list. In Kubernetes: `x-kubernetes-list-type` and `-list-map-keys`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// As one piece; `stated` if the schema says so rather than nothing.
    Atomic {
        /// Whether the schema says so; OpenAPI publishes only what is said.
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
    /// What its values look like.
    pub value: Shape,
    /// How server-side apply merges it, where the schema says so; by its keys where not.
    pub kind: Option<MapKind>,
}

/// How server-side apply merges an object. In Kubernetes: `x-kubernetes-map-type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// As one piece.
    Atomic,
    /// By its keys.
    Granular,
}
