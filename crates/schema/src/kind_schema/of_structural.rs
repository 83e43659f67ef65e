use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_meta::GroupVersionKind;

use super::KindSchema;
use crate::structural::{Additional, Structural, ValueType};
use crate::table::{
    Field, ListShape, Map, MapKind, PatchStrategy, Presence, Shape, Special, Struct, Table, Type, TypeBody, TypeId,
};

/// The name of the type of metadata in the table.
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

impl Structural {
    /// The schema of the kind that this structural schema describes, in its own table.
    pub fn kind_schema(self: &Arc<Self>, kind: &GroupVersionKind) -> KindSchema {
        let mut build = Build { table: Table::default(), imported: BTreeMap::new(), inherits_unknown: false };
        let reversed: Vec<_> = kind.group.split('.').rev().collect();
        let name = format!("{}.{}.{}", reversed.join("."), kind.version, kind.kind);
        let mut root = build.structure(self, &name);
        build.add_fields_of_a_resource(&mut root);
        let ty = Type {
            name,
            body: TypeBody::Struct(root),
            kinds: vec![kind.clone()],
            atomic: false,
            unions: None,
            required: Vec::new(),
        };
        let root = Shape::Named(build.table.add(ty));
        KindSchema::new(Arc::new(build.table), root).with_structural(Arc::clone(self))
    }
}

struct Build {
    table: Table,
    /// Types of the built-in table that are already imported.
    imported: BTreeMap<String, TypeId>,
    /// Whether a node above preserves unknown fields, which server-side apply applies to all nodes below.
    inherits_unknown: bool,
}

fn field(name: &str, shape: Shape, required: bool) -> Field {
    Field {
        name: name.to_owned(),
        shape,
        required,
        described: true,
        presence: Presence::Given,
        default: None,
        values: Vec::new(),
        go_type: None,
        patch: PatchStrategy::default(),
        map_kind: None,
        tags: Vec::new(),
        place: 0,
    }
}

impl Build {
    fn shape(&mut self, schema: &Structural, name: &str) -> Shape {
        let outer = self.inherits_unknown;
        self.inherits_unknown |= schema.preserves_unknown;
        let shape = self.shape_within(schema, name);
        self.inherits_unknown = outer;
        shape
    }

    fn shape_within(&mut self, schema: &Structural, name: &str) -> Shape {
        if schema.int_or_string {
            return Shape::Named(self.special("int-or-string", Special::IntOrString));
        }
        match schema.value_type {
            None => Shape::Any,
            Some(ValueType::Boolean) => Shape::Bool,
            Some(ValueType::Integer) => Shape::Int64,
            Some(ValueType::Number) => Shape::Double,
            Some(ValueType::String) => match schema.constraints.format.as_str() {
                "" | "byte" => Shape::String,
                _ => Shape::Named(self.special("formatted-string", Special::IntOrString)),
            },
            Some(ValueType::Array) => {
                let element = match &schema.items {
                    Some(items) => self.shape(items, &format!("{name}[]")),
                    None => Shape::Any,
                };
                Shape::List(Box::new(ListShape { element, kind: schema.list_kind() }))
            }
            Some(ValueType::Object) => self.object(schema, name),
        }
    }

    fn object(&mut self, schema: &Structural, name: &str) -> Shape {
        let atomic = schema.map_type == "atomic";
        match &schema.additional {
            Additional::Schema(below) if schema.properties.is_empty() => {
                let value = self.shape(below, &format!("{name}{{}}"));
                let kind = match schema.map_type.as_str() {
                    "atomic" => Some(MapKind::Atomic),
                    "granular" => Some(MapKind::Granular),
                    _ => None,
                };
                Shape::Map(Box::new(Map { value, kind }))
            }
            _ if schema.properties.is_empty() && !atomic && !schema.embedded_resource => Shape::Any,
            _ => {
                let body = TypeBody::Struct(self.structure(schema, name));
                let ty =
                    Type { name: name.to_owned(), body, kinds: Vec::new(), atomic, unions: None, required: Vec::new() };
                Shape::Named(self.table.add(ty))
            }
        }
    }

    fn structure(&mut self, schema: &Structural, name: &str) -> Struct {
        let required: BTreeSet<&String> = schema.constraints.required.iter().collect();
        let mut fields = Vec::with_capacity(schema.properties.len());
        for (property, below) in &schema.properties {
            let shape = self.shape(below, &format!("{name}.{property}"));
            let mut field = field(property, shape, required.contains(property));
            field.default.clone_from(&below.default);
            fields.push(field);
        }
        let mut body = Struct {
            fields,
            preserves_unknown: self.inherits_unknown || schema.preserves_unknown,
            embedded_resource: schema.embedded_resource,
        };
        if schema.embedded_resource {
            self.add_fields_of_a_resource(&mut body);
        }
        body
    }

    /// Declares the fields of every resource, including embedded ones.
    fn add_fields_of_a_resource(&mut self, body: &mut Struct) {
        let metadata = self.import(OBJECT_META).map_or(Shape::Any, Shape::Named);
        for (name, shape) in [("apiVersion", Shape::String), ("kind", Shape::String), ("metadata", metadata)] {
            body.fields.retain(|field| field.name != name);
            body.fields.push(field(name, shape, false));
        }
        body.fields.sort_by(|a, b| a.name.cmp(&b.name));
    }

    fn special(&mut self, name: &str, special: Special) -> TypeId {
        if let Some(id) = self.table.id(name) {
            return id;
        }
        let body = TypeBody::Special(special);
        self.table.add(Type {
            name: name.to_owned(),
            body,
            kinds: Vec::new(),
            atomic: false,
            unions: None,
            required: Vec::new(),
        })
    }

    /// Copies a type of the built-in table, and the types to which it refers.
    fn import(&mut self, name: &str) -> Option<TypeId> {
        if let Some(id) = self.imported.get(name) {
            return Some(*id);
        }
        let source = Table::newest();
        let mut ty = source.by_name(name)?.clone();
        ty.kinds.clear();
        if let TypeBody::Struct(body) = &mut ty.body {
            for field in &mut body.fields {
                self.import_shape(&mut field.shape);
            }
        }
        let id = self.table.add(ty);
        self.imported.insert(name.to_owned(), id);
        Some(id)
    }

    fn import_shape(&mut self, shape: &mut Shape) {
        match shape {
            Shape::Named(id) => {
                let name = Table::newest().type_of(*id).name.clone();
                if let Some(own) = self.import(&name) {
                    *id = own;
                }
            }
            Shape::List(list) => self.import_shape(&mut list.element),
            Shape::Map(map) => self.import_shape(&mut map.value),
            _ => {}
        }
    }
}
