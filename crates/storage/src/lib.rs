//! Objects in a revisioned store: keys, resource versions, paging, one write primitive, the watch cache.
//!
//! ```text
//! get, list, watch --> Storage --> Cache (one a resource: snapshot + ring) <--Storage::run: a cursor each-- Store
//! write --------------->    \--compare the revision, then write ---------------------------------------> Store
//! ```
//! Start at [`Storage`]; its [`run`](Storage::run) feeds the caches and must be running. [`Stored`] is one object at
//! one revision, as bytes that get, list and watch share; a [`Draft`] is an object to write. Not here: what a verb
//! means (`registry`), how the store keeps its history (`store`).

mod announced;
mod cache;
mod claims;
mod compaction;
mod continue_token;
mod decoded_objects;
mod draft;
mod entry;
mod errors;
mod feed;
mod interest;
mod leases;
mod list;
mod message;
mod parts;
mod query;
mod readable;
mod recent;
mod resource;
mod ring;
mod storage;
mod stored;
mod unreadable;
mod unreadable_reports;
mod watch;

pub use cache::unreached;
pub use claims::Claim;
pub use compaction::compact_together;
pub use decoded_objects::DecodedObjects;
pub use draft::Draft;
pub use list::StoredList;
pub use message::Message;
pub use query::{Freshness, ListQuery, ResourceVersionMatch, Selection, WatchQuery, WatchStart};
pub use resource::{FieldReader, ForeignReader, Resource, ShapeCheck, all_objects};
pub use ring::HistoryLimits;
pub use storage::{Attempt, Storage, Write};
pub(crate) use stored::render_head;
pub use stored::{NotStorable, Stored, render};
pub use watch::Watch;
