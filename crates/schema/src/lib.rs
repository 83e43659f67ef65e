//! Shapes of objects, and how two versions of one merge.
//!
//! ```text
//! table/*.txt (1.35) | structural (custom kinds) --> Table --KindSchema--> TypeRef, a walk from field to element
//!     body --decode, protobuf--> Object as Kubernetes prints it, and what is strictly wrong with it --protobuf--> bytes
//!     two versions --patch, apply--> one
//!     everything --openapi--> documents
//! ```
//! Start at [`Table::v1_35`] and [`TypeRef`], then at [`decode`](mod@decode). The types are written by
//! `cargo xtask schema`; the resources in `table/resources.txt` by hand.
//! Not here: what is special about one kind (`resources`), what verbs do (`registry`), I/O.

pub mod apply;
pub mod decode;
mod go_time;
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
