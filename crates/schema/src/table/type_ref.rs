//! A walk through the table: from an object to a field to an element.

use serde_json::Value;

use super::{Field, ListKind, MapKind, Shape, Special, Struct, Table, Type, TypeBody, TypeId};

/// The type at one place in an object. Cheap to copy; every step of a walk returns another.
#[derive(Clone, Copy, Debug)]
pub struct TypeRef<'t> {
    table: &'t Table,
    shape: &'t Shape,
    map_kind: Option<MapKind>,
}

/// A resolved type.
#[derive(Clone, Copy, Debug)]
pub enum TypeNode<'t> {
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
    /// An object with known fields.
    Struct(&'t Struct),
    /// A type with a special JSON form.
    Special(Special),
    /// A list; see [`TypeRef::element`] and [`TypeRef::list_kind`].
    List,
    /// An object with free keys; see [`TypeRef::element`].
    Map,
    /// Any JSON value.
    Any,
}

/// A field with its type.
#[derive(Clone, Copy, Debug)]
pub struct FieldRef<'t> {
    table: &'t Table,
    field: &'t Field,
}

impl<'t> TypeRef<'t> {
    /// A place of this shape.
    pub fn new(table: &'t Table, shape: &'t Shape) -> Self {
        Self { table, shape, map_kind: None }
    }

    /// The table.
    pub fn table(self) -> &'t Table {
        self.table
    }

    /// The type of an OpenAPI schema, for a place with a schema or another value.
    pub(crate) fn json_schema(self) -> Option<Self> {
        let package = self.named()?.name.rsplit_once('.')?.0;
        self.table.type_ref(&format!("{package}.JSONSchemaProps"))
    }

    /// The shape, unresolved.
    pub fn shape(self) -> &'t Shape {
        self.shape
    }

    /// The id of the named type, if it has one.
    pub fn id(self) -> Option<TypeId> {
        match self.shape {
            Shape::Named(id) => Some(*id),
            _ => None,
        }
    }

    /// The named type, if it has one.
    pub fn named(self) -> Option<&'t Type> {
        match self.shape {
            Shape::Named(id) => Some(self.table.type_of(*id)),
            _ => None,
        }
    }

    /// The resolved type.
    pub fn node(self) -> TypeNode<'t> {
        match self.shape {
            Shape::String => TypeNode::String,
            Shape::Bool => TypeNode::Bool,
            Shape::Int32 => TypeNode::Int32,
            Shape::Int64 => TypeNode::Int64,
            Shape::Double => TypeNode::Double,
            Shape::Bytes => TypeNode::Bytes,
            Shape::Named(id) => match &self.table.type_of(*id).body {
                TypeBody::Struct(fields) => TypeNode::Struct(fields),
                TypeBody::Special(special) => TypeNode::Special(*special),
            },
            Shape::List(_) => TypeNode::List,
            Shape::Map(_) => TypeNode::Map,
            Shape::Any => TypeNode::Any,
        }
    }

    /// Whether there may be a foreign object (`runtime.RawExtension`) at or below the place.
    pub fn holds_foreign(self) -> bool {
        self.table.holds_foreign(self.shape)
    }

    /// The struct, if the place has one.
    pub fn as_struct(self) -> Option<&'t Struct> {
        match self.node() {
            TypeNode::Struct(fields) => Some(fields),
            _ => None,
        }
    }

    /// The fields in the order of their names; empty if the place has no struct.
    pub fn fields(self) -> impl Iterator<Item = FieldRef<'t>> {
        let table = self.table;
        self.as_struct().into_iter().flat_map(|fields| &fields.fields).map(move |field| FieldRef { table, field })
    }

    /// The field with a name, if the place has a struct with this field.
    pub fn field(self, name: &str) -> Option<FieldRef<'t>> {
        let field = self.as_struct()?.field(name)?;
        Some(FieldRef { table: self.table, field })
    }

    /// The place of one of the struct's own fields.
    pub(crate) fn of(self, field: &'t Field) -> TypeRef<'t> {
        FieldRef { table: self.table, field }.ty()
    }

    /// The element of a list or the value of a map.
    pub fn element(self) -> Option<TypeRef<'t>> {
        match self.shape {
            Shape::List(list) => Some(Self::new(self.table, &list.element)),
            Shape::Map(map) => Some(Self::new(self.table, &map.value)),
            _ => None,
        }
    }

    /// The type below a name: a field of a struct, or the value of a map.
    pub fn step(self, name: &str) -> Option<TypeRef<'t>> {
        match self.node() {
            TypeNode::Struct(_) => self.field(name).map(FieldRef::ty),
            TypeNode::Map => self.element(),
            _ => None,
        }
    }

    /// How server-side apply merges the list, if the place has one.
    pub fn list_kind(self) -> Option<&'t ListKind> {
        match self.shape {
            Shape::List(list) => Some(&list.kind),
            _ => None,
        }
    }

    /// Whether server-side apply treats the object as a whole (structs and maps; for lists see their kind).
    pub fn is_atomic(self) -> bool {
        let of_shape = match self.shape {
            Shape::Named(id) => self.table.type_of(*id).atomic.then_some(MapKind::Atomic),
            Shape::Map(map) => map.kind,
            _ => None,
        };
        self.map_kind.or(of_shape) == Some(MapKind::Atomic)
    }

    /// The default of a key of an associative list's elements, such as `TCP` for `protocol`.
    pub fn key_default(self, key: &str) -> Option<&'t Value> {
        self.element()?.field(key)?.field().default.as_ref()
    }
}

impl<'t> FieldRef<'t> {
    /// The field in the table.
    pub fn field(self) -> &'t Field {
        self.field
    }

    /// The JSON name.
    pub fn name(self) -> &'t str {
        &self.field.name
    }

    /// The type of its value.
    pub fn ty(self) -> TypeRef<'t> {
        TypeRef { table: self.table, shape: &self.field.shape, map_kind: self.field.map_kind }
    }
}

impl Struct {
    /// The field with a name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        let at = self.fields.binary_search_by(|field| field.name.as_str().cmp(name)).ok()?;
        self.fields.get(at)
    }

    /// The position of the field with a name. The search begins at `expected`, which is the right position if the names
    /// come in their order.
    pub(crate) fn position_near(&self, name: &[u8], expected: usize) -> Option<usize> {
        let is_it = |field: &Field| field.name.len() == name.len() && field.name.as_bytes() == name;
        let (count, mut at) = (self.fields.len(), expected);
        while at < count {
            if is_it(&self.fields[at]) {
                return Some(at);
            }
            at += 1;
        }
        self.fields.iter().take(expected).position(is_it)
    }
}
