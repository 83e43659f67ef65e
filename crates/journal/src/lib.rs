//! The event log: what happened in a control plane, in order, and what caused it.
//!
//! ```text
//! store, apiserver, informers, queues, workers, faults --record--> Recorder --> ring in memory | file of JSON lines
//!                                                                     \--> terminal, story, report (renderings)
//! ```
//! Causes form a graph, not a tree, because queues merge: an entry names every earlier entry that led to it.
//! The revision is the trace id: a commit at 42, the event 42, the cache at 42, the sync that read it.
//!
//! Start at [`Recorder`]. A recorder cannot change what happens, and costs a branch when nothing is attached.
//! Not here: what people read in a log (that is `tracing`), and any rendering.

mod entry;
mod recorder;
mod stage;

pub use entry::{Detail, Entry, EntryId};
pub use recorder::{Error, Recorder};
pub use stage::Stage;
