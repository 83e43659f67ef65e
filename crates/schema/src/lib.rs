//! The types of all kinds, decoding and encoding by them, and merging of two versions of an object.
//!
//! ```text
//! a release's table | structural (custom kinds) --kind_schema--> KindSchema --> TypeRef, a walk from field to element
//!     body --text, protobuf, decode--> Object as Kubernetes prints it, and the strict errors --protobuf--> bytes
//!     two versions --patch, apply--> one
//!     everything --openapi--> documents
//! ```
//! Start at [`Table::of`] and [`TypeRef`], then at [`decode`](mod@decode). `cargo xtask schema` generates the types;
//! the resources in `table/resources.txt` are written by hand.
//! Not here: the behaviour of single kinds (`resources`), the verbs (`registry`), I/O.

pub mod apply;
pub mod decode;
mod go_text;
mod go_time;
mod kind_schema;
pub mod openapi;
pub mod patch;
pub mod protobuf;
pub mod sample;
pub mod structural;
mod table;
mod text;

pub use kind_schema::KindSchema;
pub use table::{
    Field, FieldRef, ListKind, ListShape, Map, MapKind, PatchStrategy, Presence, ResourceRow, Shape, Special, Struct,
    SubresourceRow, Table, TextError, Trait, Type, TypeBody, TypeId, TypeNode, TypeRef,
};

#[cfg(test)]
mod tests;
