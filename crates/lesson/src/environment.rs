//! What expressions of a lesson see.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use coracle_expression::{Environment, Field, Object, Order, Schema, Shape, Type};

/// All entries, by this name.
pub(crate) const ENTRIES: &str = "entries";
/// The entry that a pattern asks about.
pub(crate) const ENTRY: &str = "entry";

/// An entry as expressions see it.
pub(crate) fn entry() -> &'static Arc<Schema> {
    static ENTRY: OnceLock<Arc<Schema>> = OnceLock::new();
    ENTRY.get_or_init(|| {
        let list = |of| Shape::List(Arc::new(Schema::new(of)), Order::Fixed);
        let fields = [
            ("id", Shape::Int),
            ("at", Shape::Duration),
            ("actor", Shape::String),
            ("stage", Shape::String),
            ("subject", Shape::String),
            ("causes", list(Shape::Int)),
            ("revision", Shape::Int),
            ("data", Shape::Any),
            ("object", Shape::Any),
            ("before", Shape::Any),
            ("managers", Shape::Any),
        ];
        let field = |(name, shape): (&str, Shape)| {
            let field = Field { key: name.to_owned(), schema: Arc::new(Schema::new(shape)), is_required: false };
            (name.to_owned(), field)
        };
        let fields: BTreeMap<String, Field> = fields.into_iter().map(field).collect();
        Arc::new(Schema::new(Shape::Object(Object { name: "Entry".to_owned(), fields })))
    })
}

/// A list of entries.
pub(crate) fn entries() -> &'static Schema {
    static ENTRIES: OnceLock<Schema> = OnceLock::new();
    ENTRIES.get_or_init(|| Schema::new(Shape::List(Arc::clone(entry()), Order::Fixed)))
}

/// An environment in which nothing is bound yet.
pub(crate) fn environment() -> Environment {
    let of = Type::Object(Arc::clone(entry()));
    Environment::new().with_bindings().with(ENTRIES, Type::list(of))
}

/// The same with one more entry.
pub(crate) fn with_entry(environment: Environment, name: &str) -> Environment {
    environment.with(name, Type::Object(Arc::clone(entry())))
}

/// The same with one more value.
pub(crate) fn with_value(environment: Environment, name: &str) -> Environment {
    environment.with(name, Type::Dyn)
}
