//! What expressions over the objects of a cluster are checked with.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_expression::{Field, Object, Order, Schema, Shape};
use coracle_schema::{Node, Special, TypeId, TypeRef};

/// The shape of objects of a type as expressions over the store see them: JSON, in which a time and a quantity are texts.
pub(crate) fn schema(name: &str, root: TypeRef<'_>) -> Arc<Schema> {
    Arc::new(Reader { within: Vec::new() }.read(name, root))
}

struct Reader {
    /// The types that are being read: one that holds itself ends there.
    within: Vec<TypeId>,
}

impl Reader {
    fn read(&mut self, name: &str, ty: TypeRef<'_>) -> Schema {
        let shape = match ty.node() {
            Node::String | Node::Bytes | Node::Special(Special::Time | Special::MicroTime) => Shape::String,
            Node::Bool => Shape::Bool,
            Node::Int32 | Node::Int64 => Shape::Int,
            Node::Double => Shape::Double,
            Node::List => match ty.element() {
                Some(element) => Shape::List(Arc::new(self.read(name, element)), Order::Fixed),
                None => Shape::Any,
            },
            Node::Map => match ty.element() {
                Some(element) => Shape::Map(Arc::new(self.read(name, element))),
                None => Shape::Any,
            },
            Node::Struct(fields) if !fields.preserves_unknown => self.object(name, ty),
            // What is a quantity is a text as it is stored; as it is written it may be a number.
            Node::Struct(_) | Node::Special(_) | Node::Any => Shape::Any,
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
            (key.clone(), Field { key, schema, is_required: false })
        };
        let fields: BTreeMap<_, _> = ty.fields().map(read).collect();
        self.within.pop();
        Shape::Object(Object { name: name.to_owned(), fields })
    }
}
