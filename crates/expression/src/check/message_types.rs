//! The types of patches: `Object`, `Object.spec`, …, and `JSONPatch`.
//!
//! In Kubernetes: `apiserver/pkg/cel/mutation.DynamicTypeResolver`, which does not know the schema of the object either.

use crate::types::Type;

/// The function that only environments with these types have.
pub(super) const ESCAPE_KEY: &str = "jsonpatch.escapeKey";

/// The type with a name.
pub(super) fn type_named(name: &str) -> Option<Type> {
    let is_known = name == "JSONPatch" || name == "Object" || name.starts_with("Object.");
    is_known.then(|| Type::Message(name.into()))
}

/// The type of a field; `None` for a field that the type does not have.
pub(super) fn type_of_field(message: &str, field: &str) -> Option<Type> {
    match (message, field) {
        ("JSONPatch", "op" | "from" | "path") => Some(Type::String),
        ("JSONPatch", "value") => Some(Type::Dyn),
        ("JSONPatch", _) => None,
        _ => Some(Type::Dyn),
    }
}
