//! The types against which expressions over the objects of a cluster are checked.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_expression::{Object, Order, Schema, SchemaField, Shape};
use coracle_schema::{Special, TypeId, TypeNode, TypeRef};

/// The schema of a type's objects as expressions see them: JSON, in which times and quantities are strings.
pub(crate) fn schema(name: &str, root: TypeRef<'_>) -> Arc<Schema> {
    Arc::new(Reader { within: Vec::new() }.read(name, root))
}

struct Reader {
    /// The types that are being read; a recursive type ends there.
    within: Vec<TypeId>,
}

impl Reader {
    fn read(&mut self, name: &str, ty: TypeRef<'_>) -> Schema {
        let shape = match ty.node() {
            TypeNode::String | TypeNode::Bytes | TypeNode::Special(Special::Time | Special::MicroTime) => Shape::String,
            TypeNode::Bool => Shape::Bool,
            TypeNode::Int32 | TypeNode::Int64 => Shape::Int,
            TypeNode::Double => Shape::Double,
            TypeNode::List => match ty.element() {
                Some(element) => Shape::List(Arc::new(self.read(name, element)), Order::Fixed),
                None => Shape::Any,
            },
            TypeNode::Map => match ty.element() {
                Some(element) => Shape::Map(Arc::new(self.read(name, element))),
                None => Shape::Any,
            },
            TypeNode::Struct(fields) if !fields.preserves_unknown => self.object(name, ty),
            // A stored quantity is a string; a file may contain a number.
            TypeNode::Struct(_) | TypeNode::Special(_) | TypeNode::Any => Shape::Any,
        };
        Schema::new(shape)
    }

    fn object(&mut self, name: &str, ty: TypeRef<'_>) -> Shape {
        let Some(id) = ty.id() else { return Shape::Any };
        if self.within.contains(&id) {
            return Shape::Any;
        }
        self.within.push(id);
        let read = |field: coracle_schema::FieldRef<'_>| {
            let key = field.name().to_owned();
            let schema = Arc::new(self.read(&format!("{name}.{key}"), field.ty()));
            (key.clone(), SchemaField { key, schema, is_required: false })
        };
        let fields: BTreeMap<_, _> = ty.fields().map(read).collect();
        self.within.pop();
        Shape::Object(Object { name: name.to_owned(), fields })
    }
}
