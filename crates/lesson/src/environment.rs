//! The variables of a lesson's expressions.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use coracle_expression::{Environment, Object, Order, Schema, SchemaField, Shape, Type};

/// The name of the list of all entries.
pub(crate) const ENTRIES: &str = "entries";
/// The name of the entry in the condition of a pattern.
pub(crate) const ENTRY: &str = "entry";

/// The schema of an entry.
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
            let field = SchemaField { key: name.to_owned(), schema: Arc::new(Schema::new(shape)), is_required: false };
            (name.to_owned(), field)
        };
        let fields: BTreeMap<String, SchemaField> = fields.into_iter().map(field).collect();
        Arc::new(Schema::new(Shape::Object(Object { name: "Entry".to_owned(), fields })))
    })
}

/// The schema of a list of entries.
pub(crate) fn entries() -> &'static Schema {
    static ENTRIES: OnceLock<Schema> = OnceLock::new();
    ENTRIES.get_or_init(|| Schema::new(Shape::List(Arc::clone(entry()), Order::Fixed)))
}

/// An environment without bindings.
pub(crate) fn environment() -> Environment {
    let of = Type::Object(Arc::clone(entry()));
    Environment::new().with_bindings().with(ENTRIES, Type::list(of))
}

/// Adds an entry to an environment.
pub(crate) fn with_entry(environment: Environment, name: &str) -> Environment {
    environment.with(name, Type::Object(Arc::clone(entry())))
}

/// Adds a value to an environment.
pub(crate) fn with_value(environment: Environment, name: &str) -> Environment {
    environment.with(name, Type::Dyn)
}
