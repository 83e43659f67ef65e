use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::Value;

use super::filter::Filter;
use super::place::{ListForm, MapForm, Place, ScalarForm, ValueForm};
use super::updater::Versions;
use crate::kind_schema::KindSchema;
use crate::table::{Field, ListKind, PatchStrategy, Presence, Special, TypeNode, TypeRef};

/// A place in the schema of a built-in or custom kind, for merging.
#[derive(Clone, Copy, Debug)]
pub struct TablePlace<'t> {
    at: At<'t>,
    /// The field, if the place is one.
    field: Option<&'t Field>,
}

#[derive(Clone, Copy, Debug)]
enum At<'t> {
    Typed(TypeRef<'t>),
    /// Below a value without declared fields.
    Undeclared,
}

impl<'t> TablePlace<'t> {
    /// The whole object.
    pub fn root(schema: &'t KindSchema) -> Self {
        Self::of(schema.root())
    }

    fn of(place: TypeRef<'t>) -> Self {
        Self { at: At::Typed(place), field: None }
    }

    fn typed(self) -> Option<TypeRef<'t>> {
        match self.at {
            At::Typed(place) => Some(place),
            At::Undeclared => None,
        }
    }
}

/// The zero values of Go.
struct Zeros {
    object: Value,
    text: Value,
    number: Value,
    boolean: Value,
}

static ZEROS: LazyLock<Zeros> = LazyLock::new(|| Zeros {
    object: Value::Object(serde_json::Map::new()),
    text: Value::from(""),
    number: Value::from(0),
    boolean: Value::from(false),
});

fn map_form(place: TypeRef<'_>) -> ValueForm {
    if place.is_atomic() { ValueForm::Map(MapForm::Atomic) } else { ValueForm::Map(MapForm::Granular) }
}

impl Place for TablePlace<'_> {
    fn form(self) -> ValueForm {
        let Some(place) = self.typed() else { return ValueForm::Any };
        match place.node() {
            TypeNode::String | TypeNode::Bytes => ValueForm::Scalar(ScalarForm::Text),
            TypeNode::Bool => ValueForm::Scalar(ScalarForm::Boolean),
            TypeNode::Int32 | TypeNode::Int64 | TypeNode::Double => ValueForm::Scalar(ScalarForm::Number),
            TypeNode::Struct(fields) if fields.fields.is_empty() && !place.is_atomic() => ValueForm::Any,
            TypeNode::Struct(_) | TypeNode::Map => map_form(place),
            TypeNode::List => ValueForm::List(match place.list_kind() {
                Some(ListKind::Set) => ListForm::Set,
                Some(ListKind::Map { .. }) => ListForm::Map,
                Some(ListKind::Atomic { .. }) | None => ListForm::Atomic,
            }),
            TypeNode::Any => ValueForm::Any,
            TypeNode::Special(special) => match special {
                Special::Quantity | Special::Time | Special::MicroTime => ValueForm::Scalar(ScalarForm::Any),
                Special::RawExtension => ValueForm::Opaque,
                // The decoder checks that it is an int or a string.
                Special::IntOrString
                | Special::FieldsV1
                | Special::Json
                | Special::Patch
                | Special::SchemaOrArray
                | Special::SchemaOrBool
                | Special::SchemaOrStrings => ValueForm::Any,
            },
        }
    }

    fn field(self, name: &str) -> Option<Self> {
        let field = self.typed()?.field(name)?;
        Some(Self { at: At::Typed(field.ty()), field: Some(field.field()) })
    }

    fn entry(self) -> Option<Self> {
        let place = self.typed()?;
        match place.node() {
            TypeNode::Map => place.element().map(Self::of),
            TypeNode::Struct(fields) if fields.preserves_unknown => Some(Self { at: At::Undeclared, field: None }),
            _ => None,
        }
    }

    fn item(self) -> Option<Self> {
        self.typed()?.element().map(Self::of)
    }

    fn list_map_keys<'p>(self) -> &'p [String]
    where
        Self: 'p,
    {
        match self.typed().and_then(TypeRef::list_kind) {
            Some(ListKind::Map { keys }) => keys,
            _ => &[],
        }
    }

    fn default(self) -> Option<Value> {
        let field = self.field?;
        field.default.clone().or_else(|| self.zero().filter(|zero| !zero.is_null() && !zero.is_object()).cloned())
    }

    fn zero(self) -> Option<&'static Value> {
        match self.field?.presence {
            Presence::OrNull => return Some(&Value::Null),
            Presence::Always => {}
            Presence::NonZero | Presence::Given => return None,
        }
        match self.typed()?.node() {
            TypeNode::Struct(_) => Some(&ZEROS.object),
            TypeNode::String => Some(&ZEROS.text),
            TypeNode::Int32 | TypeNode::Int64 | TypeNode::Double => Some(&ZEROS.number),
            TypeNode::Bool => Some(&ZEROS.boolean),
            TypeNode::Bytes | TypeNode::List | TypeNode::Map => Some(&Value::Null),
            TypeNode::Special(Special::Time | Special::MicroTime) => Some(&Value::Null),
            TypeNode::Special(_) | TypeNode::Any => None,
        }
    }

    fn patch_strategy(self) -> PatchStrategy {
        self.field.map(|field| field.patch.clone()).unwrap_or_default()
    }
}

/// A kind with one version.
#[derive(Clone, Debug)]
pub struct OneVersion<'t> {
    /// The version, such as `apps/v1`.
    pub api_version: &'t str,
    /// The schema.
    pub schema: &'t KindSchema,
    /// The fields that clients of the endpoint may own.
    pub filter: Filter,
}

impl<'t> Versions for OneVersion<'t> {
    type Place = TablePlace<'t>;

    fn schema_may_change(&self) -> bool {
        false
    }

    fn place(&self, api_version: &str) -> Option<TablePlace<'t>> {
        (api_version == self.api_version).then(|| TablePlace::root(self.schema))
    }

    fn convert<'v>(&self, object: &'v Value, api_version: &str) -> Option<Cow<'v, Value>> {
        (api_version == self.api_version).then_some(Cow::Borrowed(object))
    }

    fn filter(&self, _api_version: &str) -> Filter {
        self.filter.clone()
    }
}
