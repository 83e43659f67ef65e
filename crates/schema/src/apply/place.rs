use serde_json::Value;

use crate::table::PatchStrategy;

/// One place in a schema: what a merge must know about the values at this place.
///
/// A cursor, cheap to copy: the table of the built-in types and the schemas of custom resources both implement it.
/// In Kubernetes: `schema.TypeRef` with its `schema.Schema` in structured-merge-diff, and the struct tags
/// `patchStrategy` and `patchMergeKey` for strategic merge patches.
pub trait Place: Copy {
    /// The declared form of values.
    fn form(self) -> ValueForm;

    /// The declared field `name` of a struct.
    fn field(self, name: &str) -> Option<Self>;

    /// The place of map entries that are not declared as fields; `None` if other names are not allowed.
    fn entry(self) -> Option<Self>;

    /// The place of list items.
    fn item(self) -> Option<Self>;

    /// The names of the fields that identify the items of a [`ListForm::Map`], in declared order.
    fn list_map_keys<'p>(self) -> &'p [String]
    where
        Self: 'p;

    /// The default of this field, which replaces a missing key of a list's item.
    fn default(self) -> Option<Value>;

    /// The zero value of a field that is always present. In Kubernetes: fields of Go structs without `omitempty`, and
    /// structs held by value such as `spec`.
    fn zero(self) -> Option<&'static Value>;

    /// How a strategic merge patch treats this field.
    fn patch_strategy(self) -> PatchStrategy;
}

/// The forms of value that a schema can declare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueForm {
    /// A string, a number or a boolean.
    Scalar(ScalarForm),
    /// A struct, or a map from names to values of one type.
    Map(MapForm),
    /// A list.
    List(ListForm),
    /// Any value: scalars are leaves, maps are owned name by name, lists as a whole.
    /// Declared by `x-kubernetes-preserve-unknown-fields` and by objects without properties.
    Any,
    /// Any value, owned as a whole.
    Opaque,
}

/// The forms of scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarForm {
    /// A text.
    Text,
    /// A number.
    Number,
    /// A boolean.
    Boolean,
    /// Any of them, as quantities and int-or-strings are.
    Any,
}

/// How a map is owned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapForm {
    /// Name by name. In Kubernetes: `separable` or `granular`.
    Granular,
    /// As a whole.
    Atomic,
}

/// How a list is owned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListForm {
    /// As a whole.
    Atomic,
    /// Scalar by scalar.
    Set,
    /// Item by item, identified by [`Place::list_map_keys`].
    Map,
}
