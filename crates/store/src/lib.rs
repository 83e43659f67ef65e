//! The versioned store: bytes under keys, one revision per change, and watch cursors over the history.
//!
//! ```text
//! Txn --compare, then--> Writer --revision--> Hub --snapshot--> range
//!                           \                    `--log--cursor--> Watcher
//!                            `--records--> Durable (sled): on disk first, then visible and acknowledged
//! ```
//! Every change makes a revision, and a key keeps its versions until compaction. `web` is put at 2 and 3, deleted at 4,
//! and put again at 6 (5 was another key); each run between deletions is a generation, which counts versions from 1:
//!
//! ```text
//! newest --> [6, version 1, create 6] -> [4, deleted] -> [3, version 2, create 2] -> [2, version 1, create 2]
//!             `--- generation 2 ---'     `------------------- generation 1 -------------------------------'
//! range at 6 or later: [6]     at 5 or 4: nothing     at 3: [3]     at 2: [2]
//! compact(3) keeps the newest version at or below 3:                  [6] -> [4] -> [3]
//! compact(4) the same, since a watch may still begin at 4:            [6] -> [4]
//! compact(5) keeps no deletion that nobody can see any more:          [6]
//! ```
//! Start at [`Store`], the boundary that a real etcd also implements (crate `etcd`), and at [`Engine`], our own.
//! In Kubernetes: etcd's `server/storage/mvcc` and the etcd v3 protocol.
//! Not here: objects, JSON, resource versions (`storage`), gRPC (`etcd`), threads (whoever opens a store on disk starts
//! the one that owns it).

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
pub use latency::Latency;
pub use request::Limits;
pub use types::{
    Cause, Compare, CompareOperator, CompareTarget, Event, EventKind, HistoryHash, KeyRange, KeyValue, LeaseId,
    LeaseStatus, Operation, OperationResult, RangeRequest, RangeResponse, Revision, SortField, SortOrder, StoreStatus,
    Txn, TxnResponse, WatchBatch, WatchRequest,
};
pub use version::Version;

/// A revisioned store with etcd's semantics: our engine in this process, or an etcd cluster over gRPC.
///
/// A failed comparison is data ([`TxnResponse::succeeded`]), not an error.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Reads a range at one revision.
    async fn range(&self, request: RangeRequest) -> Result<RangeResponse, Error>;

    /// Compares, then performs one branch: at most one revision, all or nothing. The only way to write.
    /// When it returns, the write is as durable as the store promises.
    async fn txn(&self, txn: Txn) -> Result<TxnResponse, Error>;

    /// Opens a cursor over the history of a range. A start revision that is compacted already shows at the first `next`.
    async fn watch(&self, request: WatchRequest) -> Result<Box<dyn Watcher>, Error>;

    /// Forgets superseded versions up to and including `revision`.
    async fn compact(&self, revision: Revision) -> Result<(), Error>;

    /// Makes a lease of `ttl_seconds`; id 0 lets the store choose.
    async fn lease_grant(&self, id: LeaseId, ttl_seconds: i64) -> Result<LeaseId, Error>;

    /// Ends a lease, and with it its keys, in one revision.
    async fn lease_revoke(&self, id: LeaseId) -> Result<(), Error>;

    /// Renews a lease; returns its time to live in seconds.
    async fn lease_keep_alive(&self, id: LeaseId) -> Result<i64, Error>;

    /// What the store says of a lease.
    async fn lease_status(&self, id: LeaseId) -> Result<LeaseStatus, Error>;

    /// The leases that have not ended.
    async fn leases(&self) -> Result<Vec<LeaseId>, Error>;

    /// A checksum over the history up to `revision` (0 for all of it), equal to etcd's over the same history.
    async fn history_hash(&self, revision: Revision) -> Result<HistoryHash, Error>;

    /// Gives space that compaction freed back to the file system, where the store can do that while it runs.
    async fn defragment(&self) -> Result<(), Error>;

    /// What the store says of itself.
    async fn status(&self) -> Result<StoreStatus, Error>;
}

/// A cursor over the history of a range.
///
/// Events come in order, none twice, none missing, and all events of one revision in one batch.
#[async_trait]
pub trait Watcher: Send {
    /// Waits for the next batch: events, or progress without events (everything up to its revision has been delivered).
    ///
    /// # Errors
    /// [`Error::Compacted`] when the history that the cursor needs is gone; the cursor is of no use afterwards.
    async fn next(&mut self) -> Result<WatchBatch, Error>;

    /// Up to which revision everything has been delivered, asked without waiting for an event.
    /// May wait for a round trip where the store is remote.
    async fn progress(&mut self) -> Result<Revision, Error>;

    /// The cursor's position, for those who must not wait for the cursor; `None` where only [`progress`](Self::progress)
    /// can tell.
    fn position(&self) -> Option<Arc<dyn Position>> {
        None
    }
}

/// The position of a cursor as it is seen from beside it, at once and without waking anybody.
pub trait Position: Send + Sync {
    /// The store's newest revision, if nothing in the cursor's range has changed after `seen`; `None` if something has
    /// that was not delivered before, or may have.
    fn unchanged_since(&self, seen: Revision) -> Option<Revision>;
}
