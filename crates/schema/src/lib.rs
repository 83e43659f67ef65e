//! Shapes of objects, and how two versions of one merge.
//!
//! ```text
//! Table (1.35, or a custom kind's schema) --KindSchema--> TypeRef, a walk from field to element
//! body --decode--> Object, as Kubernetes prints it, and what is strictly wrong with it
//! ```
//! Start at [`Table::v1_35`] and [`TypeRef`].
//! Not here: what is special about one kind (`resources`), what verbs do (`registry`), I/O.

pub mod apply;
pub mod decode;
pub mod openapi;
pub mod patch;
pub mod protobuf;
pub mod sample;
pub mod structural;
mod table;

pub use table::{
    Field, FieldRef, KindSchema, List, ListKind, Map, MapKind, Node, PatchStrategy, Presence, ResourceRow, Shape,
    Special, Struct, SubresourceRow, Table, TextError, Trait, Type, TypeBody, TypeId, TypeRef,
};

#[cfg(test)]
mod tests;
