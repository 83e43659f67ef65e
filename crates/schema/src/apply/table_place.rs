use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::Value;

use super::filter::Filter;
use super::place::{Form, ListForm, MapForm, Place, ScalarForm};
use super::updater::Versions;
use crate::kind_schema::KindSchema;
use crate::table::{Field, ListKind, Node, PatchStrategy, Presence, Special, TypeRef};

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

fn map_form(place: TypeRef<'_>) -> Form {
    if place.is_atomic() { Form::Map(MapForm::Atomic) } else { Form::Map(MapForm::Granular) }
}

impl Place for TablePlace<'_> {
    fn form(self) -> Form {
        let Some(place) = self.typed() else { return Form::Any };
        match place.node() {
            Node::String | Node::Bytes => Form::Scalar(ScalarForm::Text),
            Node::Bool => Form::Scalar(ScalarForm::Boolean),
            Node::Int32 | Node::Int64 | Node::Double => Form::Scalar(ScalarForm::Number),
            Node::Struct(fields) if fields.fields.is_empty() && !place.is_atomic() => Form::Any,
            Node::Struct(_) | Node::Map => map_form(place),
            Node::List => Form::List(match place.list_kind() {
                Some(ListKind::Set) => ListForm::Set,
                Some(ListKind::Map { .. }) => ListForm::Map,
                Some(ListKind::Atomic { .. }) | None => ListForm::Atomic,
            }),
            Node::Any => Form::Any,
            Node::Special(special) => match special {
                Special::Quantity | Special::Time | Special::MicroTime => Form::Scalar(ScalarForm::Any),
                Special::RawExtension => Form::Opaque,
                // The decoder checks that it is an int or a string.
                Special::IntOrString
                | Special::FieldsV1
                | Special::Json
                | Special::Patch
                | Special::SchemaOrArray
                | Special::SchemaOrBool
                | Special::SchemaOrStrings => Form::Any,
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
            Node::Map => place.element().map(Self::of),
            Node::Struct(fields) if fields.preserves_unknown => Some(Self { at: At::Undeclared, field: None }),
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
            Node::Struct(_) => Some(&ZEROS.object),
            Node::String => Some(&ZEROS.text),
            Node::Int32 | Node::Int64 | Node::Double => Some(&ZEROS.number),
            Node::Bool => Some(&ZEROS.boolean),
            Node::Bytes | Node::List | Node::Map => Some(&Value::Null),
            Node::Special(Special::Time | Special::MicroTime) => Some(&Value::Null),
            Node::Special(_) | Node::Any => None,
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
