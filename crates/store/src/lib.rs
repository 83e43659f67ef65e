//! The versioned store: bytes under keys, one revision per change, and watch cursors over the history.
//!
//! ```text
//! Txn --compare, then--> Writer --revision--> Hub --snapshot--> range
//!                           \                    `--log--cursor--> Watcher
//!                            `--records--> Durable (segments): on disk first, then visible and acknowledged
//! ```
//! Every change makes a revision, and a key keeps its versions until compaction. `web` is put at 2 and 3, deleted at 4,
//! and put again at 6 (5 was another key); each run between deletions is a generation, which counts versions from 1:
//!
//! ```text
//! newest --> [6, version 1, create 6] -> [4, deleted] -> [3, version 2, create 2] -> [2, version 1, create 2]
//!             `--- generation 2 ---'     `------------------- generation 1 -------------------------------'
//! range at 6 or later: [6]     at 5 or 4: nothing     at 3: [3]     at 2: [2]
//! compact(3) keeps the newest version at or below 3:                  [6] -> [4] -> [3]
//! compact(4) the same, since a watch may still start at 4:            [6] -> [4]
//! compact(5) keeps no deletion that no reader can see any more:       [6]
//! ```
//! Start at [`Store`], the boundary that a real etcd also implements (crate `etcd`), and at [`Engine`], the store of
//! this crate. In Kubernetes: etcd's `server/storage/mvcc` and the etcd v3 protocol. Not here: objects, JSON,
//! resource versions (`storage`), gRPC (`etcd`), threads (the program that opens a store on disk starts the thread
//! that owns it).

mod error;
mod types;

mod request;

mod counts;
mod snapshot;
mod version;

mod apply;
mod commit;
mod compaction;
mod fork;
mod hash;
mod lease;

mod cursor;
mod history_limit;
mod hub;
mod interest;
mod log;

mod commit_loop;
#[cfg(feature = "sled")]
pub mod disk;
mod durable;
mod latency;
mod writer;

mod auto_compaction;
mod engine;

use std::sync::Arc;

use async_trait::async_trait;

pub use auto_compaction::AutoCompaction;
pub use commit_loop::CommitLoop;
pub use durable::{Base, Content, Durable, LeaseChange, Record, Trim};
pub use engine::{ETCD_VERSION, Engine, Options};
pub use error::Error;
pub use history_limit::HistoryLimit;
pub use latency::Latency;
pub use request::Limits;
pub use types::{
    Cause, Compare, CompareOperator, CompareTarget, Event, EventKind, HistoryHash, KeyRange, KeyValue, LeaseId,
    LeaseStatus, Operation, OperationResult, RangeRequest, RangeResponse, Revision, SortField, SortOrder, StoreStatus,
    Txn, TxnResponse, WatchBatch, WatchRequest,
};
pub use version::Version;

/// A revisioned store with etcd's semantics: the engine in this process, or an etcd cluster over gRPC.
///
/// A failed comparison is data ([`TxnResponse::succeeded`]), not an error.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Reads a range at one revision.
    async fn range(&self, request: RangeRequest) -> Result<RangeResponse, Error>;

    /// Opens a stream of a range at one revision; `None` if the store offers no streams, and only answers
    /// [`range`](Self::range). A store in this process needs none: its pages cost no round trips.
    ///
    /// In etcd: `RangeStream`, from 3.7 on.
    async fn range_stream(&self, _request: RangeRequest) -> Result<Option<Box<dyn RangeStream>>, Error> {
        Ok(None)
    }

    /// Compares, then performs one branch: at most one revision, all or nothing. The only way to write. When it
    /// returns, the write is as durable as the store guarantees.
    async fn txn(&self, txn: Txn) -> Result<TxnResponse, Error>;

    /// Opens a cursor over the history of a range. A compacted start revision is reported by the first `next`.
    async fn watch(&self, request: WatchRequest) -> Result<Box<dyn Watcher>, Error>;

    /// Removes superseded versions up to and including `revision`.
    async fn compact(&self, revision: Revision) -> Result<(), Error>;

    /// Grants a lease of `ttl_seconds`; with id 0 the store chooses the id.
    async fn lease_grant(&self, id: LeaseId, ttl_seconds: i64) -> Result<LeaseId, Error>;

    /// Revokes a lease, and deletes its keys in one revision.
    async fn lease_revoke(&self, id: LeaseId) -> Result<(), Error>;

    /// Renews a lease; returns its time to live in seconds.
    async fn lease_keep_alive(&self, id: LeaseId) -> Result<i64, Error>;

    /// The status of a lease.
    async fn lease_status(&self, id: LeaseId) -> Result<LeaseStatus, Error>;

    /// The existing leases.
    async fn leases(&self) -> Result<Vec<LeaseId>, Error>;

    /// A checksum of the history up to `revision` (0 for all of it), equal to etcd's for the same history.
    async fn history_hash(&self, revision: Revision) -> Result<HistoryHash, Error>;

    /// Returns the space that compaction freed to the file system, where the store can do that while it runs.
    async fn defragment(&self) -> Result<(), Error>;

    /// The status of the store.
    async fn status(&self) -> Result<StoreStatus, Error>;
}

/// A range at one revision, in parts.
#[async_trait]
pub trait RangeStream: Send {
    /// Waits for the next part; `None` after the last one. The parts have different keys, in their order. Only the last
    /// part has `revision`, `count` and `more`, and they are those of the whole range; elsewhere they are 0 and false.
    ///
    /// # Errors
    /// Those of [`Store::range`], also after some parts. The stream is then unusable.
    async fn next(&mut self) -> Result<Option<RangeResponse>, Error>;
}

/// A cursor over the history of a range.
///
/// Events are in order, without duplicates or gaps, and all events of one revision are in one batch.
#[async_trait]
pub trait Watcher: Send {
    /// Waits for the next batch: events, or progress without events (everything up to its revision has been delivered).
    ///
    /// # Errors
    /// [`Error::Compacted`] when the history that the cursor needs is gone; the cursor is then unusable.
    async fn next(&mut self) -> Result<WatchBatch, Error>;

    /// The revision up to which everything has been delivered, without waiting for an event. A remote store may need
    /// a round trip.
    async fn progress(&mut self) -> Result<Revision, Error>;

    /// The cursor's position, for callers that must not wait for the cursor; `None` where only
    /// [`progress`](Self::progress) can tell.
    fn position(&self) -> Option<Arc<dyn Position>> {
        None
    }
}

/// The position of a cursor, read without the cursor, at once and without waking a task.
pub trait Position: Send + Sync {
    /// The store's newest revision, if the cursor's range has no changes after `seen`; `None` if it has, or may have,
    /// changes that were not delivered before.
    fn unchanged_since(&self, seen: Revision) -> Option<Revision>;
}
