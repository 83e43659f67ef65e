//! The event log: what happened in a control plane, in order, and what caused it.
//!
//! ```text
//! store, apiserver, informers, queues, workers, faults --record--> Recorder --> ring of blocks in memory | file of JSON lines
//!                                                                     \--> `viewer`: lanes, story, reports
//! ```
//! Causes form a graph, not a tree, because queues merge keys: an entry names every earlier entry that caused it.
//! The revision is the trace id: a commit at 42, the event 42, the cache at 42, the sync that read it.
//!
//! Start at [`Recorder`]. [`Stage`] lists what is recorded, and [`Events`] reads a file. A recorder cannot change what
//! happens, and costs one branch when nothing is attached.
//!
//! Not here: log messages for people (`tracing`), and any rendering (`viewer`).

mod block;
mod commits;
mod entry;
mod error;
mod events;
mod events_file;
mod header;
pub mod json;
mod line;
#[expect(clippy::disallowed_types, reason = "no code iterates over the table: its order is not visible")]
mod names;
mod recorder;
#[expect(clippy::disallowed_types, reason = "no code iterates over the table: its order is not visible")]
mod sent;
mod sink;
mod stage;
mod subject;
#[expect(clippy::disallowed_types, reason = "no code iterates over the table: its order is not visible")]
mod texts;
mod waiting;
mod words;

pub use entry::{Detail, Entry, EntryId};
pub use error::Error;
pub use events::Events;
pub use events_file::events_file;
pub use header::{Header, Mark, SCHEMA};
pub use recorder::Recorder;
pub use stage::{Field, Holds, Stage};
pub use subject::subject;
